"""From the elements that a kernel writes to the expected content of the whole buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Exact, Expected, Truth
from reference.strided import bits

Array = NDArray[Any]


def contiguous(
    before: Array, value: Array, low: Array | None = None, high: Array | None = None, exact: Exact | None = None
) -> Expected:
    """``before`` with its first elements replaced: ``value``, ``low``, ``high`` and the ends that ``exact`` gives are
    1-D, of its dtype."""
    places = slice(value.size)
    whole = None if exact is None else lambda: _of_buffer(exact(), lambda part: _head(before, part), places, before)
    low, high = (None if part is None else _head(before, part) for part in (low, high))
    return Expected(_head(before, value), low, high, exact=whole)


def _of_buffer(truth: Truth, whole: Callable[[Array], Array], places: Array | slice, before: Array) -> Truth:
    """``truth``, which is that of the elements ``places``, of all elements of the buffer; ``whole`` does that for
    arrays of the dtype."""
    value = np.full(before.size, np.nan, np.longdouble)
    value[places] = truth.value.reshape(-1)
    return Truth(whole(truth.least), whole(truth.most), value)


def placed(before: Array, part: Expected, at: Array | None = None) -> Expected:
    """``before`` with its elements ``at``, or its first ones, replaced by ``part``, of any shape and its dtype."""
    places = np.arange(part.value.size) if at is None else at

    def whole(elements: Array) -> Array:
        content = before.copy()
        bits(content)[places] = bits(np.ascontiguousarray(elements).reshape(-1))
        return content

    low, high = (None if end is None else whole(end) for end in (part.low, part.high))
    truth = part.exact
    exact = None if truth is None else lambda: _of_buffer(truth(), whole, places, before)
    if part.free is None:
        return Expected(whole(part.value), low, high, exact=exact)
    free = np.zeros(before.size, np.bool_)
    free[places] = part.free.reshape(-1)
    return Expected(whole(part.value), low, high, free, exact=exact)


def _head(before: Array, part: Array) -> Array:
    if part.dtype != before.dtype:
        raise TypeError(f"elements of {part.dtype} for a buffer of {before.dtype}")
    if part.size == before.size and part.flags.owndata and part.flags.writeable:
        return part
    content = before.copy()
    bits(content)[: part.size] = bits(part)
    return content
