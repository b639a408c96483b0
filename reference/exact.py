"""The value of a formula over the reals, rounded once: a kernel between Candle's value and this one is right.

The formula is evaluated in a type that is wider than any the kernel may use, ``np.longdouble``. A function in it is off
by what is documented for it in float32 or float64 (``library.Function``). Storage narrower than float32 may have been
computed in float32 in any order of the formula's operations, each of which rounds by half a step. Where another form of
the formula is better than Candle's, as it loses no digits, its operations round in float32 and float64 too
(``rounded_on_the_way``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import library
from reference.arithmetic import ARITHMETIC, Arithmetic
from reference.expected import Exact, Truth
from reference.rounding import f32_odd

Array = NDArray[Any]
LONG = np.dtype(np.longdouble)

OPERATIONS = 8
"""The most operations of a formula after its function: gelu has 7."""


@dataclass(frozen=True)
class Wide(Arithmetic):
    """Arithmetic that rounds nothing on the way. ``kind`` is the narrowest type that a kernel may compute in.

    ``in_steps``: a function's error is no larger than the documented steps of its result, and the half one that the
    documented error is measured from.
    """

    in_steps: bool = False

    def call(self, name: str, arguments: tuple[Array, ...], ulp: int) -> list[Array]:
        """The function as it is, and with the largest documented error to either side."""
        function = library.FUNCTIONS[name]
        value = function.wide(*arguments)
        # Next to a limit that float32 and float64 round to, only a kernel in float64 may give something else.
        at_limit = function.asymptotic & (np.abs(value.astype(np.float64)) == function.limit)
        near, far = (function.documented[kind.name] * np.finfo(kind).eps for kind in (np.dtype(np.float64), self.kind))
        error = np.where(at_limit, near, far)
        if self.in_steps:
            steps = function.documented[self.kind.name] + 0.5
            error = np.fmin(error, steps * _step(value, self.kind) / np.abs(value))
        fixed = function.asymptotic & (np.abs(value) == function.limit)
        ends = (np.clip(value * (1 + side * error), -function.limit, function.limit) for side in (-1, 1))
        return [value, *(np.where(fixed, value, end) for end in ends)]


@cache
def wide(name: str) -> Wide:
    """The arithmetic for a formula of dtype ``name``, whose values ``rounded_once`` stores."""
    a = ARITHMETIC[name]

    def load(x: Array) -> Array:
        return a.load(x).astype(LONG)

    def store(x: Array) -> Array:
        return a.store(f32_odd(x) if a.carrier == np.float32 != a.storage else x.astype(a.carrier))

    if a.storage == np.float32:
        store = _to_f32
    kind = np.dtype(np.float64 if a.storage == np.float64 else np.float32)
    return Wide(a.storage, LONG, kind, load, store, lambda x: x, lambda x, y, z: x * y + z)


def _to_f32(x: Array) -> Array:
    return x.astype(np.float32)


def rounded_once(name: str, formula: Callable[[Wide], Sequence[Array]]) -> Exact:
    """The first of the results of ``formula``, which is the true value, and the least and the greatest of them, stored;
    evaluated when it is asked for."""

    @np.errstate(all="ignore")
    def truth() -> Truth:
        a = wide(name)
        limits = np.finfo(a.kind)
        slack = OPERATIONS * limits.eps / 2 if a.storage.itemsize < a.kind.itemsize else 0
        results = formula(a)
        least, most = (reduce.reduce(results, axis=0) for reduce in (np.fmin, np.fmax))
        # What no function has a part in is exact. Next to 0 a function is off by steps of a fixed size.
        inexact = least != most
        step = np.where(inexact, 2 * limits.smallest_subnormal, 0)
        low, high = (_moved(end, side, inexact * slack, step) for end, side in ((least, -1), (most, 1)))
        value = results[0] if not slack else np.full(results[0].shape, np.nan, LONG)
        return Truth(a.store(low), a.store(high), value)

    return truth


def rounded_on_the_way(a: Wide, formula: Callable[[Wide], Sequence[Array]]) -> list[Array]:
    """The results of ``formula``, the first of which is the true value, each moved down and up by what its operations
    but the last round away in ``a.kind``; the last one rounds as the result is stored.

    An operation, or a constant, that is off by half a step moves the result by some amount. All of these amounts, added
    up, are the error of a computation step by step, to first order (N. Higham, "Accuracy and Stability of Numerical
    Algorithms", 3.1).
    """
    a = replace(a, in_steps=True)

    def results(number: int) -> tuple[Sequence[Array], int]:
        """The results where operation ``number`` is off, and how many operations there are."""
        operations = 0

        def settle(x: Array) -> Array:
            nonlocal operations
            operations += 1
            if operations != number:
                return x
            is_rounded = x.astype(a.kind).astype(LONG) != x
            return np.where(is_rounded, x + _step(x, a.kind) / 2, x)

        return formula(replace(a, settle=settle)), operations

    exact, operations = results(0)
    moves = [np.abs(results(number)[0][0] - exact[0]) for number in range(1, operations)]
    off = np.sum(moves, axis=0)
    off = np.where(np.isfinite(off), off, 0)
    return [exact[0], *(result + side * off for result in exact for side in (-1, 1))]


def _step(x: Array, kind: np.dtype[Any]) -> Array:
    """The distance of two numbers of ``kind`` next to each other at the magnitude of ``x``."""
    return np.asarray(np.abs(np.spacing(x.astype(kind))), LONG)


def _moved(x: Array, side: int, slack: Array, step: Array) -> Array:
    """``x`` moved down or up, never over 0."""
    outward = side * np.copysign(1, x)
    size = np.maximum(np.abs(x) * (1 + outward * slack) + outward * step, 0)
    return np.asarray(np.copysign(np.where(np.isinf(x), np.abs(x), size), x))
