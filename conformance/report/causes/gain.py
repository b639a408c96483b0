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
    """A cause to mend, and how many kernels that gains once the steps before it are done."""

    finding: Finding
    gained: int


@dataclass(frozen=True)
class Proposal:
    """The ``steps`` to take first, one at least, of a run with so many ``causes``."""

    steps: tuple[Step, ...]
    causes: int

    @property
    def gained(self) -> int:
        """How many kernels all steps gain."""
        return sum(step.gained for step in self.steps)

    @property
    def is_upper_bound(self) -> bool:
        """Whether kernels among them were not launched yet, and may have more to mend."""
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
    """The causes of ``findings`` to mend first, ``most`` or fewer; ``None`` where these would gain no kernel.

    Each is the one by which most kernels are gained once those before it are mended, and of these the one of most
    kernels. What is not recognised is never proposed.
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
