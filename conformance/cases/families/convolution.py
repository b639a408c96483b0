"""Convolutions, their transposes, and the patch matrices: im2col, im2col1d, col2im1d.

A case's ``shape`` is that of the source, (b, c, l) or (b, c, h, w), and ``k`` the kernel's (l) or (h, w). ``layout``
is that of the source and ``kernel`` that of the kernel tensor: (c_out, c_in, k), or (c_in, c_out, k) for a transpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, launch, operand, poisoned, size_t
from conformance.cases.case import Case
from conformance.cases.families.images import content, image_launch, sizes, tensor
from conformance.cases.launch import Argument, Launch
from conformance.cases.layouts import layout
from conformance.cases.rows import LARGE_TYPES, filled, parsed, rows_beside
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_GEOMETRY_FIELDS = ("shape", "k", "stride", "padding", "dilation", "layout", "values")

_STARTS = ("src_start", "dst_start")

_CONV_FIELDS = (*_GEOMETRY_FIELDS, "cout", "out_padding", "kernel", "kernel_start", *_STARTS, "grid", "block")

_PATCH_FIELDS = (*_GEOMETRY_FIELDS, *_STARTS, "grid", "block")

_COL2IM_FIELDS = ("shape", "k", "stride", "values", *_STARTS, "grid", "block")

# A tap outside the source takes no part: an infinite weight there must not show.
_CONV_POLES: dict[str, tuple[str, ...]] = {
    "1d": (
        "shape=[3,2,40],cout=4,k=[3],padding=2,values=poles",  # C03, N12
        "shape=[2,3,30],cout=4,k=[3],padding=1,values=subnormal",  # N13
        "shape=[2,40,5],cout=4,k=[3],padding=1,values=tiny",  # N14, F01
        "shape=[2,20,150],cout=40,k=[3],padding=2,layout=transposed,values=poles,grid=512",  # S10, C03, N12
    ),
    "2d": (
        "shape=[3,1,8,9],cout=4,k=[2,3],padding=2,values=poles",  # C03, N12
        "shape=[2,2,6,7],cout=4,k=[2,3],padding=1,values=subnormal",  # N13
        "shape=[2,12,3,5],cout=4,k=[3,2],padding=1,values=tiny",  # N14, F01
        "shape=[2,17,12,14],cout=40,k=[2,3],padding=2,layout=permuted,values=poles,grid=512",  # S10, C03, N12
    ),
}

# Positions of more than 32 bits, of one output.
_FAR_APART: dict[str, tuple[str, ...]] = {
    "conv1d": ("shape=[2,5,9],cout=4,k=[3],padding=1,stride=65536,values={v}",),  # S12
    "conv2d": ("shape=[2,5,5,6],cout=4,k=[3,2],padding=1,stride=65536,values={v}",),  # S12
    # Of the taps the middle one reaches the source.
    "conv_transpose1d": ("shape=[2,5,4],cout=4,k=[3],padding=1073741824,dilation=1073741824,values={v}",),  # S12
    "conv_transpose2d": ("shape=[2,5,3,2],cout=4,k=[3,3],padding=1073741824,dilation=1073741824,values={v}",),  # S12
}

# Outputs that no element of the source reaches.
_FAR_PADDING: dict[str, str] = {
    "conv1d": "shape=[2,2,4],cout=3,k=[3],padding=5,values={v}",  # C03
    "conv2d": "shape=[2,2,2,3],cout=3,k=[3,2],padding=4,values={v}",  # C03
}

_ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # family: rows of every type, and of floats
    "conv1d": ((*ROWS["conv1d"], *_FAR_APART["conv1d"], _FAR_PADDING["conv1d"]), _CONV_POLES["1d"]),
    "conv2d": ((*ROWS["conv2d"], *_FAR_APART["conv2d"], _FAR_PADDING["conv2d"]), _CONV_POLES["2d"]),
    "conv_transpose1d": ((*ROWS["conv1d"], *ROWS["transpose1d"], *_FAR_APART["conv_transpose1d"]), _CONV_POLES["1d"]),
    "conv_transpose2d": ((*ROWS["conv2d"], *ROWS["transpose2d"], *_FAR_APART["conv_transpose2d"]), _CONV_POLES["2d"]),
    "im2col1d": (ROWS["im2col1d"], ()),
    "im2col": (ROWS["im2col"], ()),
    "col2im1d": (ROWS["col2im1d"], ROWS["col2im1d_float"]),
}

# Of each family, the rows of one byte's and of four bytes' types with further layouts.
_LAYOUTS: dict[str, tuple[str, ...]] = {
    "conv1d": ROWS["conv1d_layouts"],
    "conv2d": ROWS["conv2d_layouts"],
    "conv_transpose1d": ROWS["conv1d_layouts"],
    "conv_transpose2d": ROWS["conv2d_layouts"],
    "im2col1d": ROWS["im2col1d_layouts"],
    "im2col": ROWS["im2col_layouts"],
}

_COPIES = ("im2col1d", "im2col")
_LARGE = {("conv2d", "f16"): ("shape=[1,16,128,128],cout=32,k=[1,1],values=unit",)}
"""By family and type, what takes a port's way for grids that fill a GPU, as Candle launches it."""


