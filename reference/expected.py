"""What a reference function answers for one written buffer: the value, and the interval that is as good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Expected:
    """The expected content of one written buffer, all of it, in the buffer's dtype.

    ``low`` and ``high`` bound each element where a library function inside the formula may differ by some ulps
    (``Tolerance.library_ulp``); both ``None`` where the value alone is the answer. ``low <= value <= high`` holds
    elementwise, NaN excepted.
    """

    value: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
