"""Sums and products of floats that are rounded once, which numpy does not have."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def rounded(value: Fraction, kind: Any) -> Any:
    """To nearest, ties to even; ``value`` is not 0."""
    info = np.finfo(kind)
    negative, value = value < 0, abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - info.nmant)
    whole = round(value / unit) * unit  # of a Fraction: to even
    with np.errstate(over="ignore"):
        found = kind(np.inf) if whole > Fraction(float(info.max)) else kind(float(whole))
    return -found if negative else found


def scaled_fma(a: Array, b: Array, c: Array, scale: Array | None = None) -> Array:
    """``(a * b + c) * 2 ** scale`` of arrays of one type, rounded once."""
    kind = a.dtype.type
    with np.errstate(all="ignore"):
        found = a * b + c
    ends = np.isfinite(a) & np.isfinite(b)
    found = np.where(ends & ~np.isfinite(c), c, found)  # also where the product overflows
    exponents = np.zeros(a.size, int) if scale is None else scale
    for lane in np.flatnonzero(ends & np.isfinite(c)):
        exact = Fraction(float(a[lane])) * Fraction(float(b[lane])) + Fraction(float(c[lane]))
        if exact:
            found[lane] = rounded(exact * Fraction(2) ** int(exponents[lane]), kind)
        elif a[lane] != 0 and b[lane] != 0 and c[lane] != 0:
            found[lane] = 0  # a difference of equal numbers
        else:
            negative = np.signbit(a[lane]) != np.signbit(b[lane]) and np.signbit(c[lane])
            found[lane] = kind(-0.0) if negative else kind(0)
    return found


def fma(a: Array, b: Array, c: Array) -> Array:
    return scaled_fma(a, b, c)
