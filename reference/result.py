"""From the elements that a kernel writes to the expected content of the whole buffer."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from reference.expected import Expected
from reference.strided import bits

Array = NDArray[Any]


def contiguous(before: Array, value: Array, low: Array | None = None, high: Array | None = None) -> Expected:
    """``before`` with its first elements replaced: ``value``, ``low`` and ``high`` are 1-D, of its dtype."""
    return Expected(*(None if part is None else _head(before, part) for part in (value, low, high)))  # type: ignore[arg-type]


def _head(before: Array, part: Array) -> Array:
    if part.dtype != before.dtype:
        raise TypeError(f"elements of {part.dtype} for a buffer of {before.dtype}")
    if part.size == before.size and part.flags.owndata and part.flags.writeable:
        return part
    content = before.copy()
    bits(content)[: part.size] = bits(part)
    return content
