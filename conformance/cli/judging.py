"""What ``run`` and ``replay`` share: judge, keep a journal on the way, report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.cli.finishing import finish
from conformance.cli.gating import Gating
from conformance.cli.preparing import jobs_for, progress
from conformance.cli.resuming import journal_of, resumable
from conformance.engine.modes import CaseMode
from conformance.engine.run import run
from conformance.engine.tasks import Setup
from conformance.record.assemble import assemble
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs


def judged(
    arguments: argparse.Namespace,
    specs: Specs,
    setup: Setup,
    mode: CaseMode,
    kernels: Sequence[Kernel],
    cases: Mapping[str, tuple[str, ...]],
    gating: Gating,
    recordings: Sequence[Mapping[str, Any]] = (),
) -> int:
    """Judge ``kernels`` and finish; the exit code. ``recordings`` is what trace files say of themselves."""
    jobs = jobs_for(arguments.jobs, setup, len(kernels))
    journal = journal_of(setup, mode, arguments)
    with resumable(arguments, specs, journal), progress() as on_progress:
        result = run(setup, mode, kernels, cases, jobs, on_progress, journal)
    return finish(arguments, specs, assemble(specs, result, arguments.patterns, recordings), result, gating)
