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
from conformance.cases.rows import filled, parsed
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

_GEOMETRY_FIELDS = ("shape", "k", "stride", "padding", "dilation", "layout", "values")

_STARTS = ("src_start", "dst_start")

_CONV_FIELDS = (*_GEOMETRY_FIELDS, "cout", "out_padding", "kernel", "kernel_start", *_STARTS, "grid", "block")

_PATCH_FIELDS = (*_GEOMETRY_FIELDS, *_STARTS, "grid", "block")

_COL2IM_FIELDS = ("shape", "k", "stride", "values", *_STARTS, "grid", "block")

# {v}: a distribution that shows a misread element. In every row all sizes differ. C01: batches of more than one.
_CONV1D: tuple[str, ...] = (
    "shape=[2,3,9],cout=4,k=[3],values={v}",  # C01, C12: the output's length is not the rank
    "shape=[2,3,9],cout=4,k=[4],stride=2,padding=1,values={v}",  # C03
    "shape=[2,3,11],cout=4,k=[3],padding=2,dilation=2,values={v}",  # C02, C03
    "shape=[3,2,17],cout=5,k=[4],stride=3,padding=2,dilation=3,values={v}",  # C02, C03
    "shape=[2,4,5],cout=3,k=[5],values={v}",  # one output a row
    "shape=[1,1,4],cout=2,k=[1],values={v}",
    "shape=[1,1,1025],cout=1,k=[1],values={v}",  # S10, S11: one output in the second block
    "shape=[1,1,66000],cout=1,k=[2],values={v}",  # S12
    "shape=[2,1,20],cout=3,k=[1],values=ties",  # N08: a sum starts from +0
    "shape=[2,3,40],cout=13,k=[3],padding=1,values={v},block=96",  # S10
    "shape=[2,3,10],cout=4,k=[3],padding=1,values={v},grid=3",  # S10: blocks with nothing to do
    "shape=[2,3,10],cout=5,k=[3],padding=1,values={v},block=64,grid=300",  # S10: as many as a large launch has
    "shape=[2,5,10],cout=5,k=[3],stride=2,padding=1,values={v},block=64,grid=300",  # S10, C03
    "shape=[3,6,10],cout=5,k=[3],padding=1,values={v},block=64,grid=300",  # S10, C03: six channels at the edges
    "shape=[2,60,7],cout=3,k=[3],padding=1,values=unit",  # R08, N14: sums of 180 products
    "shape=[2,60,7],cout=3,k=[3],padding=1,values=mid",  # R08, N14: the order of the sum
    "shape=[1,1100,4],cout=2,k=[3],values={v}",  # W11: more weights of an output than shared memory holds as a rule
    "shape=[1,1,140],cout=1,k=[130],padding=1,values={v}",  # W11: more taps than a wave or a table of 128 has
    "shape=[2,5,9],cout=4,k=[3],values=large",  # F05, N17
    "shape=[2,3,9],cout=4,k=[3],padding=1,stride=2,values=wide",  # N12, N17
    "shape=[2,3,13],cout=4,k=[3],layout=transposed,padding=1,values={v}",  # S01, L07
    "shape=[3,4,11],cout=2,k=[3],layout=narrowed_all,padding=1,stride=2,values={v}",  # S04, L08
    "shape=[3,4,11],cout=2,k=[3],layout=broadcast_first,padding=1,values={v}",  # S03, C01
    "shape=[2,3,13],cout=4,k=[3],kernel=transposed,padding=1,values={v}",  # S01, S02
    "shape=[2,3,13],cout=4,k=[2],kernel=narrowed,values={v}",  # S02, L08, L09
    "shape=[2,3,12],cout=4,k=[3],layout=permuted,kernel=reversed,dilation=2,padding=3,values={v}",  # S02, C02
    "shape=[2,3,9],cout=4,k=[3],values={v},src_start=1",  # L08, L09
    "shape=[2,3,9],cout=4,k=[3],values={v},kernel_start=3",  # L08, L09
    "shape=[2,3,9],cout=4,k=[3],values={v},dst_start=5",  # L08, L09
)

