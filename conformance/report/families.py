"""The joined table: per kernel family where it is, where Candle has it, who asks for it, and how it fares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.record import KernelResult, Record
from conformance.report.tally import of_family, tally
from conformance.spec.load import Specs
from conformance.text import code, plain

HEADS = ("Module", "Family", "Kernels", "Source", "Candle", "Wired at", "Compiles for")


def family_table(
    found: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> tuple[list[str], list[list[str]]]:
    """Heads and body: a row per family, and behind the common columns one with the verdict of each record.

    Places and targets come from whichever record knows them.
    """
    heads = [*HEADS, *names]
    body: list[list[str]] = []
    for module in specs.modules.values():
        for family in module.families:
            parts = [of_family(part, module.name, family) for part in rows]
            everything = [row for part in parts for row in part]
            candle = _span(row.upstream for row in parts[0])
            first = [
                plain(module.name),
                plain(family),
                str(len(parts[0])),
                _span(row.source for row in everything if row.source),
            ]
            body.append([*first, candle, _wired(everything), _targets(found, parts), *map(_verdict, parts)])
    return heads, body


def _span(places: Iterable[str]) -> str:
    """``file:first–last`` over places that read ``file:line``, a file after the other."""
    lines: dict[str, list[int]] = {}
    for place in places:
        file, _, line = place.rpartition(":")
        if line.isdigit():
            lines.setdefault(file, []).append(int(line))
        else:
            lines.setdefault(place, [])
    spans = []
    for file, numbers in sorted(lines.items()):
        low, high = (min(numbers), max(numbers)) if numbers else (0, 0)
        spans.append(code(file if not low else f"{file}:{low}" if low == high else f"{file}:{low}–{high}"))
    return ", ".join(spans) or "–"


def _wired(rows: Sequence[KernelResult]) -> str:
    """How many kernels Candle's Rust side asks for, and the first place; a dash where no wiring was given."""
    known = {row.name: row.wired_at for row in rows if row.wired_at is not None}
    if not known:
        return "–"
    wired = {name: places for name, places in known.items() if places}
    if not wired:
        return f"0 of {len(known)}"
    places = sorted({place for found in wired.values() for place in found})
    more = f" +{len(places) - 1}" if len(places) > 1 else ""
    return f"{len(wired)} of {len(known)}: {code(places[0])}{more}"


def _targets(found: Sequence[Record], parts: Sequence[Sequence[KernelResult]]) -> str:
    """The AMD targets that every kernel of the family compiles for."""
    targets = {
        target
        for record, part in zip(found, parts, strict=True)
        for target in record.run.builds
        if part and all(target in row.compiles_for for row in part)
    }
    return ", ".join(map(plain, sorted(targets))) or "–"


def _verdict(part: Sequence[KernelResult]) -> str:
    count = tally(part)
    return f"{count.mark} {count.passing}/{count.total}, {count.percent}%"
