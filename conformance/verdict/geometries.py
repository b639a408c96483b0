"""Launch geometries that a port may have in place of Candle's: rows of ``geometries.yaml``, tried on a failing case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cases.case import Case
from conformance.cases.geometry import launched_as
from conformance.cases.launch import Buffer, Launch
from conformance.geometry import GeometryRow
from conformance.reading import own_yaml
from conformance.verdict.mistakes import with_other_blocks

_MOST_BYTES = 16 << 20
"""Of a launch that is tried in other geometries: a larger one takes too long so often."""

_WAVE = 64
"""No row of the table asks for it."""


@dataclass(frozen=True)
class Geometry:
    """A geometry for kernels of ``launches``, all where that is empty; ``text`` is how candle-parity.toml has it."""

    launches: tuple[str, ...]
    row: GeometryRow
    text: str


def _table() -> Iterator[Geometry]:
    rows: list[dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    for row in rows:
        for size in row["sizes"]:
            made = {key: [_filled(one, size) for one in row[key]] for key in ("grid", "block") if key in row}
            text = "; ".join(f"{key} = {json.dumps(sizes)}" for key, sizes in made.items())
            grid, block = made.get("grid"), made["block"]
            own = GeometryRow("*", None if grid is None else _three(grid), _three(block))
            yield Geometry(tuple(row.get("launches", ())), own, text)


def _filled(size: int | str, n: int) -> int | str:
    """``size`` with ``n`` in place of the letter N."""
    return n if size == "N" else size.replace("N", str(n)) if isinstance(size, str) else size


def _three(sizes: list[int | str]) -> tuple[str, str, str]:
    x, y, z = [*map(str, sizes), "1", "1"][:3]
    return x, y, z


GEOMETRIES = tuple(_table())


def in_other_geometries(family: str, case: Case, launch: Launch) -> Iterator[tuple[str, Launch]]:
    """``launch`` of a kernel of launch ``family`` in other geometries than Candle's, each once, with how
    candle-parity.toml has it; none where the geometry is the port's own already, or one that the case asks for, or the
    launch is a large one."""
    asked = any(name in ("grid", "block") for name, _ in case.fields)
    if asked or launch.own_geometry or launch.types or _bytes(launch) > _MOST_BYTES:
        return
    seen = {(launch.grid, launch.block)}
    for text, other in (*_other_waves(launch), *_rows(family, case, launch)):
        if (other.grid, other.block) not in seen:
            seen.add((other.grid, other.block))
            yield text, other


def _other_waves(launch: Launch) -> Iterator[tuple[str, Launch]]:
    for block, other in with_other_blocks(launch):
        yield f"block = {block}", other


def _rows(family: str, case: Case, launch: Launch) -> Iterator[tuple[str, Launch]]:
    for geometry in GEOMETRIES:
        if geometry.launches and family not in geometry.launches:
            continue
        try:
            yield geometry.text, launched_as(geometry.row, case, launch, _WAVE)
        except ValueError:
            continue  # it cannot be launched so, or has no such argument


def _bytes(launch: Launch) -> int:
    return sum(arg.data.nbytes for arg in launch.args if isinstance(arg, Buffer))
