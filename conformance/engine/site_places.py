"""Where in the sources the instructions are that no case has executed, and why: for ``--sites``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.outcome import MissedSites, Sites, line_runs
from conformance.port.line_tables import LineTable
from conformance.port.site_reasons import SiteReason
from conformance.port.sources import KernelSource

NEAREST = 4
"""Functions that a place names, from the one that the instruction is of outwards; the kernel itself is not among
them."""


def placed(
    sites: Sites, missed: Sequence[int], table: LineTable, source: KernelSource, reasons: Sequence[SiteReason]
) -> Sites:
    """``sites`` with ``places``: those that were not executed by function, file and the first of ``reasons`` that
    covers them, most first. What has no line counts too."""
    found: dict[tuple[str, str, str | None], list[int]] = {}
    known: dict[tuple[int, int], tuple[str, str, int, str | None]] = {}
    place_of = _places(table, source, reasons)
    for offset in missed:
        key = table.key(offset)
        if key not in known:
            known[key] = place_of(offset)
        functions, file, line, reason = known[key]
        found.setdefault((functions, file, reason), []).append(line)
    places = [
        MissedSites(functions, f"{file}:{line_runs(lines)}" if any(lines) else file, len(lines), reason)
        for (functions, file, reason), lines in found.items()
    ]
    places.sort(key=lambda place: (-place.sites, place.functions, place.lines))
    return Sites(sites.total, sites.executed, sites.missed, tuple(places))


def _places(
    table: LineTable, source: KernelSource, reasons: Sequence[SiteReason]
) -> Callable[[int], tuple[str, str, int, str | None]]:
    def place_of(offset: int) -> tuple[str, str, int, str | None]:
        frames = table.frames(offset)
        reason = next((row.name for row in reasons if row.covers(frames, source)), None)
        own = table.own(offset, source.root)
        names = [frame.plain for frame in frames[:-1]] or [frame.plain for frame in frames]
        functions = " < ".join(name for name in names[:NEAREST] if name)
        return functions, "" if own is None else source.label_of(own[0]), 0 if own is None else own[1], reason

    return place_of
