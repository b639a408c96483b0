"""rmsnorm and layernorm over the last dimension: a block a row, float32 inside whatever the type.

The value is in Candle's order of operations. The interval is that of every other order: the bound of each sum from its
own terms, and a rounding for every operation after it, carried through the formula by its derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.butterfly import in_order, over_block, strips
from reference.expected import Expected
from reference.fma import fma_f32
from reference.result import contiguous
from reference.rounding import rounded
from reference.softmax import bounds, whole_rows
from reference.summation import Terms, along

Array = NDArray[Any]
F32 = np.dtype(np.float32)
UNIT = 2.0**-24
"""The largest relative error of one rounding to float32."""


@np.errstate(all="ignore")
def rmsnorm(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src: Array,
    dst: Array,
    alpha: Array | None,
    n_cols: int,
    block_size: int,
    eps: Any,
) -> dict[str, Expected]:
    """``(x * scale) * alpha`` with scale = 1 / sqrt(mean of squares + eps); null ``alpha`` is left out.

    ``src`` is all rows, row-major; raises ``ValueError`` where it is not a whole number of rows. ``library_ulp`` bounds
    the reciprocal square root, in steps of float32. The squares may be added in any order in float32, each of them
    rounded before or not, and the mean of them be a quotient or a product with 1 / n.
    """
    columns = int(n_cols)
    rows = whole_rows(src, columns)
    x = src.astype(np.float32).reshape(rows, columns)
    squares = over_block(_sum_of_squares(strips(x, int(block_size))))
    scale = _rsqrt(squares / np.float32(columns) + np.float32(eps))
    weight = np.ones(columns, np.float32) if alpha is None else alpha[:columns].astype(np.float32)
    value = scale[:, None] * x if alpha is None else scale[:, None] * x * weight
    _, low, high = _scales(*_mean(along(x.astype(np.float64) ** 2, 1, products=True), columns), eps, library_ulp)
    exact = x * weight.astype(np.float64)
    # Two products after the scale.
    spread = 1 + np.array([[-2], [2]]) * UNIT
    ends = [exact * (end * factor)[:, None] for end, factor in zip((low, high), spread, strict=True)]
    return {"dst": _between(dst, value, np.minimum(*ends), np.maximum(*ends))}


@np.errstate(all="ignore")
def layernorm(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src: Array,
    dst: Array,
    alpha: Array | None,
    beta: Array | None,
    n_cols: int,
    block_size: int,
    eps: Any,
) -> dict[str, Expected]:
    """``((x - mean) * scale) * alpha + beta`` with scale = 1 / sqrt(variance + eps).

    Candle's variance is the mean of squares less the squared mean; two passes or Welford's algorithm are as good. Null
    ``alpha`` or ``beta`` is left out. The value has every multiplication that an addition follows fused with it, as
    CUDA compiles it; the interval allows for none, for any order of the sums in float32, for ``library_ulp`` steps of
    the reciprocal square root, and for the form x * factor + offset. Raises ``ValueError`` as ``rmsnorm``.
    """
    columns = int(n_cols)
    rows = whole_rows(src, columns)
    x = src.astype(np.float32).reshape(rows, columns)
    terms = strips(x, int(block_size))
    count = np.float32(columns)
    mean = over_block(in_order(terms)) / count
    square = over_block(_sum_of_squares(terms)) / count
    scale = _rsqrt(_fma(-mean, mean, square) + np.float32(eps))[:, None]
    centred = x - mean[:, None]
    weight = np.ones(columns, np.float32) if alpha is None else alpha[:columns].astype(np.float32)
    offset = np.zeros(columns, np.float32) if beta is None else beta[:columns].astype(np.float32)
    if beta is None:
        value = centred * scale if alpha is None else centred * scale * weight
    else:
        value = _fma(centred, scale, offset) if alpha is None else _fma(centred * scale, weight, offset)

    middle, mean_error = _mean(along(x, 1), columns)
    squares, square_error = _mean(along(x.astype(np.float64) ** 2, 1, products=True), columns)
    deviation = x - middle[:, None]
    variance = (deviation**2).mean(axis=1)
    # One pass rounds the squared mean and the difference; two passes add up other squares, about a mean with an error.
    square_error = np.maximum(square_error, columns * UNIT * variance) + 3 * UNIT * squares + 4 * UNIT * variance
    square_error += (2 * np.abs(middle) + mean_error) * mean_error
    exact, low, high = _scales(variance, square_error, eps, library_ulp)
    result = deviation * exact[:, None] * weight + offset
    size = np.abs(weight.astype(np.float64))
    stretch = np.abs(deviation) * size
    # Of the deviation; and of x and the mean, each times the scale, where the formula is x * factor + offset.
    shift = mean_error[:, None] + 2 * UNIT * (np.abs(x) + np.abs(middle)[:, None])
    error = shift * size * high[:, None] + 4 * UNIT * (stretch * high[:, None] + np.abs(offset))
    error += stretch * np.maximum(high - exact, exact - low)[:, None]
    expected = _between(dst, value, result - error, result + error)
    # Where some order makes a variance of 0 or less, another value, an infinity or NaN is as good: one row, all of it.
    lost = (square_error > 0) & (variance + np.float64(eps) <= square_error)
    if not lost.any():
        return {"dst": expected}
    free = np.zeros(dst.size, np.bool_)
    free[: rows * columns] = np.repeat(lost, columns)
    return {"dst": replace(expected, free=free)}


def _sum_of_squares(terms: Array) -> Array:
    """rows x strips x threads to the sum of squares over the strips, one fused multiply-add after the other."""
    total = np.zeros((terms.shape[0], terms.shape[2]), np.float32)
    for strip in range(terms.shape[1]):
        x = terms[:, strip]
        total = _fma(x, x, total)
    return total


def _fma(x: Array, y: Array, z: Array) -> Array:
    """``fma_f32`` on operands of shapes that broadcast."""
    shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
    flat = (np.broadcast_to(part, shape).reshape(-1) for part in (x, y, z))
    return np.asarray(fma_f32(*flat).reshape(shape))


def _rsqrt(x: Array) -> Array:
    """The reciprocal square root of float32, rounded once."""
    return np.asarray((1 / np.sqrt(x.astype(np.float64))).astype(np.float32))


def _mean(sums: Terms, count: int) -> tuple[Array, Array]:
    """The mean of ``count`` terms, and how far from it the quotient of a float32 sum, or the product with 1 / n, is."""
    mean, radius = sums.total / count, sums.radius(dtype("f32")) / count
    exact = (radius == 0) & (count & (count - 1) == 0)
    return mean, np.where(exact, 0, radius + 2 * UNIT * np.abs(mean))


def _scales(x: Array, error: Array, eps: Any, library_ulp: int) -> tuple[Array, Array, Array]:
    """1 / sqrt(x + eps) exactly, and the least and the greatest that float32 makes of an ``x`` with that error.

    The sum with eps is rounded, and a step of the result is at most two units.
    """
    exact = x + np.float64(eps)
    ends = [1 / np.sqrt(np.maximum(exact + side * (error + UNIT * exact), 0)) for side in (1, -1)]
    steps = 1 + np.array([-2, 2]) * max(library_ulp, 1) * UNIT
    return 1 / np.sqrt(exact), ends[0] * steps[0], ends[1] * steps[1]


def _between(dst: Array, value: Array, low: Array, high: Array) -> Expected:
    """``value`` in ``dst``'s type, between ``low`` and ``high`` where these are numbers."""
    stored = value.astype(dst.dtype).reshape(-1)
    ends = []
    for end in (low, high):
        narrowed = rounded(end.astype(np.float64).reshape(-1), F32).astype(dst.dtype)
        ends.append(np.where(np.isnan(narrowed) | ~np.isfinite(stored), stored, narrowed))
    return contiguous(dst, *bounds([stored, *ends]))
