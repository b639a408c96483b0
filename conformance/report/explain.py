"""What failed, in a few lines: for the terminal and for a failing pytest item."""

from __future__ import annotations

from conformance.outcome import KernelResult
from conformance.report.declared import choices
from conformance.report.leaks import leak_of
from conformance.text import visible


def explain(name: str, result: KernelResult, shown: int) -> list[str]:
    """The kernel's status and, of its first ``shown`` failures, case, worst element and the command to see it again.

    Control characters are shown as escapes; a message may have several lines.
    """
    counts = f", {result.failed} of {result.cases} cases" if result.cases else ""
    lines = [f"{name}: {result.status}{counts}"]
    lines += [f"  {line}" for line in (*choices(result), leak_of(result)) if line]
    if result.message:
        lines.append(f"  {result.message}")
    for failure in result.failures[:shown]:
        lines += [f"  {failure.case}", f"    {failure.why}"]
        if failure.got and failure.expected:
            lines.append(f"    got {failure.got}, expected {failure.expected}")
        if failure.reproduce:
            lines.append(f"    {failure.reproduce}")
    return list(map(visible, lines))
