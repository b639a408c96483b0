"""Pooling and upsampling: avg_pool2d, max_pool2d, upsample_nearest2d and upsample_bilinear2d.

A case's ``shape`` is that of the source in dimension order. Candle calls dimensions 2 and 3 "w" and "h" in pooling and
in nearest upsampling, "h" and "w" in bilinear; ``k``, ``stride`` and ``out`` are in dimension order.
"""

from __future__ import annotations

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, size_t
from conformance.cases.case import Case
from conformance.cases.families.images import Tensor, image_launch, sizes, tensor
from conformance.cases.launch import Argument, Launch, Scalar
from conformance.cases.rows import LARGE_TYPES, filled, parsed, rows_beside
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype, kept_by_dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_COMMON = ("shape", "layout", "values", "src_start", "dst_start", "grid", "block")

_POOL_FIELDS = (*_COMMON, "k", "stride")

_NEAREST_FIELDS = (*_COMMON, "out")

_BILINEAR_FIELDS = (*_COMMON, "out", "align", "scale_h", "scale_w")

_ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # family: rows of every type, and of floats
    "avg_pool2d": (ROWS["pool"], ROWS["pool_float"]),
    "max_pool2d": (ROWS["pool"], ROWS["pool_float"]),
    "upsample_nearest2d": (ROWS["nearest"], ()),
    "upsample_bilinear2d": (ROWS["bilinear"], ROWS["bilinear_float"]),
}


@kept_by_dtype
def _rows(family: str, name: str) -> tuple[Row, ...]:
    every, of_float = _ROWS[family]
    is_float = dtype(name).kind == "float"
    layouts = ROWS["pool_layouts" if "pool" in family else "upsample_layouts"] if name in LARGE_TYPES else ()
    chosen = (*every, *layouts, *(of_float if is_float else ()))
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
