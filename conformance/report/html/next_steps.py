"""What to do next: the causes whose mending gains most kernels, then the kernels that are still to be written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.record import KernelResult
from conformance.report.causes import find_causes
from conformance.report.causes.gain import Proposal, propose
from conformance.report.causes.text import marked_title
from conformance.report.tally import tally
from conformance.spec.load import Specs
from conformance.text import counted, some

_MODULES = 4


@dataclass(frozen=True)
class ShownStep:
    """A cause to mend, as the page shows it: the kernels that it gains, its title, the advice, and the first kernel
    that has it."""

    gained: str
    title: str
    advice: str
    kernel: str


@dataclass(frozen=True)
class NextSteps:
    """What to do next.

    ``heading`` says what the steps gain together, ``then`` how many kernels are at parity afterwards. ``missing`` is
    about kernels without a source. Each is "" where there is nothing to say.
    """

    heading: str
    then: str
    steps: tuple[ShownStep, ...]
    missing: str


def next_steps(rows: Sequence[KernelResult], specs: Specs) -> NextSteps | None:
    """The next steps for a run with the results ``rows`` over all kernels; ``None`` where nothing is to be done."""
    proposal = propose(find_causes(rows, specs))
    missing = _missing(rows)
    if proposal is None:
        return NextSteps("", "", (), missing) if missing else None
    steps = tuple(
        ShownStep(
            f"+{step.gained:,}", marked_title(step.finding), step.finding.advice, step.finding.shares[0].kernel.name
        )
        for step in proposal.steps
    )
    return NextSteps(*_sums(proposal, rows), steps, missing)


def _sums(proposal: Proposal, rows: Sequence[KernelResult]) -> tuple[str, str]:
    """What ``proposal`` gains, and how many of ``rows`` are at parity then."""
    what = f"these {len(proposal.steps)} causes" if len(proposal.steps) > 1 else "this cause"
    most = "up to " if proposal.is_upper_bound else ""
    heading = f"Mend {what}: {most}+{counted(proposal.gained, 'kernel')}"
    passing = tally(rows).passing + proposal.gained
    return heading, f"then {most}{passing:,} of {len(rows):,} kernels are at parity"


def _missing(rows: Sequence[KernelResult]) -> str:
    modules = Counter(row.module for row in rows if row.status == "missing")
    if not modules:
        return ""
    most = some([f"{module} ({count})" for module, count in modules.most_common()], _MODULES)
    return f"{counted(modules.total(), 'kernel')} still to be written: {most}"
