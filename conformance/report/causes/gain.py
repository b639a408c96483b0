"""What mending causes would gain: kernels that have no other cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conformance.report.causes.find import MIXED, UNKNOWN, Finding
from conformance.status import FAILED_LAUNCHES
from conformance.text import counted

MOST = 3
"""Causes that are proposed at a time."""


@dataclass(frozen=True)
class Step:
    """A cause to mend, and how many kernels that gains when the earlier steps are done."""

    finding: Finding
    gained: int


@dataclass(frozen=True)
class Proposal:
    """The ``steps`` to take first, at least one, in a run with ``causes`` causes."""

    steps: tuple[Step, ...]
    causes: int

    @property
    def gained(self) -> int:
        """The number of kernels that all steps together gain."""
        return sum(step.gained for step in self.steps)

    @property
    def is_upper_bound(self) -> bool:
        """Whether some of these kernels were not launched yet, so that there may be more to mend in them."""
        kernels = (share.kernel for step in self.steps for share in step.finding.shares)
        return any(kernel.status not in FAILED_LAUNCHES for kernel in kernels)

    def __str__(self) -> str:
        """``mending the first 3 gains 23 kernels``, ``mending it gains up to 4 kernels``."""
        count, rest = len(self.steps), self.causes - len(self.steps)
        several = f"the first {count}" if rest else f"these {count}"
        what = several if count > 1 else "the first" if rest else "it"
        most = "up to " if self.is_upper_bound else ""
        return f"mending {what} gains {most}{counted(self.gained, self.steps[0].finding.what)}"


def propose(findings: Sequence[Finding], most: int = MOST) -> Proposal | None:
    """The causes to mend first, at most ``most``; ``None`` where they would gain no kernel.

    Each step is the cause that gains most kernels after the earlier steps, and of several the one with most kernels.
    Failures that are not recognised are never proposed.
    """
    known = [finding for finding in findings if finding.cause not in (UNKNOWN, MIXED)]
    chosen: list[Finding] = []
    steps: list[Step] = []
    while known and len(steps) < most:
        best = max(known, key=lambda one: (_gain(findings, [*chosen, one]), len(one.shares)))
        known.remove(best)
        steps.append(Step(best, _gain(findings, [*chosen, best]) - _gain(findings, chosen)))
        chosen.append(best)
    while steps and not steps[-1].gained:
        steps.pop()
    return Proposal(tuple(steps), len(findings)) if steps else None


def _gain(findings: Sequence[Finding], mended: Iterable[Finding]) -> int:
    """How many kernels of ``findings`` have no cause but those that are ``mended``."""
    gone = {id(finding) for finding in mended}
    rest = {share.kernel.name for finding in findings if id(finding) not in gone for share in finding.shares}
    here = {share.kernel.name for finding in findings if id(finding) in gone for share in finding.shares}
    return len(here - rest)
