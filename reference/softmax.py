"""softmax over the last dimension: 32 lanes a row, float16 and bfloat16 with a float32 sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import library
from reference.arithmetic import Arithmetic, arithmetic
from reference.butterfly import LANES, butterfly, in_order, strips
from reference.expected import Expected
from reference.result import contiguous

Array = NDArray[Any]
F32 = np.dtype(np.float32)


@np.errstate(all="ignore")
def softmax(
    variant: Mapping[str, str], library_ulp: int, *, src: Array, dst: Array, n_cols: int
) -> dict[str, Expected]:
    """``src`` is all rows: rows x n_cols, row-major; raises ``ValueError`` where it is not a whole number of rows.

    ``library_ulp`` bounds exp in steps of the type that it is computed in: float32 for float16 and bfloat16. The sum
    and the quotient only grow with their terms, so the interval of exp gives one of the result.
    """
    a = arithmetic(variant["dtype"])
    columns = int(n_cols)
    rows = whole_rows(src, columns)
    x = a.load(src)
    greatest = x.reshape(rows, columns).max(axis=1)  # a NaN makes its row NaN, here or through the sum
    powers = _exp(a, a.sub(x, np.repeat(greatest, columns)), library_ulp)
    scales = [_reciprocal_of_sum(a, power.reshape(rows, columns)) for power in powers]
    # The lowest result has the lowest power over the greatest sum.
    value, low, high = (
        a.store(a.mul(power, np.repeat(scale, columns)))
        for power, scale in zip(powers, (scales[0], scales[2], scales[1]), strict=True)
    )
    return {"dst": contiguous(dst, value, low, high)}


def whole_rows(x: Array, columns: int) -> int:
    """How many rows of ``columns`` elements ``x`` holds; raises ``ValueError`` where that is not a whole number."""
    if columns < 1 or x.size % columns:
        raise ValueError(f"{x.size} elements are not a whole number of rows of {columns}")
    return x.size // columns


def bounds(results: Sequence[Array]) -> tuple[Array, Array, Array]:
    """The first of some results, the least and the greatest of all; a NaN next to a number does not count.

    -0 is less than +0 here: where both are results, either is right.
    """
    value = low = high = results[0]
    for other in results[1:]:
        number = np.where(np.isnan(other), value, other)
        low = np.where((number < low) | ((number == low) & np.signbit(number)), number, low)
        high = np.where((number > high) | ((number == high) & np.signbit(high)), number, high)
    return value, low, high


def _exp(a: Arithmetic, x: Array, ulp: int) -> list[Array]:
    """exp as values of the type, with the least and the greatest that ``ulp`` allows; three arrays."""
    kind = a.kind if a.kind.itemsize >= F32.itemsize else F32
    found = [a.settle(power.astype(a.carrier, copy=False)) for power in library.call("exp", (x,), kind, ulp)]
    return found if len(found) == 3 else found * 3


def _reciprocal_of_sum(a: Arithmetic, powers: Array) -> Array:
    """1 / sum of each row, summed in float32 or float64 and rounded to the type at the end."""
    wide = powers.astype(F32 if a.kind.itemsize < F32.itemsize else a.kind, copy=False)
    total = butterfly(in_order(strips(wide, LANES)))
    return a.settle((wide.dtype.type(1) / total).astype(a.carrier, copy=False))
