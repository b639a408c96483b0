"""``--sites``: a folder in which the processes of a run keep which instructions were executed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.engine.tasks import Setup
from conformance.processes.scratch import scratch_base
from conformance.runtimes import runtime_kind


@contextmanager
def sites_kept(setup: Setup) -> Iterator[None]:
    """Have the processes that are started meanwhile keep them, where the setup asks for it.

    Raises ``InfrastructureError`` where no temporary file can be written.
    """
    variable = runtime_kind(setup.runtime).sites_variable if setup.sites else None
    if variable is None:
        yield
        return
    with tempfile.TemporaryDirectory(dir=scratch_base()) as folder:
        os.environ[variable] = folder
        try:
            yield
        finally:
            del os.environ[variable]
