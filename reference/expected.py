"""What a reference function answers for one written buffer: the value, and the interval that is as good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Truth:
    """The true results of a formula, 1-D, of a buffer's elements.

    ``least`` and ``most``, in the buffer's dtype: what a kernel may give that computes as near to the reals as it can
    (``reference.exact``); NaN where nothing but NaN is right. ``value``, longdouble: the formula over the reals, not
    rounded to the dtype; NaN where it is not known, and for dtypes narrower than float32. There a kernel computes in
    float32 and rounds once, to one of the two numbers next to the true value: what is merely as near as Candle's
    answer, whose every operation rounds to 16 bits, was cut off.
    """

    least: NDArray[Any]
    most: NDArray[Any]
    value: NDArray[np.longdouble]


Exact = Callable[[], Truth]
"""Gives what is true of every element; evaluated only where it matters."""


class Faults(Exception):
    """Raised by a reference function for a launch that upstream stops with an assert; the message says why.

    A kernel is right when the runtime reports a fault for the launch, and wrong when it ends well, whatever it wrote.
    On a GPU such a launch costs the process its context, so it is for runtimes that survive a fault.
    """


@dataclass(frozen=True)
class Expected:
    """The expected content of one written buffer, all of it, in the buffer's dtype.

    ``low`` and ``high`` bound each element where a library function inside the formula may differ by some ulps
    (``Tolerance.library_ulp``) or a sum be added in another order; both ``None`` where the value alone is the answer.
    ``free`` marks elements that may be any number or NaN: sums that overflow, or roots of a variance that is 0 or less,
    in some orders. What is neither stays as it is in ``value``. ``written`` marks elements that a kernel has to write,
    where that was asked for: one may get the very value that it had before. What lies between the interval and
    ``exact``, the formula over the reals, rounded once (``reference.exact``), is right as well, and so is what is at
    least as near to the true value as ``value`` is, on either side of it.
    """

    value: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    free: NDArray[np.bool_] | None = None
    written: NDArray[np.bool_] | None = None
    exact: Exact | None = None


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a buffer as a whole, whose elements are free: its name, what there is, and what is to be."""

    what: str
    got: str
    expected: str
