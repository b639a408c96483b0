"""``--sites``: a folder in which the processes of a run keep which instructions were executed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.engine.messages import Setup
from conformance.engine.modes import CaseMode
from conformance.port.site_reasons import read_site_reasons, unused
from conformance.processes.supervisor import scratch_base
from conformance.record import Record
from conformance.runtimes import runtime_kind


@contextmanager
def sites_kept(setup: Setup) -> Iterator[None]:
    """Have the processes that are started meanwhile keep them, where the setup asks for it and no folder is given: what
    other runs kept in a given one counts too.

    Raises ``InfrastructureError`` where no temporary file can be written.
    """
    variable = runtime_kind(setup.runtime).sites_variable if setup.sites else None
    if variable is None or variable in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(dir=scratch_base()) as folder:
        os.environ[variable] = folder
        try:
            yield
        finally:
            del os.environ[variable]


def stale_reasons(mode: CaseMode, setup: Setup, record: Record) -> list[str]:
    """A sentence for each reason of the port's that explains nothing, where the code of all kernels was looked at.

    Raises ``SpecError`` as ``read_site_reasons``.
    """
    if not setup.sites or not all(row.sites is not None for row in record.kernels):
        return []
    root = mode.trees[0].sources[0].root
    explained = {
        place.reason
        for row in record.kernels
        for place in (row.sites.places if row.sites is not None else ())
        if place.reason is not None
    }
    return unused(read_site_reasons(root), root, record.run.arch or "", explained)
