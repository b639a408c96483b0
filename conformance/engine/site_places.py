"""Where in the sources the instructions are that no case has executed, and why: for ``--sites``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from conformance.outcome import MissedSites, Sites, line_runs
from conformance.port.line_tables import LineTable
from conformance.port.site_reasons import SiteReason
from conformance.port.sources import KernelSource

NEAREST = 4
"""Functions that a place names, from the one that the instruction is of outwards; the kernel itself is not among
them."""


class _Place(NamedTuple):
    functions: str
    file: str
    line: int
    reason: str | None
    has_line: bool
    """Whether the instruction itself has one, not only a call around it."""


def placed(
    sites: Sites, missed: Sequence[int], table: LineTable, source: KernelSource, reasons: Sequence[SiteReason]
) -> Sites:
    """``sites`` with ``places``: those that were not executed by function, file and the first of ``reasons`` that
    covers them, most first. What has no line counts too, for the reason of its neighbours."""
    found: dict[tuple[str, str, str | None], list[int]] = {}
    known: dict[tuple[int, int], _Place] = {}
    place_of = _places(table, source, reasons)
    for run in _runs(sites.missed, missed):
        keys = [table.key(offset) for offset in run]
        for key, offset in zip(keys, run, strict=True):
            if key not in known:
                known[key] = place_of(offset)
        for place in _with_inherited([known[key] for key in keys]):
            found.setdefault((place.functions, place.file, place.reason), []).append(place.line)
    places = [
        MissedSites(functions, f"{file}:{line_runs(lines)}" if any(lines) else file, len(lines), reason)
        for (functions, file, reason), lines in found.items()
    ]
    places.sort(key=lambda place: (-place.sites, place.functions, place.lines))
    return Sites(sites.total, sites.executed, sites.missed, tuple(places))


def _runs(runs: Sequence[str], missed: Sequence[int]) -> Iterator[list[int]]:
    """``missed``, by the runs of neighbours that ``Sites.missed`` has."""
    starts = {int(run.partition("-")[0], 16) for run in runs}
    run: list[int] = []
    for offset in missed:
        if run and offset in starts:
            yield run
            run = []
        run.append(offset)
    if run:
        yield run


def _with_inherited(run: Sequence[_Place]) -> list[_Place]:
    """The places of neighbours, of which those without a line have the reason of the next one before them that has a
    line, or else behind them."""
    reason = next((place.reason for place in run if place.has_line), None)
    found = []
    for place in run:
        reason = place.reason if place.has_line else reason
        found.append(place if place.has_line or place.reason is not None else place._replace(reason=reason))
    return found


def _places(table: LineTable, source: KernelSource, reasons: Sequence[SiteReason]) -> Callable[[int], _Place]:
    def place_of(offset: int) -> _Place:
        frames = table.frames(offset)
        reason = next((row.name for row in reasons if row.covers(frames, source)), None)
        own = table.own(offset, source.root)
        names = [frame.plain for frame in frames[:-1]] or [frame.plain for frame in frames]
        functions = " < ".join(name for name in names[:NEAREST] if name)
        file, line = ("", 0) if own is None else (source.label_of(own[0]), own[1])
        return _Place(functions, file, line, reason, bool(frames and frames[0].line))

    return place_of
