"""From the elements that a kernel writes to the expected content of the whole buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Ends, Expected
from reference.strided import bits

Array = NDArray[Any]


def contiguous(
    before: Array, value: Array, low: Array | None = None, high: Array | None = None, exact: Ends | None = None
) -> Expected:
    """``before`` with its first elements replaced: ``value``, ``low``, ``high`` and the ends that ``exact`` gives are
    1-D, of its dtype."""
    whole = None if exact is None else lambda: _two([_head(before, part) for part in exact()])
    low, high = (None if part is None else _head(before, part) for part in (low, high))
    return Expected(_head(before, value), low, high, exact=whole)


def _two(parts: list[Array]) -> tuple[Array, Array]:
    return parts[0], parts[1]


def placed(before: Array, part: Expected, at: Array | None = None) -> Expected:
    """``before`` with its elements ``at``, or its first ones, replaced by ``part``, of any shape and its dtype."""
    places = np.arange(part.value.size) if at is None else at

    def whole(elements: Array) -> Array:
        content = before.copy()
        bits(content)[places] = bits(np.ascontiguousarray(elements).reshape(-1))
        return content

    low, high = (None if end is None else whole(end) for end in (part.low, part.high))
    ends = part.exact
    exact = None if ends is None else lambda: _two([whole(end) for end in ends()])
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
