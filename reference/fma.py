"""Fused multiply-add: ``a * b + c`` with one rounding, exact for every finite input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.rounding import F32, F64, sum_odd

LONG = np.longdouble
_DIGITS = np.finfo(LONG).nmant + 1
_SPLIT = LONG(2) ** ((_DIGITS + 1) // 2) + 1
_SLACK = LONG(2) ** (2 - _DIGITS)
_Long = NDArray[np.longdouble]


def fma_f32(a: F32, b: F32, c: F32) -> F32:
    """float32 fused multiply-add: the product is exact in float64, the sum is rounded to odd there."""
    return fma_odd(a.astype(np.float64), b.astype(np.float64), c.astype(np.float64)).astype(np.float32)


def fma_odd(a: F64, b: F64, c: F64) -> F64:
    """``a * b + c`` rounded to odd in float64, for values whose product is exact there (24 digits or fewer each)."""
    return sum_odd(a * b, c)


def fma_f64(a: F64, b: F64, c: F64) -> F64:
    """float64 fused multiply-add, correctly rounded.

    One product and one sum in ``np.longdouble`` settle all elements whose error bound does not reach a rounding
    boundary; the rest (about one in a thousand) go through error-free transforms. ``np.longdouble`` must have a wider
    exponent than float64 (x86-64 and AArch64 Linux), or intermediates near float64's limits overflow.
    """
    product = a.astype(LONG) * b.astype(LONG)
    total = product + c
    bound = (np.abs(product) + np.abs(total)) * _SLACK
    result: F64 = total.astype(np.float64)
    ambiguous = (total - bound).astype(np.float64) != (total + bound).astype(np.float64)
    hard = np.isfinite(total) & (ambiguous | ((total == 0) & (bound != 0)))
    if hard.any():
        result[hard] = _exact(*(part[hard].astype(LONG) for part in np.broadcast_arrays(a, b, c)))
    return result


def _exact(a: _Long, b: _Long, c: _Long) -> F64:
    """Error-free product, then a three-term sum rounded to odd (Boldo and Melquiond 2008), then one rounding."""
    high = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2
    t_high, t_low = _two_sum(c, low)
    v_high, v_low = _two_sum(high, t_high)
    exact_zero = (v_high == 0) & (v_low == 0) & (t_low == 0)
    total = _sum_odd(v_high, _sum_odd(t_low, v_low)).astype(np.float64)
    # An exact zero keeps the sign that IEEE 754 gives the one-step sum of product and addend.
    return np.where(exact_zero, (high + c).astype(np.float64), total)


def _halves(x: _Long) -> tuple[_Long, _Long]:
    """Veltkamp's split: two halves whose products are exact."""
    scaled = x * _SPLIT
    first = scaled - (scaled - x)
    return first, x - first


def _two_sum(a: _Long, b: _Long) -> tuple[_Long, _Long]:
    """Knuth's two-sum: the rounded sum and its exact error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _sum_odd(a: _Long, b: _Long) -> _Long:
    """``a + b`` rounded to odd in longdouble."""
    total, error = _two_sum(a, b)
    words: Any = np.ascontiguousarray(total).view(np.uint64)
    even = (words[:: total.dtype.itemsize // 8] & 1) == 0
    toward = np.where(error > 0, LONG(np.inf), LONG(-np.inf))
    return np.where((error != 0) & even, np.nextafter(total, toward), total)
