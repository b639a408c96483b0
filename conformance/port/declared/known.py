"""Known failures: which of a run's failures a port declares, and which declarations no failure bears out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

from conformance.adapter import AdapterRow
from conformance.geometry import GeometryRow
from conformance.outcome import Outcome
from conformance.port.config import Excluded, KnownFailure
from conformance.port.sources import SourceError
from conformance.reading import shortened
from conformance.spec.kernel import Kernel
from conformance.status import FAILED_LAUNCHES, FAILURES

ForKernels = TypeVar("ForKernels", AdapterRow, GeometryRow)
"""A row of a table by which the port calls some kernels otherwise than Candle."""

_WITHOUT_CASES = tuple(status for status in FAILURES if status not in FAILED_LAUNCHES)


@dataclass(frozen=True)
class Settled:
    """``reasons`` has, by kernel, why it fails where every one of its failures is declared; ``problems`` are sentences
    about declarations that do not hold."""

    reasons: Mapping[str, str]
    problems: tuple[str, ...] = ()


def matches(pattern: str, text: str) -> bool:
    """Whether ``text`` is like ``pattern``, in which ``*`` stands for anything; all else, brackets too, for itself."""
    return fnmatchcase(text, re.sub(r"[?[]", r"[\g<0>]", pattern))


def with_kernels(
    key: str, rows: Iterable[ForKernels], kernels: Mapping[str, Kernel], where: str
) -> Iterator[tuple[str, ForKernels, list[Kernel]]]:
    """Each of ``rows`` of the table ``key``, with its place for messages before it and the kernels that it matches.

    Raises ``SourceError`` for a row that matches no kernel, and for two that match the same.
    """
    taken: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        place = f"{where}: {key}, row {number}"
        named = [kernel for name, kernel in kernels.items() if matches(row.kernels, name)]
        if not named:
            what = f"{shortened(row.kernels)!r} matches none of the {len(kernels)} kernels of the specs"
            remedy = "correct it, or remove the row; launchers have neither row, for they launch kernels themselves"
            raise SourceError(f"{place}: {what}; {remedy}")
        for kernel in named:
            other = taken.setdefault(kernel.name, number)
            if other != number:
                raise SourceError(f"{place}: {kernel.name} is ambiguous: row {other} matches it too; make one narrower")
        yield place, row, named


def check_rows(
    rows: Iterable[KnownFailure], kernels: Collection[str], where: str, launchers: Collection[str] = ()
) -> None:
    """Raises ``SourceError`` for a row that matches none of ``kernels`` and ``launchers``, those of the specs."""
    _check_patterns("known_failures", rows, kernels, where, launchers)


def check_excluded(
    rows: Iterable[Excluded], kernels: Collection[str], where: str, launchers: Collection[str] = ()
) -> None:
    """The same for the kernels and launchers that the port does not have."""
    _check_patterns("exclude", rows, kernels, where, launchers)


def _check_patterns(
    key: str,
    rows: Iterable[KnownFailure | Excluded],
    kernels: Collection[str],
    where: str,
    launchers: Collection[str],
) -> None:
    for number, row in enumerate(rows, 1):
        if not any(matches(row.kernels, name) for name in (*kernels, *launchers)):
            raise SourceError(
                f"{where}: {key}, row {number}: {shortened(row.kernels)!r} matches none of the "
                f"{counted(kernels, launchers)} of the specs; correct it, or remove the row"
            )


def counted(kernels: Collection[str], launchers: Collection[str]) -> str:
    """``748 kernels and 49 launchers``: two counts, which are never added."""
    return f"{len(kernels)} kernels" + (f" and {len(launchers)} launchers" if launchers else "")


def settle(
    rows: Sequence[KnownFailure],
    outcomes: Mapping[str, Outcome],
    kernels: Collection[str],
    partly: Collection[str],
    runtime: str,
    arch: str,
    recorded: bool = False,
    launchers: Collection[str] = (),
) -> Settled:
    """What ``rows`` say of ``outcomes`` on ``runtime`` and a device of ``arch``.

    A row is a problem where all ``kernels`` and ``launchers`` that it matches were judged, in all their cases, and it
    explains none of their failures (a run of every kernel leaves out launchers that no source names); ``partly`` are
    those of which only some cases were asked for. ``recorded`` says that the cases are recorded launches, which are
    others than a row was written for: then none is a problem.
    """
    here = [
        (number, row)
        for number, row in enumerate(rows, 1)
        if row.runtime in (None, runtime) and (row.arch is None or _is_of(row.arch, arch))
    ]
    reasons: dict[str, str] = {}
    used: set[int] = set()
    for name, outcome in outcomes.items():
        if outcome.status not in FAILURES:
            continue
        mine = [(number, row) for number, row in here if matches(row.kernels, name)]
        explained = [[one for one in mine if _covers(one[1], case)] for case in _failures_of(outcome)]
        used |= {number for found in explained for number, _ in found}
        if all(explained):
            reasons[name] = "; ".join(dict.fromkeys(_reason(row) for found in explained for _, row in found[:1]))
    problems = []
    whole = all(name in outcomes for name in kernels)
    named_there = [*kernels, *(name for name in launchers if name in outcomes or not whole)]
    for number, row in here if not recorded else ():
        named = [name for name in named_there if matches(row.kernels, name)]
        judged = all(name in outcomes and name not in partly and _in_full(outcomes[name], row) for name in named)
        if named and judged and number not in used:
            what = "passes" if len(named) == 1 else f"and its like, {len(named)} in all, pass"
            if any(outcomes[name].status in FAILURES for name in named):
                what = f"fails, but in no case like {row.case!r}"
            problems.append(f"known_failures, row {number} ({row.kernels!r}): {named[0]} {what}; remove it")
    return Settled(reasons, tuple(problems))


def excluded(rows: Sequence[Excluded], outcomes: Mapping[str, Outcome]) -> Settled:
    """What ``rows`` say of ``outcomes``: why a kernel is missing; one that the port has is a problem."""
    reasons: dict[str, str] = {}
    problems = []
    for name, outcome in outcomes.items():
        found = next(((number, row) for number, row in enumerate(rows, 1) if matches(row.kernels, name)), None)
        if found is None or outcome.status == "not_run":
            continue
        number, row = found
        if outcome.status == "missing":
            reasons[name] = row.reason
        else:
            at = f" at {outcome.source}" if outcome.source else ""
            problems.append(
                f"exclude, row {number} ({row.kernels!r}): the port has {name}{at}; remove it, or narrow it"
            )
    return Settled(reasons, tuple(problems))


def _in_full(outcome: Outcome, row: KnownFailure) -> bool:
    """Whether every case was judged that ``row`` may be about; a kernel that is given up has some that never ran."""
    if outcome.status == "not_run" or (row.case is not None and outcome.status in _WITHOUT_CASES):
        return False
    return not outcome.planned


def _is_of(pattern: str, arch: str) -> bool:
    return matches(pattern, arch) or matches(pattern, arch.partition(":")[0])


def _failures_of(outcome: Outcome) -> list[str | None]:
    """The ids of the cases that failed; ``None`` for a failure that is of no case."""
    cases: list[str | None] = [*outcome.failed_cases]
    return [None] if outcome.status in _WITHOUT_CASES or not cases else cases


def _covers(row: KnownFailure, case: str | None) -> bool:
    return row.case is None or (case is not None and matches(row.case, case))


def _reason(row: KnownFailure) -> str:
    return row.reason if row.link is None else f"{row.reason} ({row.link})"
