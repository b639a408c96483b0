"""The status table: per operation where the port has it, where Candle does, who asks for it or has launched it, and how
it fares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.dtypes import COLUMNS
from conformance.record import KernelResult, Record
from conformance.report.launches import launched_by
from conformance.report.tally import ABSENT, columns_of, of_family, of_module, source_files, source_lines, tally
from conformance.spec.load import SpecModule, Specs
from conformance.text import code, counted, link, plain

HEADS = ("Operation", "Kernels", "Port", "Candle", "Wired")
_NAMED = 3


def status_table(
    records: Sequence[Record], names: Sequence[str], rows: Sequence[Sequence[KernelResult]], specs: Specs
) -> tuple[list[str], list[list[str]]]:
    """Heads and body of the status table, safe for Markdown: a row for each module, for each family of a module with
    several, and one for all.

    Runs with equal rows share a column. A place in a source is taken from any record that has it.
    """
    lines: list[list[str]] = []
    verdicts: list[list[list[str]]] = []
    known: list[int] = []
    for module in specs.modules.values():
        parts = [of_module(part, module.name) for part in rows]
        files, length = _port_source(records, parts)
        known += [] if length is None else [length]
        everything = [row for part in parts for row in part]
        single = len(module.families) == 1
        places = [_span(_sources(everything))] if single else list(map(code, files))
        lines.append(
            [
                f"**{plain(module.name)}**: {plain(module.title)}",
                str(len(parts[0])),
                _lines([place for place in places if place != "–"], length),
                _lines([_upstream(module, specs)], module.source_lines),
                _wired(everything),
            ]
        )
        verdicts.append([_cells(part, specs, dtypes=single) for part in parts])
        for family in () if single else module.families:
            parts = [of_family(part, module.name, family) for part in rows]
            everything = [row for part in parts for row in part]
            places = [_span(_sources(everything)), _span(row.upstream for row in parts[0])]
            lines.append([f"· {plain(family)}", str(len(parts[0])), *places, _wired(everything)])
            verdicts.append([_cells(part, specs, dtypes=True) for part in parts])
    candle = sum(module.source_lines for module in specs.modules.values())
    totals = [_lines([], sum(known) if known else None), _lines([], candle)]
    lines.append(["**all**", str(len(rows[0])), *totals, _wired([row for part in rows for row in part])])
    verdicts.append([_cells(part, specs, dtypes=False) for part in rows])
    columns = _columns(names, verdicts)
    body = [
        [*line, *(cell for _, at in columns for cell in verdict[at])]
        for line, verdict in zip(lines, verdicts, strict=True)
    ]
    return [*HEADS, *(title for titles, _ in columns for title in titles)], body


def _columns(names: Sequence[str], verdicts: Sequence[Sequence[Sequence[str]]]) -> list[tuple[list[str], int]]:
    """The columns that differ: the titles of a run's, and the number of the first run that has them."""
    groups: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for at in range(len(names)):
        groups.setdefault(tuple(tuple(row[at]) for row in verdicts), []).append(at)
    titles = [column.title.capitalize() for column in columns_of("Markdown")]
    if len(groups) == 1:
        return [(["Status", *titles], 0)]
    called = [(plain(", ".join(names[at] for at in runs)), runs[0]) for runs in groups.values()]
    return [([about, *(f"{title} ({about})" for title in titles)], first) for about, first in called]


def _port_source(records: Sequence[Record], parts: Sequence[Sequence[KernelResult]]) -> tuple[list[str], int | None]:
    """The port's files and their length, from the first record that knows them."""
    for record, part in zip(records, parts, strict=True):
        files = source_files(part)
        if files:
            return files, source_lines(list(part), record.run.source_lines)
    return [], None


def _lines(places: Sequence[str], length: int | None) -> str:
    told = [] if length is None else [f"{length:,} lines"]
    return ", ".join([*places, *told]) or "–"


def _upstream(module: SpecModule, specs: Specs) -> str:
    place = f"https://github.com/{specs.upstream_repository}/blob/{specs.upstream_commit}/candle-kernels/src"
    return link(module.source, f"{place}/{module.source}")


def _sources(rows: Iterable[KernelResult]) -> list[str]:
    return [row.source for row in rows if row.source]


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
    """How many kernels Candle's Rust side asks for, and the first place; behind that how many of them recorded programs
    launched, where recordings were given. A dash where neither is known."""
    return "; ".join(filter(None, (_asked_for(rows), _launched(rows)))) or "–"


def _asked_for(rows: Sequence[KernelResult]) -> str:
    """``3 of 6: mod.rs:12 +2``; empty where no wiring was given."""
    known = {row.name: row.wired_at for row in rows if row.wired_at is not None}
    if not known:
        return ""
    wired = {name: places for name, places in known.items() if places}
    places = sorted({place for found in wired.values() for place in found})
    files = {place.rpartition(":")[0] for place in places}
    count = f"{len(wired)} of {len(known)}"
    if not places or len(files) > 1:
        return count
    more = f" +{len(places) - 1}" if len(places) > 1 else ""
    return f"{count}: {code(places[0])}{more}"


def _launched(rows: Sequence[KernelResult]) -> str:
    """``launched: 2 of 6, 1,200 times``; empty where no recording was given."""
    known = launched_by(rows)
    if not known:
        return ""
    launches = sum(one.launches for by in known.values() for one in by)
    times = f", {counted(launches, 'time')}" if launches else ""
    return f"launched: {sum(map(bool, known.values()))} of {len(known)}{times}"


def _cells(part: Sequence[KernelResult], specs: Specs, *, dtypes: bool) -> list[str]:
    """The verdict on kernels, and what the further columns say of them."""
    return [_verdict(part, specs, dtypes=dtypes), *(plain(column.text(part)) for column in columns_of("Markdown"))]


def _verdict(part: Sequence[KernelResult], specs: Specs, *, dtypes: bool) -> str:
    """``⚠️ 6/8 (fails: bf16; no source: u8)``."""
    count = tally(part)
    text = f"{count.mark} {count.passing}/{count.total}"
    groups = (
        ("fails", [row for row in part if row.status not in ("pass", *ABSENT)]),
        ("no source", [row for row in part if row.status == "missing"]),
        ("not run", [row for row in part if row.status == "not_run"]),
    )
    told = [f"{what}: {_which(rows, specs)}" for what, rows in groups if rows and len(rows) < len(part)]
    if dtypes and told:
        return f"{text} ({'; '.join(told)})"
    return f"{text}, {count.percent}%" if not dtypes and count.total else text


def _which(rows: Sequence[KernelResult], specs: Specs) -> str:
    """The kernels by name where they are few, else by dtype."""
    if len(rows) <= _NAMED:
        return ", ".join(code(row.name) for row in rows)
    met = {specs.kernels[row.name].variant.get("dtype", "") for row in rows}
    dtypes = ", ".join(name for name in COLUMNS if name in met)
    return f"{len(rows)} ({dtypes})" if dtypes else str(len(rows))
