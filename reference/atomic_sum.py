"""sum: elements added to their output by atomic operations, in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import FLOATS
from reference.arithmetic import arithmetic
from reference.expected import Expected
from reference.strided import read

Array = NDArray[Any]
LONG = np.longdouble

# Digits of each type's significand.
_DIGITS = {row.name: row.floating.mantissa + 1 for row in FLOATS}


@np.errstate(all="ignore")
def sum(  # the family's name
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    num_sum_dims: int,
    info: Array,
    inp: Array,
    out: Array,
) -> dict[str, Expected]:
    """``out`` plus the elements of ``inp`` that go to each of its elements; ``info`` is dims, strides, then the sizes
    and the row-major strides of the summed dimensions.

    Float sums in any order lie within (n - 1) u * (sum of magnitudes) of the exact one, n numbers with u half an ulp
    of 1: Jeannerod and Rump, "Improved error bounds for inner products in floating-point arithmetic" (2013), theorem
    3.1. Where every number is a multiple of one power of two and the magnitudes add up to fewer such units than the
    type has room for, no order rounds at all and the value alone is right.
    """
    count, dims, sums = int(numel), int(num_dims), int(num_sum_dims)
    numbers = info.tolist()
    x = read(inp, count, numbers[:dims], numbers[dims : 2 * dims])
    target = np.arange(count)
    for size, stride in zip(numbers[2 * dims :][:sums], numbers[2 * dims + sums :][:sums], strict=True):
        target = target // stride // size * stride + target % stride
    if variant["dtype"] not in _DIGITS:
        value = out.copy()
        np.add.at(value, target, x)
        return {"out": Expected(value)}
    return {"out": _any_order(variant["dtype"], x, target, out)}


def _any_order(dtype: str, x: Array, target: Array, out: Array) -> Expected:
    a = arithmetic(dtype)
    written = np.unique(target)
    # What was there before counts as a number of the sum.
    terms = np.concatenate([out[written], x]).astype(LONG)
    groups = np.concatenate([np.arange(written.size), np.searchsorted(written, target)])
    total, magnitude = np.zeros((2, written.size), LONG)
    np.add.at(total, groups, terms)
    np.add.at(magnitude, groups, np.abs(terms))
    numbers = np.bincount(groups, weights=terms != 0, minlength=written.size)
    unit = np.full(written.size, np.inf, LONG)
    np.minimum.at(unit, groups, _last_bit(terms))
    exact = (magnitude <= unit * LONG(2) ** _DIGITS[dtype]) | ~np.isfinite(total)
    bound = np.where(exact, 0, np.maximum(numbers - 1, 0) * LONG(2) ** -_DIGITS[dtype] * magnitude)
    parts = []
    for shift, outward in ((0, None), (-bound, -np.inf), (bound, np.inf)):
        stored = a.store((total + shift).astype(a.carrier))
        if outward is not None:
            stored = np.where(exact, stored, np.nextafter(stored, stored.dtype.type(outward)))
        content = out.copy()
        content[written] = stored
        parts.append(content)
    return Expected(*parts)


def _last_bit(x: Array) -> Array:
    """The largest power of two that each of ``x`` (float64 values at most as wide) is a multiple of; infinite for 0."""
    fraction, exponent = np.frexp(x)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    return np.where(whole == 0, LONG(np.inf), np.ldexp((whole & -whole).astype(LONG), exponent - 53))
