"""What mending causes would gain: kernels that have no other cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.report.causes.find import MIXED, UNKNOWN, Finding
from conformance.status import FAILED_LAUNCHES
from conformance.text import counted

MOST = 3
"""Causes that are proposed at a time."""


def gain(findings: Sequence[Finding], mended: Iterable[Finding]) -> int:
    """How many kernels of ``findings`` have no cause but those that are ``mended``."""
    gone = {id(finding) for finding in mended}
    rest = {share.kernel.name for finding in findings if id(finding) not in gone for share in finding.shares}
    here = {share.kernel.name for finding in findings if id(finding) in gone for share in finding.shares}
    return len(here - rest)


def proposed(findings: Sequence[Finding]) -> list[Finding]:
    """The causes to mend first, at most ``MOST``, in the order in which to mend them.

    Each is the one by which most kernels are gained once those before it are mended, and of these the one of most
    kernels. What is not recognised is never proposed.
    """
    known = [finding for finding in findings if finding.cause not in (UNKNOWN, MIXED)]
    chosen: list[Finding] = []
    while known and len(chosen) < MOST:
        best = max(known, key=lambda one: (gain(findings, [*chosen, one]), len(one.shares)))
        known.remove(best)
        chosen.append(best)
    return chosen


def proposal(findings: Sequence[Finding], chosen: Sequence[Finding]) -> str:
    """``mend the first 3: +23 kernels``, of ``findings`` whose first are those ``chosen``; empty where nothing would be
    gained. ``up to`` stands before it where kernels among them were not launched yet, and may have more to mend."""
    gained = gain(findings, chosen)
    if not gained:
        return ""
    rest = len(findings) - len(chosen)
    several = f"these {len(chosen)}" if not rest else f"the first {len(chosen)}"
    what = several if len(chosen) > 1 else "the first" if rest else "it"
    launched = all(share.kernel.status in FAILED_LAUNCHES for finding in chosen for share in finding.shares)
    return f"mend {what}: {'' if launched else 'up to '}+{counted(gained, findings[0].what)}"
