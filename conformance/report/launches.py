"""What recorded programs have launched, as reports tell it: evidence for "wired" besides Candle's Rust code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.outcome import KernelResult, Launched
from conformance.record.launched import told_once
from conformance.text import counted, shortened, some

_PROGRAMS = 3
"""That are named in a sentence."""

_LONGEST = 100
"""Characters of a program's command line that are shown."""


def launched_by(rows: Iterable[KernelResult]) -> dict[str, tuple[Launched, ...]]:
    """By kernel, the programs that launched it, over ``rows`` of one run or of several; without those of which no
    recording was given."""
    found: dict[str, tuple[Launched, ...]] = {}
    for row in rows:
        if row.launched_by is not None:
            found[row.name] = told_once((*found.get(row.name, ()), *row.launched_by))
    return found


def launches_note(rows: Iterable[KernelResult]) -> str | None:
    """One sentence: how many of the kernels of ``rows`` programs launched, and how often; ``None`` without a recording.

    ``launched by programs, as capture counted: 14 of 748 kernels; 14 of them by ./model, 1,200 times in all``
    """
    found = launched_by(rows)
    if not found:
        return None
    kernels: dict[str, int] = {}
    launches: dict[str, int] = {}
    for by in found.values():
        for one in by:
            kernels[one.program] = kernels.get(one.program, 0) + 1
            launches[one.program] = launches.get(one.program, 0) + one.launches
    told = [
        f"{count:,} of them by {_called(program)}, {counted(launches[program], 'time')} in all"
        for program, count in kernels.items()
    ]
    which = some(told, _PROGRAMS, "; ") or "none by a program that was recorded"
    of = f"{sum(map(bool, found.values())):,} of {counted(len(found), 'kernel')}"
    return f"launched by programs, as capture counted: {of}; {which}"


def wired_words(rows: Sequence[KernelResult]) -> str:
    """What the column "Wired" rests on, for the text below the table."""
    asks = "how many Candle's Rust side asks for"
    if not launched_by(rows):
        return asks
    launched = "how many were launched by a program that `capture` recorded, and how often"
    if all(row.wired_at is None for row in rows):
        return f"{launched}; Candle's Rust side was not read"
    return f"{asks}, as its sources are read; launched: {launched}"


def times_by_program(by: Sequence[Launched]) -> str:
    """``1,200 times by ./model -v, once by ./other``."""
    return ", ".join(f"{_times(one.launches)} by {_called(one.program)}" for one in by)


def _called(program: str) -> str:
    """A command line, where it is long without the folder of the program, which says less than the arguments."""
    if len(program) <= _LONGEST:
        return program
    file, space, arguments = program.partition(" ")
    return shortened(f"{file.rpartition('/')[2]}{space}{arguments}", _LONGEST)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