_CONV2D: tuple[str, ...] = (
    "shape=[2,3,6,7],cout=4,k=[3,3],values={v}",  # C01, C04, C12
    "shape=[2,3,8,5],cout=4,k=[2,3],stride=2,padding=1,values={v}",  # C03, C04
    "shape=[2,3,7,9],cout=2,k=[3,2],padding=2,dilation=2,values={v}",  # C02, C03, C04
    "shape=[3,2,11,8],cout=3,k=[4,3],stride=3,padding=2,dilation=3,values={v}",  # C02, C03
    "shape=[2,3,4,6],cout=5,k=[4,6],values={v}",  # one output a channel
    "shape=[1,1,1,1],cout=1,k=[1,1],values={v}",
    "shape=[1,1,25,41],cout=1,k=[1,1],values={v}",  # S10, S11: one output in the second block
    "shape=[1,1,300,300],cout=1,k=[1,1],values={v}",  # S12
    "shape=[2,1,4,5],cout=3,k=[1,1],values=ties",  # N08: a sum starts from +0
    "shape=[2,2,9,11],cout=7,k=[2,2],values={v},block=96",  # S10
    "shape=[2,3,5,6],cout=2,k=[3,2],padding=1,values={v},grid=3",  # S10
    "shape=[2,3,5,6],cout=5,k=[3,2],padding=1,values={v},block=64,grid=300",  # S10: as many as a large launch has
    "shape=[2,5,5,6],cout=5,k=[3,2],stride=2,padding=1,values={v},block=64,grid=300",  # S10, C03
    "shape=[3,6,5,6],cout=5,k=[3,2],padding=1,values={v},block=64,grid=300",  # S10, C03: six channels at the edges
    "shape=[2,20,5,4],cout=3,k=[3,2],padding=1,values=unit",  # R08, N14: sums of 120 products
    "shape=[2,20,5,4],cout=3,k=[3,2],padding=1,values=mid",  # R08, N14: the order of the sum
    "shape=[1,1100,2,3],cout=2,k=[2,2],values={v}",  # W11: more weights of an output than shared memory holds as a rule
    "shape=[1,1,19,18],cout=1,k=[19,17],values={v}",  # W11: more taps than a table of 256 has
    "shape=[2,3,5,6],cout=2,k=[3,2],values=large",  # F05, N17
    "shape=[2,3,5,6],cout=2,k=[3,2],padding=1,stride=2,values=wide",  # N12, N17
    "shape=[2,3,7,6],cout=4,k=[2,3],layout=transposed,padding=1,values={v}",  # S01, C04
    "shape=[2,3,5,7],cout=4,k=[2,3],layout=permuted,padding=1,values={v}",  # S01: channels last
    "shape=[2,4,5,7],cout=3,k=[2,3],layout=narrowed_all,stride=2,values={v}",  # S04, L08
    "shape=[2,4,5,7],cout=3,k=[2,3],layout=broadcast_middle,values={v}",  # S03
    "shape=[2,3,5,6],cout=4,k=[2,3],kernel=transposed,padding=1,values={v}",  # S01, S02, C04
    "shape=[2,3,5,6],cout=4,k=[3,2],kernel=outer_swapped,values={v}",  # S02, C06
    "shape=[2,3,5,6],cout=4,k=[2,3],layout=reversed,kernel=narrowed_transposed,values={v}",  # S02, L09
    "shape=[2,3,5,6],cout=4,k=[2,3],values={v},src_start=1",  # L08, L09
    "shape=[2,3,5,6],cout=4,k=[2,3],values={v},kernel_start=3",  # L08, L09
    "shape=[2,3,5,6],cout=4,k=[2,3],values={v},dst_start=5",  # L08, L09
)