@lru_cache
def _rows(family: str, name: str) -> tuple[Row, ...]:
    every, of_float = _ROWS[family]
    layouts = _LAYOUTS.get(family, ()) if name in LARGE_TYPES else ()
    chosen = (*every, *layouts, *(of_float if dtype(name).kind == "float" else ()), *_LARGE.get((family, name), ()))
    return parsed(filled(chosen, name, "wide" if family in _COPIES or dtype(name).kind != "float" else "unit"))


def _out_size(fields: Fields, size: int, taps: int, transposed: bool) -> int:
    """Candle's size of the output along one axis; raises ``ValueError`` where it is none."""
    stride, padding, dilation = (fields.number(*row) for row in (("stride", 1, 1), ("padding", 0), ("dilation", 1, 1)))
    reach = dilation * (taps - 1) + 1
    if transposed:
        out = (size - 1) * stride + reach + fields.number("out_padding", 0) - 2 * padding
    else:
        out = (size + 2 * padding - reach) // stride + 1
    if out < 1:
        raise ValueError(f"case {fields.case.id}: {taps} taps with this padding and dilation leave no output")
    return out


def _steps(fields: Fields) -> dict[str, int]:
    return {name: fields.number(name, default) for name, default in {"stride": 1, "padding": 0, "dilation": 1}.items()}


def _size_arguments(named: Mapping[str, int]) -> dict[str, Argument]:
    return {name: size_t(name, value) for name, value in named.items()}


def _conv(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, _CONV_FIELDS)
    flat, transposed = kernel.launch.endswith("1d"), "transpose" in kernel.launch
    source = fields.shape(rank=3 if flat else 4)
    taps = sizes(fields, "k", 1 if flat else 2)
    c_out = fields.number("cout", 1, 1)
    src = tensor(fields, kernel, "src", source, stream)
    channels = (source[1], c_out) if transposed else (c_out, source[1])
    weights = tensor(fields, kernel, "kernel", (*channels, *taps), stream, field="kernel")
    out = [_out_size(fields, size, tap, transposed) for size, tap in zip(source[2:], taps, strict=True)]
    numel = source[0] * c_out * int(np.prod(out))
    named = {"src_numel": int(np.prod(source)), **_steps(fields)}
    if transposed:
        named["out_padding"] = fields.number("out_padding", 0)
    if flat:
        named["l_out" if transposed else "num_dims"] = out[0]
    else:
        named |= {"h_out": out[0], "w_out": out[1]}
    return image_launch(kernel, fields, numel, [src, weights], _size_arguments(named))


def _patches(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """im2col1d has a thread, and counts an element, per row of taps; im2col per element."""
    fields = Fields(case, _PATCH_FIELDS)
    flat = kernel.launch == "im2col1d"
    source = fields.shape(rank=3 if flat else 4)
    taps = sizes(fields, "k", 1 if flat else 2)
    out = [_out_size(fields, size, tap, transposed=False) for size, tap in zip(source[2:], taps, strict=True)]
    src = tensor(fields, kernel, "src", source, stream)
    count = source[0] * source[1] * int(np.prod(out))
    numel = count * int(np.prod(taps))
    threads = count if flat else numel
    named = {"dst_numel": threads, **_steps(fields)}
    named |= dict(zip(("l_out",) if flat else ("h_out", "w_out"), out, strict=True))
    named |= dict(zip(("l_k",) if flat else ("h_k", "w_k"), taps, strict=True))
    return image_launch(kernel, fields, numel, [src], _size_arguments(named), threads)


def _col2im1d(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, _COL2IM_FIELDS)
    batch, length, channels = fields.shape(rank=3)
    (taps,) = sizes(fields, "k", 1)
    stride = fields.number("stride", 1, 1)
    out = (length - 1) * stride + taps
    numel = batch * channels * out
    placed = layout("contiguous", (batch, length, channels, taps), fields.number("src_start", 0))
    data = content(fields, dtype(kernel.param("src").dtype), placed.length, stream)
    named = {"dst_el": numel, "l_out": out, "l_in": length, "c_out": channels, "k_size": taps, "stride": stride}
    given: dict[str, Argument] = {
        **_size_arguments(named),
        "src": operand(kernel, "src", placed, data),
        "dst": poisoned(fields, kernel, "dst", numel, fields.number("dst_start", 0)),
    }
    return launch(kernel, fields, numel, given, strides=False)


def _rows_of(kernel: Kernel) -> tuple[Row, ...]:
    return _rows(kernel.launch, kernel.param("src").dtype)


FAMILIES: dict[str, Family] = {
    "conv1d": Family(_rows_of, _conv),
    "conv2d": Family(_rows_of, _conv),
    "conv_transpose1d": Family(_rows_of, _conv),
    "conv_transpose2d": Family(_rows_of, _conv),
    "im2col": Family(_rows_of, _patches),
    "im2col1d": Family(_rows_of, _patches),
    "col2im1d": Family(_rows_of, _col2im1d),
}
