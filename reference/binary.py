"""binary and compare: ``out = lhs op rhs`` in the operands' type, or 0/1 as u8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import ARITHMETIC, Arithmetic
from reference.expected import Expected
from reference.result import contiguous
from reference.strided import bits, layout, read

Array = NDArray[Any]


def _truncated_division(a: Array, b: Array) -> Array:
    """Towards zero, as C divides. By zero, and the smallest number by -1: what numpy gives (CUDA leaves it open)."""
    quotient: Array = np.floor_divide(a, b)
    if a.dtype.kind == "i":
        # The floor lies one below where the signs differ and a remainder is left.
        quotient += (quotient * b != a) & ((a < 0) != (b < 0))
    return quotient


def _maximum(a: Arithmetic, x: Array, y: Array) -> Array:
    larger = np.maximum(x, y)
    if not a.nan_maximum:  # np.fmax answers NaN for a signalling NaN, depending on the element's position
        larger = np.where(np.isnan(x), y, np.where(np.isnan(y), x, larger))
    # Of two zeros the positive one: their sum has its sign.
    return np.where((x == 0) & (y == 0), x + y, larger)


def _minimum(a: Arithmetic, x: Array, y: Array) -> Array:
    return -_maximum(a, -x, -y)


FLOAT: dict[str, Callable[[Arithmetic, Array, Array], Array]] = {
    "add": Arithmetic.add,
    "sub": Arithmetic.sub,
    "mul": Arithmetic.mul,
    "div": Arithmetic.div,
    "maximum": _maximum,
    "minimum": _minimum,
}

INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _truncated_division,
    "maximum": np.maximum,
    "minimum": np.minimum,
}

COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@np.errstate(all="ignore")
def binary(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    dims_and_strides: Array | None,
    lhs: Array,
    rhs: Array,
    out: Array,
) -> dict[str, Expected]:
    """Null ``dims_and_strides``: both contiguous. Integers wrap; floats round once; NaN in max and min is per type."""
    x, y = _operands(numel, num_dims, dims_and_strides, lhs, rhs)
    op, dtype = variant["op"], variant["dtype"]
    if dtype not in ARITHMETIC:
        value = INTEGER[op](x, y)
    elif out.dtype.itemsize == 1:
        value = _table(op, dtype)[bits(x), bits(y)]
    else:
        a = ARITHMETIC[dtype]
        value = a.store(FLOAT[op](a, a.load(x), a.load(y)))
    return {"out": contiguous(out, value)}


@np.errstate(all="ignore")
def compare(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    dims_and_strides: Array | None,
    lhs: Array,
    rhs: Array,
    out: Array,
) -> dict[str, Expected]:
    """``out`` is u8: 1 where the comparison holds. With NaN only ``ne`` holds; both zeros are equal."""
    x, y = _operands(numel, num_dims, dims_and_strides, lhs, rhs)
    if variant["dtype"] in ARITHMETIC:
        a = ARITHMETIC[variant["dtype"]]
        x, y = a.load(x), a.load(y)
    return {"out": contiguous(out, COMPARE[variant["op"]](x, y).view(np.uint8))}


def _operands(numel: int, num_dims: int, info: Array | None, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    shape = layout(info, num_dims, operands=2)
    if shape is None:
        return read(lhs, numel, None, None), read(rhs, numel, None, None)
    dims, (left, right) = shape
    return read(lhs, numel, dims, left), read(rhs, numel, dims, right)


@cache
@np.errstate(all="ignore")
def _table(op: str, dtype: str) -> Array:
    """The op on every pair of patterns of an 8-bit float, ``[lhs, rhs]``, shape (256, 256)."""
    a = ARITHMETIC[dtype]
    every = a.load(np.arange(256, dtype=np.uint8).view(a.storage))
    x, y = (part.ravel() for part in np.meshgrid(every, every, indexing="ij"))
    return a.store(FLOAT[op](a, x, y)).reshape(256, 256)
