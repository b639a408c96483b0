"""Conversions between float types that round once, to nearest even, on whole arrays.

ml_dtypes converts float64 to bfloat16 and float8 through float32 and so rounds twice. Rounding to odd on the way
(an inexact result takes the neighbour whose last bit is 1) keeps what the second rounding needs to know:
Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
Array = NDArray[Any]


def f32_odd(x: F64) -> F32:
    """float64 -> float32, rounded to odd. Beyond the largest float32 that is the largest float32, not infinity."""
    with np.errstate(over="ignore"):
        nearest = x.astype(np.float32)
    return _to_odd(nearest, x - nearest, np.dtype(np.int32))


def sum_odd(a: F64, b: F64) -> F64:
    """``a + b`` in float64, rounded to odd; needs ``|a + b|`` within float64's range."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return _to_odd(total, error, np.dtype(np.int64))


def _to_odd(nearest: Array, error: F64, bits: np.dtype[Any]) -> Array:
    """``nearest`` changed in place: where inexact and even, its neighbour towards ``nearest + error``."""
    inexact = np.flatnonzero(error)
    if inexact.size:
        left, pattern = error[inexact], nearest.view(bits)[inexact]
        # In sign-magnitude bits +1 is away from zero. Infinities leave a NaN as error and stay.
        away = np.where((left < 0) == (pattern < 0), bits.type(1), bits.type(-1))
        nearest.view(bits)[inexact] += np.where(np.isnan(left) | (pattern & 1 != 0), bits.type(0), away)
    return nearest


def rounded(x: Array, kind: np.dtype[Any]) -> Array:
    """float64 -> the float type ``kind``, one rounding: numpy's own types round from the float64 bits.

    A longdouble goes to float64 alike.
    """
    return x.astype(kind) if issubclass(kind.type, np.floating) else f32_odd(x).astype(kind)
