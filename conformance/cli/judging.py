"""What ``run`` and ``replay`` share: judge, keep a journal on the way, report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.cli.finishing import finish
from conformance.cli.gating import Gating
from conformance.cli.preparing import jobs_for
from conformance.cli.progressing import progress
from conformance.cli.resuming import journal_of, resumable
from conformance.cli.sharding import shards_of
from conformance.cli.usage import Shard
from conformance.engine.messages import Setup
from conformance.engine.modes import CaseMode
from conformance.engine.run import Result, run
from conformance.record import Record
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
    """Judge ``kernels``, or the shard of them, and finish; the exit code. ``recordings`` is what trace files say of
    themselves. Raises ``UsageError`` for more shards than kernels."""
    shard: Shard | None = arguments.shard
    parts = {} if shard is None else shards_of(kernels, shard.of)
    others = {name: str(its) for name, its in parts.items() if its != shard}
    mine = [kernel for kernel in kernels if kernel.name not in others]
    jobs = jobs_for(arguments.jobs, setup, len(mine))
    journal = journal_of(setup, mode, arguments)

    def recorded(result: Result) -> Record:
        return assemble(specs, result, arguments.patterns, recordings, None if shard is None else str(shard), others)

    with resumable(arguments, recorded, journal), progress(arguments.quiet) as on_progress:
        result = run(setup, mode, mine, cases, jobs, on_progress, journal)
    return finish(arguments, specs, recorded(result), result, gating)
