"""Causes as lines of text, for the terminal and for the reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from conformance.record import KernelResult
from conformance.report.causes.find import UNKNOWN, Finding, deciding_trait
from conformance.text import one_line, shortened

SCREEN = 48
"""Lines of a terminal that causes may take."""

WIDTH = 118

_NAMED = 4
"""Kernels that are named; of more the families are counted."""


def cause_lines(findings: Sequence[Finding], limit: int = SCREEN, width: int = WIDTH) -> list[str]:
    """``findings`` in ``limit`` lines or fewer, of ``width`` characters or fewer each; none without findings."""
    if not findings:
        return []
    names = {share.kernel.name for finding in findings for share in finding.shares}
    lines = [f"{_counted(len(findings), 'cause')} of {_counted(len(names), 'kernel')} that fail{_s(len(names))}:"]
    for number, finding in enumerate(findings):
        block = [shortened(one_line(line), width - 2 * bool(at)) for at, line in enumerate(described(finding))]
        more = len(findings) - number
        if len(lines) + len(block) + (more > 1) > limit:
            lines.append(f"... and {_counted(more, 'cause')} more; --md F writes them all")
            break
        lines += [f"  {line}" if at == 0 else f"      {line}" for at, line in enumerate(block)]
    return [shortened(line, width) for line in lines]


def described(finding: Finding) -> list[str]:
    """A cause in a few lines: what it is, of which kernels, by what evidence, what to do."""
    cause = finding.cause
    marked = f" [{cause.bug_class}]" if cause.bug_class else ""
    title = f"{cause.title}: {finding.detail}" if finding.detail else cause.title
    lines = [
        f"{_counted(len(finding.shares), 'kernel')}: {title}{marked}",
        f"{kernels(finding)}{_first_place(finding)}",
    ]
    found = evidence(finding)
    lines += [found] if found else []
    if cause is UNKNOWN:
        first = finding.shares[0].kernel
        failure = next(iter(first.failures), None)
        lines.append(f"first: {failure.case}: {failure.why}" if failure else f"first: {first.name}: {first.message}")
    else:
        lines.append(f"to do: {cause.advice}")
    return lines


def kernels(finding: Finding) -> str:
    """The kernels by name, or by family where there are many."""
    rows = [share.kernel for share in finding.shares]
    if len(rows) <= _NAMED:
        return ", ".join(row.name for row in rows)
    counts = Counter(row.family if row.family == row.module else f"{row.module}/{row.family}" for row in rows)
    return ", ".join(f"{count} {family}" for family, count in counts.most_common())


def evidence(finding: Finding) -> str:
    """Which cases fail and which do not; empty where no case was run."""
    if not finding.failed:
        return ""
    passed = sum(len(share.passed) for share in finding.shares)
    deciding = deciding_trait(finding)
    if deciding is None:
        return f"{_counted(finding.failed, 'case')} fail{_s(finding.failed)}, {passed:,} pass"
    trait, failed, with_it = deciding
    others = passed - with_it
    if not with_it:
        every = f"all {failed:,} cases" if failed > 1 else "the one case"
        return f"{every} with {trait} fail{_s(failed)}, the other {others:,} do not"
    return (
        f"{_counted(failed, 'case')} fail{_s(failed)}, all with {trait}; with it {with_it:,} pass, without {others:,}"
    )


def _first_place(finding: Finding) -> str:
    row: KernelResult = finding.shares[0].kernel
    return f"; first at {row.source}" if row.source else ""


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _s(count: int) -> str:
    return "s" if count == 1 else ""
