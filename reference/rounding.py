"""Conversions between float types that round once, to nearest even, on whole arrays.

ml_dtypes converts float64 to bfloat16 and float8 through float32 and so rounds twice. Rounding to odd on the way
(an inexact result takes the neighbour whose last bit is 1) keeps what the second rounding needs to know:
Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008).
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

BF16 = np.dtype(ml_dtypes.bfloat16)
F64 = NDArray[np.float64]
F32 = NDArray[np.float32]


def f32_odd(x: F64) -> F32:
    """float64 -> float32, rounded to odd. Beyond the largest float32 that is the largest float32, not infinity."""
    nearest = x.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32)
    # In sign-magnitude bits +1 is away from zero: towards x exactly when |x| is the larger magnitude.
    step = np.where(np.abs(x) > np.abs(back), np.int32(1), np.int32(-1))
    move = (back != x) & ((bits & 1) == 0) & ~np.isnan(x)
    odd: NDArray[np.int32] = bits + step * move
    return odd.view(np.float32)


def sum_odd(a: F64, b: F64) -> F64:
    """``a + b`` in float64, rounded to odd; needs ``|a + b|`` within float64's range."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    bits = total.view(np.int64)
    step = np.where(np.signbit(error) == np.signbit(total), np.int64(1), np.int64(-1))
    move = (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
    odd: NDArray[np.int64] = bits + step * move
    return odd.view(np.float64)


def to_bf16(x: F64) -> NDArray[Any]:
    """float64 -> bfloat16, one rounding."""
    return f32_odd(x).astype(BF16)


def to_f16(x: F64) -> NDArray[np.float16]:
    """float64 -> float16, one rounding (numpy rounds from the float64 bits)."""
    return x.astype(np.float16)
