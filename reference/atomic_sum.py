"""sum: elements added to their output by atomic operations, in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.arithmetic import ARITHMETIC
from reference.expected import Expected
from reference.result import placed
from reference.strided import read
from reference.summation import LONG, any_order, grouped, storing

Array = NDArray[Any]


@np.errstate(all="ignore")
def sum(  # the family's name
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    num_sum_dims: int,
    info: Array,
    inp: Array,
    out: Array,
) -> dict[str, Expected]:
    """``out`` plus the elements of ``inp`` that go to each of its elements; ``info`` is dims, strides, then the sizes
    and the row-major strides of the summed dimensions.

    Candle's additions are atomic: in any order, and in the type itself.
    """
    count, dims, sums = int(numel), int(num_dims), int(num_sum_dims)
    numbers = info.tolist()
    x = read(inp, count, numbers[:dims], numbers[dims : 2 * dims])
    target = np.arange(count)
    for size, stride in zip(numbers[2 * dims :][:sums], numbers[2 * dims + sums :][:sums], strict=True):
        target = target // stride // size * stride + target % stride
    if variant["dtype"] not in ARITHMETIC:
        value = out.copy()
        np.add.at(value, target, x)
        return {"out": Expected(value)}
    return {"out": _any_order(variant["dtype"], x, target, out)}


def _any_order(name: str, x: Array, target: Array, out: Array) -> Expected:
    written = np.unique(target)
    # What was there before counts as a term of the sum.
    terms = grouped(
        np.concatenate([out[written], x]).astype(LONG),
        np.concatenate([np.arange(written.size), np.searchsorted(written, target)]),
    )
    store = storing(name)
    value = store(terms.total)
    mixed = np.isinf(terms.positive) & np.isinf(terms.negative)
    value[terms.nan | mixed] = np.nan
    return placed(out, any_order(terms, dtype(name), value, store), written)