# A tap outside the source takes no part: an infinite weight there must not show.
_CONV_POLES: dict[str, tuple[str, ...]] = {
    "1d": (
        "shape=[3,2,40],cout=4,k=[3],padding=2,values=poles",  # C03, N12
        "shape=[2,3,30],cout=4,k=[3],padding=1,values=subnormal",  # N13
        "shape=[2,40,5],cout=4,k=[3],padding=1,values=tiny",  # N14, F01
    ),
    "2d": (
        "shape=[3,1,8,9],cout=4,k=[2,3],padding=2,values=poles",  # C03, N12
        "shape=[2,2,6,7],cout=4,k=[2,3],padding=1,values=subnormal",  # N13
        "shape=[2,12,3,5],cout=4,k=[3,2],padding=1,values=tiny",  # N14, F01
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

_TRANSPOSE1D: tuple[str, ...] = (
    "shape=[2,3,9],cout=4,k=[3],stride=3,padding=1,out_padding=2,values={v}",  # C06
    "shape=[2,5,7],cout=2,k=[3],stride=2,dilation=3,out_padding=1,values={v}",  # C02, C06
    "shape=[2,3,6],cout=4,k=[2],stride=4,values={v}",  # C06: gaps that no element reaches
)

_TRANSPOSE2D: tuple[str, ...] = (
    "shape=[2,3,4,5],cout=4,k=[3,2],stride=3,padding=1,out_padding=2,values={v}",  # C06
    "shape=[2,5,3,4],cout=2,k=[2,3],stride=2,dilation=3,out_padding=1,values={v}",  # C02, C06
    "shape=[2,3,4,3],cout=4,k=[2,1],stride=3,values={v}",  # C06: gaps that no element reaches
)

_IM2COL1D: tuple[str, ...] = (
    "shape=[2,3,9],k=[3],values={v}",  # C01
    "shape=[2,3,9],k=[4],stride=2,padding=1,values={v}",  # C03
    "shape=[2,3,11],k=[3],padding=2,dilation=2,values={v}",  # C02, C03
    "shape=[3,2,17],k=[4],stride=3,padding=2,dilation=3,values={v}",  # C02, C03
    "shape=[2,2,4],k=[3],padding=5,values={v}",  # C03
    "shape=[2,4,5],k=[5],values={v}",
    "shape=[1,1,1],k=[1],values={v}",
    "shape=[1,1,1027],k=[3],values={v}",  # S10, S11: one thread in the second block
    "shape=[1,1,66000],k=[2],values={v}",  # S12
    "shape=[2,7,30],k=[2],values={v},block=96",  # S10
    "shape=[2,3,10],k=[3],padding=1,values={v},grid=3",  # S10
    "shape=[2,3,13],k=[3],layout=transposed,padding=1,values={v}",  # S01, L07
    "shape=[3,4,11],k=[3],layout=narrowed_all,padding=1,stride=2,values={v}",  # S04, L08
    "shape=[3,4,11],k=[3],layout=broadcast_first,padding=1,values={v}",  # S03, C01
    "shape=[2,5,12],k=[3],layout=permuted,dilation=2,padding=3,values={v}",  # S01, C02
    "shape=[2,3,9],k=[3],padding=1,values={v},src_start=1",  # L08, L09
    "shape=[2,3,9],k=[3],padding=1,values={v},dst_start=5",  # L08, L09
    "shape=[1,1,{special}],k=[2],padding=1,values=special",
)

_IM2COL: tuple[str, ...] = (
    "shape=[2,3,6,7],k=[3,3],values={v}",  # C01, C04
    "shape=[2,3,8,5],k=[2,3],stride=2,padding=1,values={v}",  # C03, C04
    "shape=[2,3,7,9],k=[3,2],padding=2,dilation=2,values={v}",  # C02, C03, C04
    "shape=[3,2,11,8],k=[4,3],stride=3,padding=2,dilation=3,values={v}",  # C02, C03
    "shape=[2,2,2,3],k=[3,2],padding=4,values={v}",  # C03
    "shape=[2,3,4,6],k=[4,6],values={v}",
    "shape=[1,1,1,1],k=[1,1],values={v}",
    "shape=[1,1,25,41],k=[1,1],values={v}",  # S10, S11: one thread in the second block
    "shape=[1,1,300,300],k=[1,1],values={v}",  # S12
    "shape=[2,2,9,11],k=[2,2],values={v},block=96",  # S10
    "shape=[2,3,5,6],k=[3,2],padding=1,values={v},grid=3",  # S10
    "shape=[2,3,7,6],k=[2,3],layout=transposed,padding=1,values={v}",  # S01, C04
    "shape=[2,3,5,7],k=[2,3],layout=permuted,padding=1,values={v}",  # S01
    "shape=[2,4,5,7],k=[2,3],layout=narrowed_all,stride=2,values={v}",  # S04, L08
    "shape=[2,4,5,7],k=[2,3],layout=broadcast_first,values={v}",  # S03, C01
    "shape=[2,3,5,6],k=[2,3],padding=1,values={v},src_start=1",  # L08, L09
    "shape=[2,3,5,6],k=[2,3],padding=1,values={v},dst_start=5",  # L08, L09
    "shape=[1,1,3,{special}],k=[2,1],padding=1,values=special",
)

# The source is (b, l, c_out, k).
_COL2IM1D: tuple[str, ...] = (
    "shape=[2,6,3],k=[3],values={v}",  # C01, C06
    "shape=[2,6,3],k=[3],stride=2,values={v}",  # C06
    "shape=[3,5,2],k=[2],stride=4,values={v}",  # C06: gaps that no element reaches
    "shape=[2,4,5],k=[7],stride=2,values={v}",  # more taps than source positions
    "shape=[2,7,3],k=[4],stride=4,values={v}",
    "shape=[1,1,1],k=[1],values={v}",
    "shape=[1,1,1],k=[5],stride=3,values={v}",
    "shape=[1,1025,1],k=[1],values={v}",  # S10, S11: one output in the second block
    "shape=[1,33000,1],k=[2],stride=2,values={v}",  # S12
    "shape=[2,20,35],k=[3],stride=2,values={v}",  # C06: channels enough for tiles of 32 x 32, and tiles cut off
    "shape=[2,30,5],k=[4],stride=3,values={v},block=96",  # S10
    "shape=[2,6,3],k=[3],values={v},grid=3",  # S10
    "shape=[2,40,2],k=[37],values=unit",  # R08: sums of 37 in the type
    "shape=[2,40,2],k=[37],values=mid",  # R08: the order of the sum
    "shape=[2,9,3],k=[5],stride=2,values=wide",  # N12, N17
    "shape=[2,9,3],k=[5],stride=2,values=large",  # F05, N17
    "shape=[2,6,3],k=[3],stride=2,values={v},src_start=1",  # L08, L09
    "shape=[2,6,3],k=[3],stride=2,values={v},dst_start=5",  # L08, L09
)

_COL2IM1D_FLOAT: tuple[str, ...] = (
    "shape=[2,40,2],k=[37],values=ties",  # R08: exact in every order
    "shape=[2,9,3],k=[4],stride=2,values=poles",  # N08: sums start from +0
    "shape=[2,9,3],k=[4],stride=2,values=subnormal",  # N13
)

_ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # family: rows of every type, and of floats
    "conv1d": ((*_CONV1D, *_FAR_APART["conv1d"], _FAR_PADDING["conv1d"]), _CONV_POLES["1d"]),
    "conv2d": ((*_CONV2D, *_FAR_APART["conv2d"], _FAR_PADDING["conv2d"]), _CONV_POLES["2d"]),
    "conv_transpose1d": ((*_CONV1D, *_TRANSPOSE1D, *_FAR_APART["conv_transpose1d"]), _CONV_POLES["1d"]),
    "conv_transpose2d": ((*_CONV2D, *_TRANSPOSE2D, *_FAR_APART["conv_transpose2d"]), _CONV_POLES["2d"]),
    "im2col1d": (_IM2COL1D, ()),
    "im2col": (_IM2COL, ()),
    "col2im1d": (_COL2IM1D, _COL2IM1D_FLOAT),
}

_COPIES = ("im2col1d", "im2col")


@lru_cache
def _rows(family: str, name: str) -> tuple[Row, ...]:
    every, of_float = _ROWS[family]
    chosen = (*every, *(of_float if dtype(name).kind == "float" else ()))
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
