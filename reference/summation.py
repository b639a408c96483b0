"""How far a sum may end from the exact one when its terms are added in any order.

n terms added in any order lie within (n - 1) u * (sum of magnitudes) of the exact sum, u being half an ulp of 1 in the
type that holds the sums: Jeannerod and Rump, "Improved error bounds for inner products in floating-point arithmetic"
(2013), theorem 3.1. Sums in a wider type, or of which parts are exact, are nearer. Where every term is a multiple of
one power of two and the magnitudes add up to fewer such units than the type has room for, no order rounds at all, and
two terms are rounded once in any order: there the value alone is right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DType, dtype
from reference.arithmetic import ARITHMETIC
from reference.expected import Expected, Truth

Array = NDArray[Any]
Convert = Callable[[Array], Array]
LONG = np.longdouble

_SLACK = 1 + LONG(2) ** -8
"""Covers the rounding of the exact sums to longdouble, which has 11 bits more than float64, and of the bound."""


@dataclass(frozen=True)
class Terms:
    """What a bound needs to know of the terms of some sums; every array has an element per sum.

    ``positive`` is the sum of the positive terms, ``negative`` that of the magnitudes of the others, and ``count`` how
    many are not 0. ``unit`` is the largest power of two that every term is a multiple of. ``nan`` says that there is a
    NaN, ``minus_zero`` that all terms are -0, ``products`` that the terms may be rounded before they are added.
    """

    positive: Array
    negative: Array
    count: Array
    unit: Array
    nan: Array
    minus_zero: Array
    products: bool = False

    @cached_property
    def total(self) -> Array:
        return np.asarray(self.positive - self.negative)

    @cached_property
    def magnitude(self) -> Array:
        return np.asarray(self.positive + self.negative)

    def radius(self, kind: DType) -> Array:
        """How far from ``total`` a sum that is kept in ``kind`` may end; 0 where no order rounds."""
        half_ulp = LONG(2) ** -(kind.floating.mantissa + 1)
        smallest = _smallest(kind)
        exact = (self.magnitude * half_ulp <= self.unit) & (self.unit >= smallest)
        roundings = self.count if self.products else self.count - 1
        bound = _SLACK * np.maximum(roundings, 0) * half_ulp * self.magnitude
        if self.products:  # which may be subnormal
            bound = bound + self.count * smallest / 2
        return np.where(exact, 0, bound)

    def rounded_once(self, kind: DType) -> Array:
        """Where there is but one rounding to ``kind`` in any order."""
        if not self.products:
            return np.asarray(self.count <= 2)
        # A product that is rounded to -0 before it is added to 0 leaves +0, a fused one -0.
        return np.asarray((self.count <= 1) & (self.magnitude >= _smallest(kind)))


def _smallest(kind: DType) -> Any:
    """The least positive number of ``kind``."""
    return LONG(2) ** (1 - kind.floating.bias - kind.floating.mantissa)


def along(x: Array, axis: int, products: bool = False) -> Terms:
    """The terms of the sums of ``x`` over ``axis``."""
    terms = x.astype(LONG)
    magnitude = np.abs(terms)
    return Terms(
        positive=np.where(terms > 0, terms, 0).sum(axis=axis),
        negative=np.where(terms < 0, magnitude, 0).sum(axis=axis),
        count=(terms != 0).sum(axis=axis),
        unit=last_bit(terms).min(axis=axis, initial=np.inf),
        nan=np.asarray(np.isnan(terms).any(axis=axis)),
        minus_zero=((terms == 0) & np.signbit(terms)).all(axis=axis) & (terms.shape[axis] > 0),
        products=products,
    )


class Products:
    """Collects the terms of sums of products, of an array of sums of shape ``shape`` that are kept in ``kind``."""

    def __init__(self, shape: tuple[int, ...], kind: DType) -> None:
        self.wide = np.dtype(np.float64 if kind.size < 8 else LONG)
        self._positive, self._negative = np.zeros(shape, self.wide), np.zeros(shape, self.wide)
        self._unit = np.full(shape, np.inf, self.wide)
        self._count = np.zeros(shape, np.int64)
        self._met, self._nan, self._other = (np.zeros(shape, np.bool_) for _ in range(3))

    def add(self, to: Any, x: Array, k: Array, unit: Array, axis: int) -> None:
        """Products for the sums at index ``to``: ``x * k`` over ``axis``, all of ``wide``; ``unit`` divides each."""
        product = x * k
        self._positive[to] += np.maximum(product, 0).sum(axis=axis)
        self._negative[to] -= np.minimum(product, 0).sum(axis=axis)
        self._unit[to] = np.minimum(self._unit[to], unit)
        self._count[to] += np.count_nonzero(product, axis=axis)
        self._nan[to] |= np.isnan(self._positive[to])
        self._met[to] = True
        self._other[to] |= ((product != 0) | ~np.signbit(product)).any(axis=axis)

    def terms(self) -> Terms:
        minus_zero = self._met & ~self._other
        return Terms(self._positive, self._negative, self._count, self._unit, self._nan, minus_zero, products=True)


def grouped(x: Array, groups: Array) -> Terms:
    """The terms of one sum per group; ``groups`` holds a number from 0 on for each of ``x``, and leaves none out."""
    order = np.argsort(groups, kind="stable")
    terms = x.astype(LONG)[order]
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))

    def over(reduce: np.ufunc, parts: Array) -> Array:
        return np.asarray(reduce.reduceat(parts, starts)) if starts.size else parts[:0]

    return Terms(
        positive=over(np.add, np.where(terms > 0, terms, 0)),
        negative=over(np.add, np.where(terms < 0, -terms, 0)),
        count=over(np.add, (terms != 0).astype(np.int64)),
        unit=over(np.minimum, last_bit(terms)),
        nan=over(np.logical_or, np.isnan(terms)),
        minus_zero=over(np.logical_and, (terms == 0) & np.signbit(terms)),
    )


def last_bit(x: Array) -> Array:
    """The largest power of two that each of ``x`` (longdouble) is a multiple of; infinite for 0, NaN and infinities."""
    fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 0))
    whole = np.ldexp(np.abs(fraction), 64).astype(np.uint64)
    return np.where(whole == 0, LONG(np.inf), np.ldexp((whole & (~whole + np.uint64(1))).astype(LONG), exponent - 64))


def any_order(terms: Terms, kind: DType, value: Array, store: Convert) -> Expected:
    """``value`` (the sums in Candle's order, kept in ``kind`` and stored) with the interval of all orders.

    ``store`` rounds longdouble to the type of ``value``. Where the terms of one sign alone overflow in ``kind``, so may
    a partial sum; where those of both signs do, a NaN is as good as any number. Infinities of both signs make a NaN in
    every order.
    """
    radius = terms.radius(kind)
    largest = np.array([kind.floating.largest], kind.bits).view(kind.numpy).astype(LONG)[0]
    growth = 1 + terms.count * LONG(2) ** -(kind.floating.mantissa + 1)
    over, under = terms.positive * growth > largest, terms.negative * growth > largest
    infinite = np.isinf(terms.positive) | np.isinf(terms.negative)
    fixed = terms.nan | (np.isinf(terms.positive) & np.isinf(terms.negative)) | (infinite & ~(over & under))
    if kind.floating.saturates:
        # What lies beyond the largest value is lost, at whatever point of the sum it is met.
        radius = radius + np.maximum(terms.positive - largest, 0) + np.maximum(terms.negative - largest, 0)
    ends: list[Array] = []
    for side, reached in ((-1, under), (1, over)):
        end = terms.total + side * radius
        end = end if kind.floating.saturates else np.where(reached, side * LONG(np.inf), end)
        # A sum of -0 alone is -0, or +0 where it starts from 0.
        end = np.where(terms.minus_zero, side * LONG(0), end)
        settled = fixed | (((radius == 0) | terms.rounded_once(kind)) & ~terms.minus_zero & ~reached)
        ends.append(np.where(settled, value, store(end)))
    free = over & under & ~fixed & (not kind.floating.saturates)

    def exact() -> Truth:
        settled = fixed | terms.minus_zero | (terms.magnitude == 0)
        once = np.where(settled, value, store(terms.total))
        unknown = settled | (value.dtype.itemsize < 4)
        return Truth(once, once, np.where(unknown, LONG(np.nan), terms.total))

    return Expected(value, ends[0], ends[1], free if free.any() else None, exact=exact)


def storing(name: str) -> Convert:
    """Rounds longdouble of any shape to dtype ``name``, once."""
    a = ARITHMETIC[name]

    def store(x: Array) -> Array:
        flat = np.ascontiguousarray(x).reshape(-1)
        return a.store(flat.astype(a.carrier)).reshape(x.shape)

    return store


def accumulator(name: str) -> DType:
    """The type that Candle's convolutions, norms and softmax add up in: float32 for what is narrower."""
    row = dtype(name)
    return row if row.size >= 4 else dtype("f32")
