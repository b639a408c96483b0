"""How many elements of an allocation belong to an argument of a launch: rows of ``extents.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.geometry import Value, parse
from conformance.reading import own_yaml
from conformance.spec.kernel import Kernel
from reference.quantized.blocks import FORMATS, named

_INFO = ("info", "dims_and_strides")
"""What the parameter with dimensions and strides is called."""

_COUNTS = ("numel", "src_numel")
"""What the parameter with the number of elements is called that all operands have without an info argument."""

Three = tuple[int, int, int]


@cache
def _table() -> Mapping[str, Mapping[str, Value]]:
    rows: dict[str, dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))
    return {family: {name: parse(str(text)) for name, text in row.items()} for family, row in rows.items()}


def extents(
    kernel: Kernel, grid: Three, block: Three, integers: Mapping[str, int], info: NDArray[np.uint64] | None
) -> dict[str, int]:
    """The number of elements of each buffer that a launch of ``kernel`` may touch, by parameter name; a buffer that is
    not among them has all that lies behind its address.

    ``integers`` are the kernel's integer arguments, ``info`` what its info argument points to, ``None`` for null.
    """
    names = names_of(kernel, grid, block, integers, info)
    found = {}
    for parameter, count in _table().get(kernel.launch, {}).items():
        try:
            found[parameter] = count(names)
        except ValueError:  # the kernel does not have a name of the row, or a number is beyond all memory
            continue
    return found


def info_parameter(kernel: Kernel) -> str | None:
    """The name of the parameter of ``kernel`` that points to dimensions and strides."""
    return next((parameter.name for parameter in kernel.params if parameter.name in _INFO), None)


def names_of(
    kernel: Kernel, grid: Three, block: Three, integers: Mapping[str, int], info: NDArray[np.uint64] | None
) -> dict[str, int]:
    """The values of the names that ``extents.yaml`` explains, as far as a launch of ``kernel`` has them."""
    names = {"grid": grid[0], "grid_y": grid[1], "block": block[0], "block_y": block[1]}
    names |= {} if "k" in integers else {"blocks": grid[0]}
    names["rows"] = integers.get("nrows", grid[0])
    if "ncols_y" in kernel.variant:
        names["columns"] = int(kernel.variant["ncols_y"])
    weights = FORMATS.get(named(kernel.variant.get("qtype", "")))
    if weights is not None:
        names |= {"block_bytes": weights.size, "block_weights": weights.length}
    return {**names, **_spans(integers, info), **integers}


def _spans(integers: Mapping[str, int], info: NDArray[np.uint64] | None) -> dict[str, int]:
    """``span_N`` for as many operands as ``info`` may describe."""
    if info is None:
        count = next((integers[name] for name in _COUNTS if name in integers), None)
        return {} if count is None else {f"span_{n}": count for n in range(3)}
    rank = integers.get("num_dims")
    if rank is None:
        return {}
    numbers = [int(number) for number in info[: 4 * rank]]
    dims = numbers[:rank]
    found = {}
    for n in range(len(numbers) // max(rank, 1) - 1):
        strides = numbers[rank * (n + 1) : rank * (n + 2)]
        reach = sum((size - 1) * stride for size, stride in zip(dims, strides, strict=True))
        found[f"span_{n}"] = 0 if 0 in dims else reach + 1
    return found
