"""Causes as a section of the Markdown report, and by kernel; those that several runs share stand there once."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.record import KernelResult
from conformance.report.causes.find import UNKNOWN, Finding, find_causes
from conformance.report.causes.lines import described, heading
from conformance.spec.load import Specs
from conformance.text import plain

Rows = Sequence[Sequence[KernelResult]]


def cause_section(names: Sequence[str], rows: Rows, specs: Specs, title: str = "Causes") -> list[str]:
    """The Markdown section; empty where no kernel fails."""
    lines: list[str] = []
    for name, findings in shared_causes(names, rows, specs):
        lines += [
            "",
            f"## {title}{f': {plain(name)}' if len(names) > 1 else ''}",
            "",
            f"{plain(heading(findings))}:",
            "",
        ]
        for finding in findings:
            first, *rest = described(finding)
            lines += [f"- **{plain(first)}**", *(f"  - {plain(text)}" for text in [*rest, *every_name(finding)])]
    return lines


def shared_causes(names: Sequence[str], rows: Rows, specs: Specs) -> list[tuple[str, list[Finding]]]:
    """The causes of each run; runs with the same ones are named together."""
    found: list[tuple[str, list[Finding]]] = []
    for name, part in zip(names, rows, strict=True):
        findings = find_causes(part, specs)
        same = next((at for at, (_, other) in enumerate(found) if _told(other) == _told(findings)), None)
        if not findings:
            continue
        if same is None:
            found.append((name, findings))
        else:
            found[same] = (f"{found[same][0]}, {name}", found[same][1])
    return found


def _told(findings: Sequence[Finding]) -> list[tuple[str, ...]]:
    return [
        (
            *described(finding)[: None if finding.cause is not UNKNOWN else -1],
            *(share.kernel.name for share in finding.shares),
        )
        for finding in findings
    ]


def every_name(finding: Finding) -> list[str]:
    """Every kernel, where ``described`` only counts them."""
    names = [share.kernel.name for share in finding.shares]
    return [", ".join(names)] if names[0] not in described(finding)[1] else []
