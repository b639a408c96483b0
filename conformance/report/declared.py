"""What a report says of a port's own choices: names, known failures, upstream defects that it fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.record import KernelResult
from conformance.text import code, plain

_NAMED = 5

_CHOICES: tuple[tuple[str, Callable[[KernelResult], str | None]], ...] = (
    ("known", lambda row: row.known_reason),
    ("the port calls it", lambda row: row.port_name),
    ("launched with the port's own geometry", lambda row: row.geometry),
    ("fixed here, wrong upstream", lambda row: row.fixed if row.status == "pass" else None),
    ("to be fixed here, wrong upstream", lambda row: row.fixed if row.status != "pass" else None),
)
"""What a choice is called, before its text, and the text."""


def choices(row: KernelResult) -> list[str]:
    """The port's choices about one kernel, a line each, not escaped."""
    return [f"{said}: {text}" for said, text_of in _CHOICES if (text := text_of(row)) is not None]


def known_failures(rows: Sequence[KernelResult], what: str = "kernel") -> list[str]:
    """``3 kernels fail for a known reason: REASON (names)``, a line for each reason, not escaped."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row.known_reason is not None:
            groups.setdefault(row.known_reason, []).append(row.name)
    return [
        f"{len(names)} {what}{' fails' if len(names) == 1 else 's fail'} for a known reason: {reason} ({_some(names)})"
        for reason, names in groups.items()
    ]


def fixes(rows: Sequence[KernelResult]) -> list[str]:
    """``fixed here, wrong upstream: DEFECT (names)``, a line for each defect of kernels that pass, not escaped."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row.fixed is not None and row.status == "pass":
            groups.setdefault(row.fixed, []).append(row.name)
    return [f"fixed here, wrong upstream: {defect} ({_some(names)})" for defect, names in groups.items()]


def choice_lines(rows: Sequence[KernelResult]) -> list[str]:
    """The Markdown list of what was judged by a port's own choice, but for known failures; empty without any."""
    lines = []
    for said, text_of in _CHOICES[1:]:
        groups: dict[str, list[str]] = {}
        for row in rows:
            text = text_of(row)
            if text is not None:
                groups.setdefault(text, []).append(row.name)
        lines += [f"- {', '.join(map(code, names))}: {plain(said)}: {plain(text)}" for text, names in groups.items()]
    return lines


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
