"""What a report says of single kernels: the port's own choices, what leaks, what failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from conformance.outcome import Outcome
from conformance.record import KernelResult
from conformance.report.again import again
from conformance.text import code, continued, counted, one_line, plain, shortened, some

_NAMED = 5
_SHORT = 200
"""Characters of a line that says of a failure what it is."""


def _launched(row: KernelResult) -> str | None:
    """``only when el > 32: 17 cases have no part in the verdict``."""
    if row.launched_when is None:
        return None
    left = f"{counted(row.never_launched, 'case')} ha{'s' if row.never_launched == 1 else 've'} no part in the verdict"
    return f"only when {row.launched_when}: {left}"


_CONDITION, _CALLED = "launched by the port", "the port calls it"
_CHOICES: tuple[tuple[str, Callable[[KernelResult], str | None]], ...] = (
    ("known", lambda row: row.known_reason if row.status != "missing" else None),
    ("not in the port, as it declares", lambda row: row.known_reason if row.status == "missing" else None),
    (_CONDITION, _launched),
    (_CALLED, lambda row: row.port_name),
    ("judged through an adapter", lambda row: row.adapter),
    ("launched with the port's own geometry", lambda row: row.geometry),
    ("fixed here, wrong upstream", lambda row: row.fixed if row.status == "pass" else None),
    ("to be fixed here, wrong upstream", lambda row: row.fixed if row.status != "pass" else None),
)
"""What a choice is called, before its text, and the text."""


def choices(row: KernelResult) -> list[str]:
    """What the port declares about one kernel, a line each. Not escaped."""
    return [f"{choice}: {text}" for choice, text_of in _CHOICES if (text := text_of(row)) is not None]


def known_failures(rows: Sequence[KernelResult], what: str = "kernel") -> list[str]:
    """A line for each declared reason: ``3 kernels fail for a known reason: REASON (names)``; likewise for kernels that
    the port declares not to have. Not escaped."""
    return [
        f"{counted(len(names), what)} {verbs[len(names) == 1]}: {why} ({some(names, _NAMED)})"
        for is_missing, verbs in _KNOWN.items()
        for why, names in _names(
            [row for row in rows if (row.status == "missing") == is_missing], lambda row: row.known_reason
        ).items()
    ]


def conditions(rows: Sequence[KernelResult]) -> list[str]:
    """A line for each declared condition: ``launched only when el > 32, as the port declares: 12 cases of 3 kernels
    have no part in a verdict (names)``. Not escaped."""
    lines = []
    for condition, names in _names(rows, lambda row: row.launched_when).items():
        cases = sum(row.never_launched for row in rows if row.launched_when == condition)
        verb = "has" if cases == 1 else "have"
        lines.append(
            f"launched only when {condition}, as the port declares: {counted(cases, 'case')} of "
            f"{counted(len(names), 'kernel')} {verb} no part in a verdict ({some(names, _NAMED)})"
        )
    return lines


def adapters(rows: Sequence[KernelResult]) -> str | None:
    """A sentence with the number of kernels that have parameters of the port's own; ``None`` for none. Not escaped."""
    names = [row.name for row in rows if row.adapter is not None]
    if not names:
        return None
    verb = "was" if len(names) == 1 else "were"
    what = f"{counted(len(names), 'kernel')} {verb} judged through an adapter, with parameters that the port declares"
    return f"{what} ({some(names, _NAMED)})"


_KNOWN = {
    False: ("fail for a known reason", "fails for a known reason"),
    True: ("are missing, as the port declares", "is missing, as the port declares"),
}
"""Of failures and of missing kernels, what a line says of several and of one."""


def fixes(rows: Sequence[KernelResult]) -> list[str]:
    """A line for each defect of Candle's that passing kernels do not have: ``fixed here, wrong upstream: DEFECT
    (names)``. Not escaped."""
    groups = _names(rows, lambda row: row.fixed if row.status == "pass" else None)
    return [f"fixed here, wrong upstream: {defect} ({some(names, _NAMED)})" for defect, names in groups.items()]


def choice_lines(rows: Sequence[KernelResult]) -> list[str]:
    """The Markdown list of the port's choices by which kernels were judged, without known failures; empty for none."""
    lines = []
    for choice, text_of in _CHOICES[2:]:
        key = _KEYS[choice] if choice == _CONDITION else text_of
        for text, mine in _groups(rows, key).items():
            names = ", ".join(code(row.name) for row in mine)
            told = _together(choice, text, mine) if choice == _CONDITION else text
            lines.append(f"- {names}: {plain(choice)}: {plain(told)}")
    return lines


@dataclass(frozen=True)
class KernelChoice:
    """What a port declares of the kernels of ``rows`` in the same way: a choice, not escaped."""

    text: str
    rows: tuple[KernelResult, ...]

    @property
    def kernels(self) -> str:
        """``uelu_f32``, or ``8 kernels: uelu_bf16, uelu_f16 and 6 more``; not escaped."""
        names = [row.name for row in self.rows]
        return names[0] if len(names) == 1 else f"{len(names)} kernels: {some(names, _NAMED)}"

    @property
    def passing(self) -> int | None:
        """How many of them are at parity; ``None`` for a choice by which none is."""
        if all(row.status == "missing" for row in self.rows):
            return None
        return sum(row.status == "pass" for row in self.rows)


