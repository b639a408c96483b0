"""rmsnorm and layernorm over the last dimension: a block a row, float32 inside whatever the type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.butterfly import in_order, over_block, strips
from reference.expected import Expected
from reference.fma import fma_f32
from reference.result import contiguous
from reference.softmax import bounds, whole_rows

Array = NDArray[Any]
F32 = np.dtype(np.float32)


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
    the reciprocal square root, in steps of float32.
    """
    columns = int(n_cols)
    rows = whole_rows(src, columns)
    x = src.astype(np.float32).reshape(rows, columns)
    squares = over_block(_sum_of_squares(strips(x, int(block_size))))
    scales = _rsqrt(squares / np.float32(columns) + np.float32(eps), library_ulp)
    weight = None if alpha is None else alpha[:columns].astype(np.float32)

    def result(scale: Array) -> Array:
        scaled = scale[:, None] * x
        return scaled if weight is None else scaled * weight

    return {"dst": _interval(dst, [result(scale) for scale in scales])}


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

    The variance is the mean of squares less the squared mean. Null ``alpha`` or ``beta`` is left out. The value has
    every multiplication that an addition follows fused with it, as CUDA compiles it; the interval also covers the last
    one and the one in the variance unfused, and the ``library_ulp`` steps of the reciprocal square root. Raises
    ``ValueError`` as ``rmsnorm``.
    """
    columns = int(n_cols)
    rows = whole_rows(src, columns)
    x = src.astype(np.float32).reshape(rows, columns)
    terms = strips(x, int(block_size))
    count = np.float32(columns)
    mean = over_block(in_order(terms)) / count
    square = over_block(_sum_of_squares(terms)) / count
    variances = (_fma(-mean, mean, square), square - mean * mean)
    scales = [scale for v in variances for scale in _rsqrt(v + np.float32(eps), library_ulp)]
    centred = x - mean[:, None]
    weight = None if alpha is None else alpha[:columns].astype(np.float32)
    offset = None if beta is None else beta[:columns].astype(np.float32)

    def results(scale: Array) -> list[Array]:
        wide = np.broadcast_to(scale[:, None], centred.shape)
        normal = centred * wide
        if offset is None:
            return [normal if weight is None else normal * weight]
        if weight is None:
            return [_fma(centred, wide, offset), normal + offset]
        return [_fma(normal, weight, offset), normal * weight + offset]

    return {"dst": _interval(dst, [result for scale in scales for result in results(scale)])}


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


def _rsqrt(x: Array, ulp: int) -> list[Array]:
    """The reciprocal square root of float32, and ``ulp`` steps below and above it; 0, infinity and NaN are exact."""
    value = (1 / np.sqrt(x.astype(np.float64))).astype(np.float32)
    # Positive and far from the limits of float32: steps are steps of the bits.
    steps = np.where(np.isfinite(value) & (value > 0), np.int32(ulp), np.int32(0))
    pattern = value.view(np.int32)
    return [value, *((pattern + sign * steps).view(np.float32) for sign in (np.int32(-1), np.int32(1)))]


def _interval(dst: Array, results: list[Array]) -> Expected:
    """The first result, in ``dst``'s type, between the least and the greatest of all."""
    stored = [result.astype(dst.dtype).reshape(-1) for result in results]
    return contiguous(dst, *bounds(stored))
