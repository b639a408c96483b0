"""Floats as integers that count representable steps.

Consecutive representable values have consecutive ordinals: +0 is 0, the smallest positive subnormal 1, -0 is -1. The
distance of two ordinals is their distance in ulps, and infinity is one step beyond the largest finite value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DType


def is_nan(values: NDArray[Any], dtype: DType) -> NDArray[np.bool_]:
    """Which elements of ``values`` (of ``dtype``) are NaN, by bit pattern; all false for integers."""
    if dtype.format is None:
        return np.zeros(values.shape, np.bool_)
    bits = values.view(dtype.bits)
    magnitude = bits & dtype.bits.type((1 << (8 * dtype.size - 1)) - 1)
    return np.asarray(magnitude >= dtype.bits.type(dtype.format.smallest_nan))


def ordinals(values: NDArray[Any], dtype: DType) -> NDArray[np.int64]:
    """The ordinals of ``values``; integers are their own (64-bit unsigned ones wrap)."""
    if dtype.kind != "float":
        return np.asarray(values.astype(np.int64))
    width = 8 * dtype.size
    bits = values.view(dtype.bits).astype(np.uint64)
    magnitude = (bits & np.uint64((1 << (width - 1)) - 1)).astype(np.int64)
    negative = (bits >> np.uint64(width - 1)).astype(np.bool_)
    return np.where(negative, -1 - magnitude, magnitude)


def distance(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """|left - right| without overflow: exact up to 2**53, rounded beyond."""
    same_sign = (left < 0) == (right < 0)
    near = np.abs(np.where(same_sign, left - right, 0)).astype(np.float64)
    far = np.abs(left.astype(np.float64) - right.astype(np.float64))
    return np.where(same_sign, near, far)
