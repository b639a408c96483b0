"""What runs have in common whose verdicts may stand next to each other: the one list of it."""

from __future__ import annotations

from collections.abc import Hashable

from conformance.record.model import RunInfo
from conformance.settings import judged_with


def judged_alike(run: RunInfo) -> Hashable:
    """What verdicts depend on, but for what the port declares: the same kernels judged alike have the same ones."""
    how = (run.runtime, run.arch, run.wave, run.orders, run.compiler, run.emulator, run.target, run.perturb)
    return (
        how,
        judged_with(run.options),
        run.kernels,
        run.sources,
        run.specs_digest,
        run.harness,
        run.subject,
        run.traces,
    )


def of_one_run(run: RunInfo) -> Hashable:
    """What the parts of one run have in common besides, whatever machines they ran on."""
    return judged_alike(run), run.upstream_commit, run.git, run.specs, run.sandbox, run.weakened
