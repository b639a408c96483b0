"""What launches do, as the interpreter counted it: a row per case, or per family and case where there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.record.bench import CountResult
from conformance.text import one_line

_CLASSES = ("vector", "scalar", "memory", "scalar_memory", "lds", "matrix", "control")

Column = tuple[str, Callable[[CountResult], float | None], str]


def _per_wave(name: str) -> Callable[[CountResult], float | None]:
    return lambda row: getattr(row.counts, name) / max(row.counts.waves, 1)


def _share(part: str, whole: str) -> Callable[[CountResult], float | None]:
    def share(row: CountResult) -> float | None:
        of = getattr(row.counts, whole)
        return getattr(row.counts, part) / of if of else None

    return share


_COLUMNS: tuple[Column, ...] = (
    ("waves", lambda row: row.counts.waves, ",.0f"),
    ("per element", lambda row: row.counts.instructions * _lanes(row) / row.elements, ",.1f"),
    ("per wave", _per_wave("instructions"), ",.0f"),
    *((name.replace("_", " "), _per_wave(name), ",.0f") for name in _CLASSES),
    ("lanes", _share("lanes_active", "lanes"), ".0%"),
    ("MB asked", lambda row: row.counts.asked / 1e6, ",.2f"),
    ("MB in lines", lambda row: row.counts.moved / 1e6, ",.2f"),
    ("used", _share("asked", "moved"), ".0%"),
    ("least MB", lambda row: row.bytes / 1e6, ",.2f"),
    ("bank conflicts", lambda row: row.counts.bank_conflicts if row.counts.banks else None, ",.0f"),
)


def _lanes(row: CountResult) -> float:
    """Lanes of a wave."""
    instructions = row.counts.vector + row.counts.matrix
    return row.counts.lanes / instructions if instructions else 1


def counts_table(rows: Sequence[CountResult], every: bool) -> tuple[list[str], list[list[str]]]:
    """Heads and cells: a row per case with ``every``, else one per family and kind of case, with the means of its
    kernels."""
    groups: dict[tuple[str, ...], list[CountResult]] = {}
    for row in rows:
        fields = row.case.partition("(")[2].removesuffix(")")
        groups.setdefault((row.case,) if every else (row.family, fields), []).append(row)
    head = ["case"] if every else ["family", "case", "kernels"]
    body = []
    for key, group in groups.items():
        means = [_mean([value(row) for row in group], form) for _, value, form in _COLUMNS]
        body.append([*map(one_line, key), *([] if every else [str(len(group))]), *means])
    return [*head, *(name for name, _, _ in _COLUMNS)], body


def _mean(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return format(sum(known) / len(known), form) if known else ""


def legend(rows: Sequence[CountResult]) -> str:
    """What the columns are."""
    lines = ", ".join(str(line) for line in sorted({row.counts.line for row in rows}))
    return (
        "Counts, not times: nothing here says how long a GPU takes. Instructions are of waves; per element times the "
        "lanes of a wave. Lanes: active in vector and matrix instructions. MB that an instruction's lanes ask for, "
        f"each byte once, and in the lines of {lines} bytes that hold them, as if no cache kept a line from one "
        "instruction to the next; used is their ratio. Bank conflicts: groups of lanes that LDS answers once more."
    )
