"""float32 sums in a given order, and how far another order or another choice of fused products may move them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.fma import fma_f32
from reference.result import contiguous

Array = NDArray[Any]

Fma = Callable[[Array, Array, Array], Array]
"""``a * b + c`` in float32."""

Seen = Callable[[Array], Array]
"""What a sum sees of its operands: them, or their magnitudes."""

WITHOUT_MINIMUM = ("q8_0", "q3_K", "q6_K")
"""Formats whose values are a scale times the quants: the others add a minimum, or take off an offset."""

_PRODUCTS = 3

_ROUNDING = 2.0**-24
"""Largest relative error of one rounding to float32."""


def fused(a: Array, b: Array, c: Array) -> Array:
    """One rounding. Broadcasts."""
    whole = np.broadcast_arrays(a, b, c)
    return np.asarray(fma_f32(*(x.reshape(-1) for x in whole))).reshape(whole[0].shape)


def _magnitude(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(np.abs(a * b) + np.abs(c))


def summed(before: Array, compute: Callable[[Fma, Seen], Array], depth: int, terms: int) -> Expected:
    """The content of a buffer whose first elements are ``compute(fma, seen)``, flat; ``seen`` is for every operand.

    The value is CUDA's to the bit: its order, with those products fused that its code for compute capability 9.0
    fuses. At most ``depth`` roundings lie between an operand and the result there, and at most ``terms`` where a kernel
    adds up as many float32 terms one after the other, each of them a product of up to four factors. The two sums differ
    by at most that many times 2^-24 times the sum of the terms' magnitudes (N. Higham, "Accuracy and Stability of
    Numerical Algorithms", 4.2, to first order).
    """
    value = compute(fused, np.asarray).reshape(-1)
    magnitudes = compute(_magnitude, np.abs).reshape(-1).astype(np.float64)
    radius = (depth + terms - 1 + _PRODUCTS) * _ROUNDING * magnitudes
    # Infinities and NaN have no neighbourhood.
    radius = np.where(np.isfinite(radius) & np.isfinite(value), radius, 0)
    low, high = ((value + side * radius).astype(np.float32) for side in (-1.0, 1.0))
    exact = radius == 0
    return contiguous(before, value, np.where(exact, value, low), np.where(exact, value, high))


MOST_ROWS = 8192
"""Rows of which every lane's sum is in memory at a time."""


def in_parts(before: Array, rows: int, part: Callable[[int, int], Expected]) -> Expected:
    """The content of a buffer that begins with ``rows`` sums, ``MOST_ROWS`` of them at a time: ``part(first, last)`` is
    what a buffer of the rows from ``first`` to before ``last`` holds."""
    parts = [part(first, min(first + MOST_ROWS, rows)) for first in range(0, rows, MOST_ROWS)]
    value, low, high = (
        np.concatenate([np.asarray(getattr(one, name)) for one in parts]) for name in ("value", "low", "high")
    )
    return contiguous(before, value, low, high)


def as_f32(x: Array) -> Array:
    """Integers below 2^24 as float32, exactly."""
    return x.astype(np.float32)
