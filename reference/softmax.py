"""softmax over the last dimension: 32 lanes a row, float16 and bfloat16 with a float32 sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import library
from reference.arithmetic import Arithmetic, arithmetic
from reference.butterfly import LANES, butterfly, in_order, strips
from reference.exact import Wide, rounded_once
from reference.expected import Expected
from reference.result import contiguous

Array = NDArray[Any]
F32 = np.dtype(np.float32)
LONG = np.longdouble


@np.errstate(all="ignore")
def softmax(
    variant: Mapping[str, str], library_ulp: int, *, src: Array, dst: Array, n_cols: int
) -> dict[str, Expected]:
    """``src`` is all rows: rows x n_cols, row-major; raises ``ValueError`` where it is not a whole number of rows.

    ``library_ulp`` bounds exp in steps of the type that it is computed in: float32 for float16 and bfloat16. The value
    is in Candle's order of operations. The interval allows for any order of the sum, for a sum that is rescaled
    whenever a larger element is met, and for differences, powers and quotient of float16 and bfloat16 that stay in
    float32 until the end.
    """
    a = arithmetic(variant["dtype"])
    columns = int(n_cols)
    rows = whole_rows(src, columns)
    x = a.load(src)
    greatest = x.reshape(rows, columns).max(axis=1)  # a NaN makes its row NaN, here or through the sum
    difference = a.sub(x, np.repeat(greatest, columns))
    power = a.settle(_exp(a, difference, 0)[0].astype(a.carrier, copy=False))
    scale = _reciprocal_of_sum(a, power.reshape(rows, columns))
    value = a.store(a.mul(power, np.repeat(scale, columns)))
    ends = _ends(a, x.reshape(rows, columns), greatest[:, None], difference.reshape(rows, columns), library_ulp)
    stored = [np.where(np.isnan(end) | np.isnan(value), value, a.store(end)) for end in ends]

    def formula(wide: Wide) -> list[Array]:
        rows_of = wide.load(src).reshape(rows, columns)
        shifted = rows_of - rows_of.max(axis=1)[:, None]
        powers, least, most = wide.call("exp", (shifted,), 0)
        quotients = (powers / powers.sum(axis=1)[:, None], least / most.sum(axis=1)[:, None])
        return [part.reshape(-1) for part in (*quotients, most / least.sum(axis=1)[:, None])]

    return {"dst": contiguous(dst, *bounds([value, *stored]), rounded_once(variant["dtype"], formula))}


def _ends(a: Arithmetic, x: Array, greatest: Array, difference: Array, library_ulp: int) -> list[Array]:
    """The least and the greatest result that any kernel has to offer, flat, before they are stored.

    The powers' interval gives that of the sum and that of the quotient, which only grow with their terms.
    """
    wide = F32 if a.kind.itemsize < F32.itemsize else a.kind
    unit = np.finfo(wide).eps / 2
    exact = (x - greatest).astype(wide)
    powers = [power for d in (difference.astype(wide), exact) for power in _exp(a, d.reshape(-1), library_ulp)]
    powers += [a.settle(power.astype(a.carrier)) for power in powers]
    least, most = (end.reshape(x.shape).astype(LONG) for end in (np.min(powers, axis=0), np.max(powers, axis=0)))
    terms = np.count_nonzero(most, axis=1)[:, None]
    # A random order has ln n new maxima; each costs a power, a product and a difference that is rounded.
    rescalings = (2 * library_ulp + 1) * np.frexp(terms)[1]
    roundings = terms - 1 + rescalings + np.where(most > 0, np.abs(exact), 0)
    sums = [(end * (1 + side * unit * roundings)).sum(axis=1)[:, None] for side, end in ((-1, least), (1, most))]
    results = []
    for side, power, total in ((-1, least, sums[1]), (1, most, sums[0])):
        # A reciprocal and a product with it, or a quotient.
        scale = (1 + side * 2 * unit) / total
        either = [scale, a.settle(scale.reshape(-1).astype(a.carrier)).reshape(scale.shape)]
        chosen = np.minimum(*either) if side < 0 else np.maximum(*either)
        results.append((power * chosen).reshape(-1).astype(a.carrier))
    return results


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
    """exp in float32 or float64, with ``ulp`` also the least and the greatest that it allows."""
    return library.call("exp", (x,), a.kind if a.kind.itemsize >= F32.itemsize else F32, ulp)


def _reciprocal_of_sum(a: Arithmetic, powers: Array) -> Array:
    """1 / sum of each row, summed in float32 or float64 and rounded to the type at the end."""
    wide = powers.astype(F32 if a.kind.itemsize < F32.itemsize else a.kind, copy=False)
    total = butterfly(in_order(strips(wide, LANES)))
    return a.settle((wide.dtype.type(1) / total).astype(a.carrier, copy=False))
