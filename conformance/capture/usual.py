"""Whether a launch has a block and a grid that Candle's Rust launches the kernel with: rows of ``usual.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from conformance.capture.extents import Three, names_of
from conformance.cases.geometry import Value, parse
from conformance.reading import own_yaml
from conformance.spec.kernel import Kernel


@cache
def _table() -> Mapping[str, Mapping[str, Value]]:
    rows: dict[str, dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    return {family: {name: parse(str(text)) for name, text in row.items()} for family, row in rows.items()}


def unusual(kernel: Kernel, grid: Three, block: Three, integers: Mapping[str, int]) -> str | None:
    """What Candle's Rust would launch ``kernel`` with in place of ``grid`` and ``block``, as
    ``block 64,1,1, Candle's is 1,32,1``; ``None`` where it is the same, or not known.

    ``integers`` are the kernel's integer arguments.
    """
    row = _table().get(kernel.launch)
    if row is None:
        return None
    names = names_of(kernel, grid, block, integers, None)
    try:
        known = {name: value(names) for name, value in row.items()}
    except ValueError:  # a number that no launch has: the reference says what is wrong with it
        return None
    usual_block = (known["block"], known.get("block_y", 1), 1)
    if block != usual_block:
        return f"block {_shown(block)}, Candle's is {_shown(usual_block)}"
    if "grid" in known and grid[0] != known["grid"]:
        return f"a grid of {grid[0]} blocks, Candle's has {known['grid']}"
    return None


def _shown(sizes: Three) -> str:
    return ",".join(map(str, sizes))
