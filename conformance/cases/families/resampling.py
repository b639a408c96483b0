"""Pooling and upsampling: avg_pool2d, max_pool2d, upsample_nearest2d and upsample_bilinear2d.

A case's ``shape`` is that of the source in dimension order. Candle calls dimensions 2 and 3 "w" and "h" in pooling and
in nearest upsampling, "h" and "w" in bilinear; ``k``, ``stride`` and ``out`` are in dimension order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, size_t
from conformance.cases.case import Case
from conformance.cases.families.images import Tensor, image_launch, sizes, tensor
from conformance.cases.launch import Argument, Launch, Scalar
from conformance.cases.rows import filled, parsed
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

_COMMON = ("shape", "layout", "values", "src_start", "dst_start", "grid", "block")

_POOL_FIELDS = (*_COMMON, "k", "stride")

_NEAREST_FIELDS = (*_COMMON, "out")

_BILINEAR_FIELDS = (*_COMMON, "out", "align", "scale_h", "scale_w")

_POOL: tuple[str, ...] = (
    "shape=[2,3,8,9],k=[2,2],stride=[2,2],values={v}",  # C07: a row is left over
    "shape=[2,3,8,9],k=[3,3],stride=[1,1],values={v}",  # windows that overlap
    "shape=[2,3,8,9],k=[2,3],stride=[1,2],values={v}",  # C04
    "shape=[2,3,9,7],k=[3,2],stride=[2,3],values={v}",  # C04, C07: both axes have rest
    "shape=[3,2,11,5],k=[2,2],stride=[3,3],values={v}",  # C07: elements that no window has
    "shape=[2,3,4,5],k=[4,5],stride=[1,1],values={v}",  # one window a channel
    "shape=[2,3,4,5],k=[1,1],stride=[1,1],values={v}",
    "shape=[2,3,5,4],k=[1,1],stride=[2,3],values={v}",
    "shape=[1,1,20,21],k=[17,19],stride=[1,1],values={v}",  # R08: windows of 323
    "shape=[1,1,1,1],k=[1,1],stride=[1,1],values={v}",
    "shape=[1,1,25,41],k=[1,1],stride=[1,1],values={v}",  # S10, S11: one output in the second block
    "shape=[1,1,300,300],k=[2,2],stride=[1,1],values={v}",  # S12
    "shape=[2,7,9,11],k=[2,2],stride=[1,1],values={v},block=96",  # S10
    "shape=[2,3,5,6],k=[2,3],stride=[1,1],values={v},grid=3",  # S10
    "shape=[2,3,7,6],k=[2,3],stride=[2,1],layout=transposed,values={v}",  # S01, C04
    "shape=[2,3,5,7],k=[2,3],stride=[1,2],layout=permuted,values={v}",  # S01: channels last
    "shape=[2,4,5,7],k=[3,2],stride=[1,1],layout=narrowed_all,values={v}",  # S04, L08, L09
    "shape=[2,4,5,7],k=[3,2],stride=[1,1],layout=broadcast_first,values={v}",  # S03, C01
    "shape=[2,3,5,6],k=[2,2],stride=[1,1],values={v},src_start=1",  # L08, L09
    "shape=[2,3,5,6],k=[2,2],stride=[1,1],values={v},dst_start=5",  # L08, L09
    "shape=[2,3,8,9],k=[2,3],stride=[2,2],values=negative",  # C08; u8 and u32 wrap
    "shape=[2,3,8,9],k=[3,2],stride=[1,1],values=mid",  # R08, R10: the order of the sum
    "shape=[2,3,8,9],k=[3,3],stride=[2,2],values=large",  # C07, F05, N17
    "shape=[2,3,8,9],k=[2,2],stride=[2,2],values=ties",  # N08
    "shape=[1,1,2,{special}],k=[2,1],stride=[1,1],values=special",
)

_POOL_FLOAT: tuple[str, ...] = (
    "shape=[3,4,11,12],k=[2,2],stride=[1,1],values=poles",  # C08, N01, R01: NaN first, last, alone
    "shape=[2,3,8,9],k=[1,2],stride=[1,2],values=subnormal",  # N13
    "shape=[2,3,8,9],k=[3,2],stride=[2,2],values=tiny",  # R08, F01
)

_GEOMETRY: tuple[str, ...] = (
    "shape=[1,1,5,7],out=[25,41],values={v}",  # S10, S11: one output in the second block
    "shape=[1,1,257,5],out=[257,257],values={v}",  # S12
    "shape=[2,5,7,6],out=[9,11],values={v},block=96",  # S10
    "shape=[2,3,5,6],out=[6,7],values={v},grid=3",  # S10
    "shape=[2,3,7,6],out=[9,11],layout=transposed,values={v}",  # S01, C04
    "shape=[2,3,5,7],out=[9,8],layout=permuted,values={v}",  # S01
    "shape=[2,4,5,7],out=[8,9],layout=narrowed_all,values={v}",  # S04, L08, L09
    "shape=[2,4,5,7],out=[8,9],layout=broadcast_first,values={v}",  # S03, C01
    "shape=[2,3,5,6],out=[7,8],values={v},src_start=1",  # L08, L09
    "shape=[2,3,5,6],out=[7,8],values={v},dst_start=5",  # L08, L09
)

# Outputs of sizes where an f32 or an integer division chooses another pixel than f64: 45 to 33, 33 to 121, 30 to 22.
_NEAREST: tuple[str, ...] = (
    "shape=[2,3,5,4],out=[10,8],values={v}",
    "shape=[2,3,5,4],out=[7,11],values={v}",  # C04
    "shape=[2,3,7,9],out=[3,4],values={v}",  # smaller
    "shape=[2,3,4,7],out=[4,7],values={v}",  # the same size
    "shape=[3,2,5,3],out=[1,1],values={v}",
    "shape=[2,3,1,1],out=[3,5],values={v}",
    "shape=[1,2,45,3],out=[33,4],values={v}",  # C10
    "shape=[1,1,3,33],out=[2,121],values={v}",  # C10
    "shape=[2,1,30,45],out=[22,39],values={v}",  # C10
    "shape=[1,2,39,2],out=[69,3],values={v}",  # C10
    *_GEOMETRY,
    "shape=[1,1,2,{special}],out=[3,{special}],values=special",
)

# Positions of 3 to 7 and 2 to 42 rows fall on either side of a pixel in f32 or unfused arithmetic.
_BILINEAR: tuple[str, ...] = (
    "shape=[2,3,5,4],out=[10,8],values={v}",
    "shape=[2,3,5,4],out=[11,7],values={v}",  # C04
    "shape=[2,3,5,4],out=[11,7],align=1,values={v}",  # C10
    "shape=[2,3,9,7],out=[4,3],values={v}",  # C10: smaller
    "shape=[2,3,9,7],out=[4,3],align=1,values={v}",  # C10
    "shape=[2,3,4,7],out=[4,7],values={v}",  # C10: the same size
    "shape=[2,3,4,7],out=[4,7],align=1,values={v}",
    "shape=[2,3,5,3],out=[1,1],values={v}",
    "shape=[2,3,5,3],out=[1,1],align=1,values={v}",  # C10: one output row has scale 0
    "shape=[2,3,1,1],out=[3,5],values={v}",
    "shape=[2,3,1,1],out=[3,5],align=1,values={v}",
    "shape=[1,2,3,2],out=[7,42],values={v}",  # C10: positions in f64, fused
    "shape=[1,2,3,2],out=[42,50],align=1,values={v}",  # C10: positions in f64
    "shape=[2,3,5,4],out=[11,9],scale_h=2.3,scale_w=2.3,values={v}",  # C10: the factor, not the sizes
    "shape=[2,3,5,4],out=[11,9],scale_h=2.3,values={v}",  # C10: one axis has a factor
    "shape=[2,3,5,4],out=[11,9],scale_w=2.3,values={v}",  # C10, L02
    "shape=[2,3,9,8],out=[4,3],scale_h=0.5,scale_w=0.45,values={v}",  # C10
    "shape=[2,3,5,4],out=[11,9],align=1,scale_h=2.3,scale_w=2.3,values={v}",  # C10: aligned corners ignore factors
    *_GEOMETRY,
    "shape=[2,3,5,6],out=[7,13],values=wide",  # N15, F01
    "shape=[2,3,5,6],out=[7,13],values=large",  # N15
    "shape=[2,3,5,6],out=[7,13],values=ties",  # N08
)

_BILINEAR_FLOAT: tuple[str, ...] = (
    "shape=[2,2,6,7],out=[6,7],values=poles",  # C10, N12: all weights 0, and 0 * inf is NaN
    "shape=[2,2,6,7],out=[11,13],align=1,values=poles",  # C10, N12
    "shape=[2,3,5,6],out=[7,13],values=mid",  # F01, F05
    "shape=[2,3,5,6],out=[7,13],values=subnormal",  # N13
)

_ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # family: rows of every type, and of floats
    "avg_pool2d": (_POOL, _POOL_FLOAT),
    "max_pool2d": (_POOL, _POOL_FLOAT),
    "upsample_nearest2d": (_NEAREST, ()),
    "upsample_bilinear2d": (_BILINEAR, _BILINEAR_FLOAT),
}


@lru_cache
def _rows(family: str, name: str) -> tuple[Row, ...]:
    every, of_float = _ROWS[family]
    is_float = dtype(name).kind == "float"
    chosen = (*every, *(of_float if is_float else ()))
    return parsed(filled(chosen, name, "unit" if is_float and family != "upsample_nearest2d" else "wide"))


def _pool(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, _POOL_FIELDS)
    shape = fields.shape(rank=4)
    window = sizes(fields, "k", 2)
    steps = sizes(fields, "stride", 2, default=window)
    if any(k > size for k, size in zip(window, shape[2:], strict=True)):
        raise ValueError(f"case {case.id}: a window of {list(window)} does not fit into {list(shape[2:])}")
    out = [(size - k) // step + 1 for size, k, step in zip(shape[2:], window, steps, strict=True)]
    src = tensor(fields, kernel, "src", shape, stream)
    numel = shape[0] * shape[1] * int(np.prod(out))
    named = {"src_numel": src.placed.numel, "w_k": window[0], "h_k": window[1]}
    named |= {"w_stride": steps[0], "h_stride": steps[1]}
    return image_launch(kernel, fields, numel, [src], {name: size_t(name, value) for name, value in named.items()})


def _resized(
    kernel: Kernel, fields: Fields, stream: RandomStream
) -> tuple[tuple[int, ...], tuple[int, ...], Tensor, int]:
    """The source's shape, the output's size per axis, the source, and the number of elements of the output."""
    shape, out = fields.shape(rank=4), sizes(fields, "out", 2)
    return shape, out, tensor(fields, kernel, "src", shape, stream), shape[0] * shape[1] * out[0] * out[1]


def _nearest(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The scales are the host's: source size by output size in f64."""
    fields = Fields(case, _NEAREST_FIELDS)
    shape, out, src, numel = _resized(kernel, fields, stream)
    named: dict[str, Argument] = {
        "w_out": size_t("w_out", out[0]),
        "h_out": size_t("h_out", out[1]),
        "w_scale": Scalar("w_scale", "f64", np.float64(shape[2]) / np.float64(out[0])),
        "h_scale": Scalar("h_scale", "f64", np.float64(shape[3]) / np.float64(out[1])),
    }
    return image_launch(kernel, fields, numel, [src], named)


def _bilinear(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """A scale factor that the case does not give is absent, which Candle passes as 0."""
    fields = Fields(case, _BILINEAR_FIELDS)
    _, out, src, numel = _resized(kernel, fields, stream)
    flags = {"align_corners": fields.number("align", 0, 0, 1)}
    flags |= {f"has_{name}": int(fields.has(name)) for name in ("scale_h", "scale_w")}
    named: dict[str, Argument] = {
        "h_out": size_t("h_out", out[0]),
        "w_out": size_t("w_out", out[1]),
        **{name: Scalar(name, "bool", np.uint8(value)) for name, value in flags.items()},
        **{f"{name}_factor": fields.scalar(kernel, f"{name}_factor", name, "0") for name in ("scale_h", "scale_w")},
    }
    return image_launch(kernel, fields, numel, [src], named)


def _rows_of(kernel: Kernel) -> tuple[Row, ...]:
    return _rows(kernel.launch, kernel.param("src").dtype)


FAMILIES: dict[str, Family] = {
    "avg_pool2d": Family(_rows_of, _pool),
    "max_pool2d": Family(_rows_of, _pool),
    "upsample_nearest2d": Family(_rows_of, _nearest),
    "upsample_bilinear2d": Family(_rows_of, _bilinear),
}
