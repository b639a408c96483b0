"""Sums of products, added up in float32 in any order: the exact sum, and the interval that every order stays in.

n roundings to float32 lie between the terms and the result of a loop over them; those of other orders are fewer. Each
is at most 2^-24 of the magnitudes added so far, hence of all of them: N. Higham, "Accuracy and Stability of Numerical
Algorithms", 4.2, to first order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.strided import bits

Array = NDArray[Any]

UNIT = 2.0**-24
"""Largest relative error of one rounding to float32."""

_SLACK = 1 + 2.0**-8
"""Covers the second-order terms, and the rounding of float64 sums."""

_LARGEST = float(np.finfo(np.float32).max)


def around(total: Array, magnitude: Array, roundings: Any, kind: np.dtype[Any]) -> Expected:
    """``total`` as ``kind`` (by way of float32), with the ends of its interval.

    total, magnitude: float64 of any shape, the sums of the terms and of their magnitudes. Infinities and NaN have no
    neighbourhood; where the magnitudes alone overflow, some order may, and any value is as good. A sum of zeros is a
    zero of either sign: of -0 alone it is -0, or +0 where it starts from 0.
    """
    radius = _SLACK * UNIT * np.asarray(roundings, np.float64) * magnitude
    settled = ~(np.isfinite(radius) & np.isfinite(total)) | (radius == 0)
    radius = np.where(settled, 0, radius)
    value, low, high = ((total + side * radius).astype(np.float32).astype(kind) for side in (0.0, -1.0, 1.0))
    low, high = (np.where(settled, value, end) for end in (low, high))
    nothing = magnitude == 0
    low, high = np.where(nothing, kind.type(-0.0), low), np.where(nothing, kind.type(0.0), high)
    free = np.isfinite(total) & (magnitude > _LARGEST)
    return Expected(value, low, high, free if free.any() else None)


def inside(got: Array, expected: Expected) -> Array:
    """Which elements of ``got`` lie within ``expected``: NaN only where that is the value, zeros with their sign."""
    value = expected.value
    low = value if expected.low is None else expected.low
    high = value if expected.high is None else expected.high
    within = (ordinals(got) >= ordinals(low)) & (ordinals(got) <= ordinals(high))
    nan, expected_nan = np.isnan(got.astype(np.float32)), np.isnan(value.astype(np.float32))
    within = (within & ~nan & ~expected_nan) | (nan & expected_nan)
    return np.asarray(within if expected.free is None else within | expected.free)


def ordinals(x: Array) -> Array:
    """Numbers of a float type of up to 32 bits as integers in the order of their values, -0 before +0."""
    pattern = bits(x).astype(np.int64)
    sign = 1 << (8 * x.dtype.itemsize - 1)
    return np.where(pattern >= sign, sign - 1 - pattern, pattern)