def declared(rows: Sequence[KernelResult]) -> list[KernelChoice]:
    """What a port declares of its kernels. Those with one condition are together, however many cases it leaves out, and
    so are all that the port calls otherwise."""
    return [
        KernelChoice(f"{choice}: {_together(choice, text, mine)}", tuple(mine))
        for choice, text_of in _CHOICES
        for text, mine in _groups(rows, _KEYS.get(choice, text_of)).items()
    ]


def _together(choice: str, text: str, rows: Sequence[KernelResult]) -> str:
    if choice == _CALLED:
        return some(list(dict.fromkeys(row.port_name or "" for row in rows)), _NAMED)
    if choice == _CONDITION:
        cases = sum(row.never_launched for row in rows)
        verb = "has" if cases == 1 else "have"
        return f"only when {text}: {counted(cases, 'case')} {verb} no part in the verdict{'s' * (len(rows) > 1)}"
    return text


_KEYS: Mapping[str, Callable[[KernelResult], str | None]] = {
    _CONDITION: lambda row: row.launched_when,
    _CALLED: lambda row: None if row.port_name is None else "",
}
"""By what kernels are brought together that the text of a choice tells apart."""


def _names(rows: Sequence[KernelResult], text_of: Callable[[KernelResult], str | None]) -> dict[str, list[str]]:
    """The names of the rows that have a text, by that text."""
    return {text: [row.name for row in mine] for text, mine in _groups(rows, text_of).items()}


def _groups(
    rows: Sequence[KernelResult], text_of: Callable[[KernelResult], str | None]
) -> dict[str, list[KernelResult]]:
    """The rows that have a text, by that text."""
    found: dict[str, list[KernelResult]] = {}
    for row in rows:
        if (text := text_of(row)) is not None:
            found.setdefault(text, []).append(row)
    return found


_TO_DO = "free it, or keep it for the next call"


def leak_of(row: KernelResult) -> str | None:
    """What a launcher leaves behind: ``leaks: each of 20 calls of CASE left 1 stream behind; ...``. Not escaped."""
    return None if row.leak is None else f"leaks: {row.leak}; {_TO_DO}"


_ALIGNMENT = "AMD GPUs allow that in global memory, NVIDIA's do not"


def misaligned_of(row: KernelResult) -> str | None:
    """The kernel's unaligned accesses: ``not aligned: CASE reads 16 bytes at an address that is no multiple of 16;
    ...``. Not escaped."""
    return None if row.misaligned is None else f"not aligned: {row.misaligned}; {_ALIGNMENT}"


def misaligned_note(rows: Sequence[KernelResult]) -> str | None:
    """A sentence about all kernels with unaligned accesses, with the first one; ``None`` for none. Not escaped."""
    misaligned = [row for row in rows if row.misaligned is not None]
    if not misaligned:
        return None
    count = "1 kernel accesses" if len(misaligned) == 1 else f"{len(misaligned)} kernels access"
    names = some([row.name for row in misaligned], _NAMED)
    first = misaligned[0].misaligned
    return f"{count} vectors that are not aligned, which changes no verdict: {names}: {first}; {_ALIGNMENT}"


def leak_note(rows: Sequence[KernelResult]) -> str | None:
    """A sentence about all launchers that leak, with what the first one leaves behind; ``None`` for none. Not
    escaped."""
    leaking = [row for row in rows if row.leak is not None]
    if not leaking:
        return None
    names = ", ".join(row.name for row in leaking[:_NAMED]) + (" ..." if len(leaking) > _NAMED else "")
    count = "1 launcher leaks" if len(leaking) == 1 else f"{len(leaking)} launchers leak"
    first = f"{leaking[0].leak}; {_TO_DO}"
    return f"{count}, which changes no verdict: {names}: {first}"


def in_short(outcome: Outcome) -> list[str]:
    """A failing kernel in at most three lines: how many cases fail, and what is wrong in the first one, or why there is
    none.

    Each line begins with words of ours.
    """
    counts = f", {outcome.failed} of {outcome.cases} cases" if outcome.cases else ""
    lines = [f"candle-parity: {outcome.name}: {outcome.status}{counts}"]
    if outcome.failures:
        first = outcome.failures[0]
        lines.append(f"  {shortened(one_line(f'{first.case}: {first.why}'), _SHORT)}")
        if first.got and first.expected:
            lines.append(f"  got {one_line(first.got)}, expected {one_line(first.expected)}")
    elif outcome.message:
        lines[0] += f": {shortened(one_line(outcome.message), _SHORT)}"
    return lines


def explain(name: str, result: Outcome | KernelResult, shown: int) -> list[str]:
    """A kernel's status and its first ``shown`` failures: case, worst element, and the command that shows it again.

    Control characters are shown as escapes. A message may have several lines.
    """
    counts = f", {result.failed} of {result.cases} cases" if result.cases else ""
    lines = [f"{name}: {result.status}{counts}"]
    if isinstance(result, KernelResult):
        lines += [f"  {line}" for line in (*choices(result), leak_of(result), misaligned_of(result)) if line]
    if result.message:
        lines.append(f"  {result.message}")
    for failure in result.failures[:shown]:
        lines += [f"  {failure.case}", f"    {failure.why}"]
        if failure.got and failure.expected:
            lines.append(f"    got {failure.got}, expected {failure.expected}")
        command = again(failure.reproduce)
        if command:
            lines.append(f"    {command}")
    return list(map(continued, lines))
