"""fill, copy2d and const_set: moves of bits into a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.strided import bits, layout, view, write

Array = NDArray[Any]


def fill(variant: Mapping[str, str], library_ulp: int, *, buf: Array, value: Any, numel: int) -> dict[str, Expected]:
    """The first ``numel`` elements of ``buf`` become ``value``."""
    content = buf.copy()
    write(content, numel, [int(numel)], [1], value)
    return {"buf": Expected(content)}


def copy2d(
    variant: Mapping[str, str], library_ulp: int, *, src: Array, dst: Array, d1: int, d2: int, src_s: int, dst_s: int
) -> dict[str, Expected]:
    """``d1`` rows of ``d2`` elements; ``src_s`` and ``dst_s`` are row strides. What lies between rows stays."""
    rows, columns, from_stride, to_stride = (int(number) for number in (d1, d2, src_s, dst_s))
    content = dst.copy()
    if rows and columns:
        source = view(bits(src), [rows, columns], [from_stride, 1])
        view(bits(content), [rows, columns], [to_stride, 1])[...] = source
    return {"dst": Expected(content)}


def const_set(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array | None,
    inp: Any,
    out: Array,
) -> dict[str, Expected]:
    """The addressed elements of ``out`` become the scalar ``inp``; null ``info``: the first ``numel``."""
    shape = layout(info, num_dims)
    dims, strides = ([int(numel)], [1]) if shape is None else (shape[0], shape[1][0])
    content = out.copy()
    write(content, numel, dims, strides, np.asarray(inp, dtype=out.dtype))
    return {"out": Expected(content)}
