"""What to do next: the causes whose mending gains most kernels, then the kernels that are still to be written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.record import KernelResult
from conformance.report.causes import find_causes
from conformance.report.causes.gain import gain, proposal, proposed
from conformance.report.tally import tally
from conformance.spec.load import Specs
from conformance.text import counted, some

_MODULES = 4


@dataclass(frozen=True)
class Step:
    """A cause to mend: what it is, how to mend it, its first kernel, and how many kernels it gains once the steps
    before it are done."""

    gained: str
    title: str
    advice: str
    kernel: str


@dataclass(frozen=True)
class NextSteps:
    """``heading`` says what the steps gain together and ``then`` what that comes to; ``missing`` is about the kernels
    without a source. Each is empty where there is nothing to say."""

    heading: str
    then: str
    steps: tuple[Step, ...]
    missing: str


def next_steps(rows: Sequence[KernelResult], specs: Specs) -> NextSteps | None:
    """The next steps of a run with the results ``rows`` over all kernels; ``None`` where nothing is to be done."""
    findings = find_causes(rows, specs)
    chosen = proposed(findings)
    told = proposal(findings, chosen)
    steps: list[Step] = []
    before = 0
    for number, finding in enumerate(chosen if told else (), start=1):
        after = gain(findings, chosen[:number])
        marked = f" [{finding.cause.bug_class}]" if finding.cause.bug_class else ""
        title = f"{finding.cause.title}{marked}: {counted(len(finding.shares), 'kernel')}"
        steps.append(Step(f"+{after - before:,}", title, finding.advice, finding.shares[0].kernel.name))
        before = after
    missing = _missing(rows)
    if not steps and not missing:
        return None
    passing = tally(rows).passing + before
    amount = told.partition(": ")[2]
    what = f"these {len(steps)} causes" if len(steps) > 1 else "this cause"
    most = "up to " if amount.startswith("up to ") else ""
    then = f"then {most}{passing:,} of {len(rows):,} kernels are at parity" if steps else ""
    return NextSteps(f"Mend {what}: {amount}" if steps else "", then, tuple(steps), missing)


def _missing(rows: Sequence[KernelResult]) -> str:
    modules = Counter(row.module for row in rows if row.status == "missing")
    if not modules:
        return ""
    most = some([f"{module} ({count})" for module, count in modules.most_common()], _MODULES)
    return f"{counted(modules.total(), 'kernel')} still to be written: {most}"
