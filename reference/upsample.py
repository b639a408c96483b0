"""upsample_nearest2d and upsample_bilinear2d: positions and weights in float64, as Candle computes them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.exact import Wide, rounded_once
from reference.expected import Expected
from reference.fma import fma_f64
from reference.image import tensors, to_unsigned, written
from reference.result import contiguous
from reference.rounding import rounded
from reference.softmax import bounds
from reference.strided import bits

Array = NDArray[Any]
F64 = NDArray[np.float64]
Index = NDArray[np.int64]


def upsample_nearest2d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    w_out: int,
    h_out: int,
    w_scale: float,
    h_scale: float,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c, w, h), as Candle names its dimensions. Scales are source pixels per output pixel, from the host."""
    (x,) = tensors(info, 4, bits(src))
    w, h = (
        np.minimum((np.arange(int(n)) * np.float64(scale)).astype(np.int64), size - 1)
        for n, scale, size in ((w_out, w_scale, x.shape[2]), (h_out, h_scale, x.shape[3]))
    )
    return written(dst, np.ascontiguousarray(x[:, :, w[:, None], h]).view(dst.dtype))


@np.errstate(all="ignore")
def upsample_bilinear2d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    w_out: int,
    h_out: int,
    align_corners: bool,
    has_scale_h: bool,
    scale_h_factor: float,
    has_scale_w: bool,
    scale_w_factor: float,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c, h, w). Neighbours of weight 0 take part, so that an infinity next to them gives NaN.

    Which of two products is fused with the sum is the compiler's choice, in each of the three sums: the value is as
    recorded on CUDA, the interval covers either and none.
    """
    (x,) = tensors(info, 4, src)
    wide = x.astype(np.float64)
    aligned = bool(align_corners)
    top, bottom, down = _between(int(h_out), x.shape[2], aligned, has_scale_h, scale_h_factor)
    left, right, across = _between(int(w_out), x.shape[3], aligned, has_scale_w, scale_w_factor)
    above, below = (
        _blended(wide[:, :, row[:, None], left], wide[:, :, row[:, None], right], across) for row in (top, bottom)
    )
    values = [value for rows in product(above, below) for value in _blended(*rows, down[:, None])]
    ends = bounds([_narrowed(value, dst.dtype).reshape(-1) for value in values])
    if dst.dtype.kind == "u":
        return {"dst": contiguous(dst, *ends)}

    def formula(a: Wide) -> list[Array]:
        source, one = a.load(np.ascontiguousarray(x).reshape(-1)).reshape(x.shape), a.carrier.type(1)
        w, h = across.astype(a.carrier), down.astype(a.carrier)[:, None]
        top_row, bottom_row = (
            source[:, :, row[:, None], left] * (one - w) + source[:, :, row[:, None], right] * w
            for row in (top, bottom)
        )
        return [(top_row * (one - h) + bottom_row * h).reshape(-1)]

    return {"dst": contiguous(dst, *ends, rounded_once(variant["dtype"], formula))}


def _between(out: int, size: int, aligned: bool, has_factor: bool, factor: float) -> tuple[Index, Index, F64]:
    """Per output position the two source positions that it lies between, and the weight of the second."""
    at = np.arange(out, dtype=np.float64)
    if aligned:
        position = at * (np.float64(size - 1) / np.float64(out - 1) if out > 1 else np.float64(0))
    else:
        scale = 1 / np.float64(factor) if has_factor else np.float64(size) / np.float64(out)
        position = fma_f64(np.full(out, scale), at + 0.5, np.full(out, -0.5))
    position = np.maximum(position, 0.0)
    low = position.astype(np.int64)
    return low, np.minimum(low + 1, size - 1), np.clip(position - low, 0.0, 1.0)


def _blended(a: F64, b: F64, weight: F64) -> tuple[F64, F64, F64]:
    """``a * (1 - weight) + b * weight``, the first product fused with the sum, the second one, or neither."""
    left, right = a * (1 - weight), b * weight
    return fma_f64(a, 1 - weight, right), fma_f64(b, weight, left), left + right


def _narrowed(value: F64, kind: np.dtype[Any]) -> Array:
    return to_unsigned(value, kind) if kind.kind == "u" else rounded(value.reshape(-1), kind)
