"""What a reference function answers for one written buffer: the value, and the interval that is as good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ends = Callable[[], tuple[NDArray[Any], NDArray[Any]]]
"""Gives the least and the greatest of what is right, NaN where nothing but NaN is; evaluated only where it matters."""


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
    ``exact``, the formula over the reals, rounded once (``reference.exact``), is right as well.
    """

    value: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    free: NDArray[np.bool_] | None = None
    written: NDArray[np.bool_] | None = None
    exact: Ends | None = None


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a buffer as a whole, whose elements are free: its name, what there is, and what is to be."""

    what: str
    got: str
    expected: str
