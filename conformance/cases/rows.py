"""The rows of case ids that launch families have, in YAML files next to modules: the text between an id's brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.cases.arguments import Row
from conformance.cases.case import parse_fields
from conformance.cases.specials import core, nans, special, twice
from conformance.dtypes import dtype
from conformance.reading import own_yaml

LARGE_TYPES = ("f32", "u8")


def rows_beside(module: str) -> Mapping[str, tuple[str, ...]]:
    """The lists of rows, by name, of the YAML file next to a module's file; a list in a list is a part of it."""
    lists: dict[str, list[str | list[str]]] = own_yaml(Path(module).with_suffix(".yaml"))
    return {
        name: tuple(row for part in rows for row in (part if isinstance(part, list) else [part]))
        for name, rows in lists.items()
    }


COMMON = rows_beside(__file__)
"""The rows that several families share."""


def parsed(rows: Sequence[str]) -> tuple[Row, ...]:
    """``rows`` as fields."""
    return tuple(map(parse_fields, rows))


def filled(rows: Sequence[str], name: str, distribution: str = "unit") -> list[str]:
    """``rows`` with their placeholders filled in for dtype ``name`` and the distribution ``distribution``."""
    bits = 8 * dtype(name).size
    numbers = {"special": len(special(name)), "core": len(core(name)), "pairs": len(core(name)) ** 2}
    numbers |= {"twice": len(twice(name))}
    if dtype(name).kind == "float":
        numbers |= {"nans": len(nans(name)), "nan_pairs": len(nans(name)) ** 2}
    return [row.format(v=distribution, all=1 << bits, side=1 << bits // 2, **numbers) for row in rows]


def shared(name: str, rows: Sequence[str], large: Sequence[str]) -> tuple[str, ...]:
    """``rows``, and ``large`` ones where dtype ``name`` has them."""
    return (*rows, *(large if name in LARGE_TYPES else ()))


def one_operand(name: str, extra: Sequence[str] = (), null_input: bool = False, every: bool = True) -> list[str]:
    """The rows of an elementwise family with one operand of dtype ``name``, and ``extra``.

    ``every`` says that those of code which operations share are among them.
    """
    kind = dtype(name)
    rows = [
        *COMMON["sizes"],
        *COMMON["geometry"],
        *COMMON["strided"],
        *(shared(name, (*COMMON["shared"], *COMMON["layouts_of_rank_4"]), COMMON["large"]) if every else ()),
        *COMMON["offsets"],
    ]
    rows += COMMON["in_place"] if null_input else ()
    rows += COMMON["special"]
    rows += COMMON["floats"] if kind.kind == "float" else ()
    rows += COMMON["nans"] if kind.kind == "float" and kind.size > 2 else ()
    rows += (*COMMON["exhaustive"], *COMMON["exhaustive_strided"]) if kind.size <= 2 else ()
    return filled([*rows, *extra], name)
