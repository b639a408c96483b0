"""Calls of the vendor's libraries, as Candle's CUDA backend makes them of the layouts of its operands.

cuBLAS has columns where Candle has rows, so that the right operand is ``a``, the left one ``b``, and m and n change
places. A matrix is passed as it is where its rows are contiguous, transposed where its columns are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Family, Fields, Row, in_order, numbers, poisoned
from conformance.cases.case import Case
from conformance.cases.launch import POISON_BYTE, Buffer, Launch, Stream
from conformance.cases.rows import parsed, rows_beside
from conformance.cases.specials import core
from conformance.cases.values import RandomStream, values
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)
LAYOUTS = ("row", "transposed", "one", "one_transposed")
OWN_VALUES = ("integers", "ones", "zero", "special")
_BEHIND = 1 << 16
"""The most elements behind an operand, for a wrong leading dimension to meet."""


@lru_cache
def _rows(name: str) -> tuple[Row, ...]:
    return parsed((*ROWS["gemm"], *(ROWS["reduced"] if name != "f64" else ())))


class Matrices(NamedTuple):
    """An operand: its buffer, and what the call says of it."""

    buffer: Buffer
    transposed: int
    leading: int
    stride: int


def _content(kind: DType, name: str, shape: tuple[int, int, int], stream: RandomStream) -> NDArray[Any]:
    """The elements of ``shape``, those of the first matrix first."""
    count = shape[0] * shape[1] * shape[2]
    if name in ("zero", "ones"):
        return np.full(shape, float(name == "ones"), kind.numpy)
    if name == "integers":
        return ((stream.take(count) >> np.uint64(60)).astype(np.float64) - 8).astype(kind.numpy).reshape(shape)
    drawn = values("unit" if name == "special" else name, kind, count, stream).reshape(shape)
    if name != "special":
        return drawn
    # One special number in each row and column of one: NaN and infinities spread no further than that.
    content, found = drawn.copy(), core(kind.name)
    for batch, row in np.ndindex(shape[:2]):
        if row % 2:
            content[batch, row, row % shape[2]] = found[(batch * shape[1] + row // 2) % len(found)]
    return content


def _operand(
    fields: Fields, name: str, kind: DType, sizes: tuple[int, int, int], text: str, stream: RandomStream
) -> Matrices:
    """Operand ``name`` of ``sizes`` batch, rows, columns."""
    batch, rows, columns = sizes
    side = {"a": "rhs", "b": "lhs"}[name]
    asked = fields.choice(side, "row", LAYOUTS)
    shared = asked.startswith("one")
    start = fields.number(f"{side}_start", 0, 0, 64)
    content = fields.located(lambda: _content(kind, text, (1 if shared else batch, rows, columns), stream))
    strides = (columns, 1)
    if asked.endswith("transposed"):
        content, strides = content.swapaxes(1, 2), (1, rows)
    flat = np.ascontiguousarray(content).reshape(-1)
    largest = max(fields.number(size, 1) for size in ("m", "n", "k"))
    behind = min(largest * max(rows, columns), _BEHIND)
    data = np.full((start + flat.size + behind) * kind.size, POISON_BYTE, np.uint8).view(kind.numpy)
    data[start : start + flat.size] = flat
    # The first that fits: with one row or column its stride says nothing.
    plain = (strides[1] == 1 or columns == 1) and (strides[0] == columns or rows == 1)
    leading = columns if plain else rows
    return Matrices(
        Buffer(name, kind.name, "in", data, start), int(not plain), leading, 0 if shared else rows * columns
    )


def _result(fields: Fields, kernel: Kernel, count: int, stream: RandomStream) -> Buffer:
    """The result before the call, numbers and NaN: with a beta of 0 what is there has no part in it."""
    buffer = poisoned(fields, kernel, "c", count)
    before = buffer.data[:count]
    before[:] = values("unit", dtype(buffer.dtype), count, stream)
    before[3::5] = np.nan
    return buffer


def _gemm(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    sides = ("lhs", "rhs")
    fields = Fields(case, ("m", "n", "k", "batch", *sides, *(f"{side}_start" for side in sides), "values", "reduced"))
    m, n, k, batch = (fields.number(name, 1, 1, 8192) for name in ("m", "n", "k", "batch"))
    kind, text = dtype(kernel.variant["dtype"]), fields.text("values", "unit")
    a = _operand(fields, "a", kind, (batch, k, n), text, stream)
    other = "large" if text == "subnormal" else text  # products that do not vanish
    b = _operand(fields, "b", kind, (batch, m, k), other, stream)
    reduced = fields.choice("reduced", "no", ("no", "yes")) == "yes"
    arguments = (
        a.buffer,
        b.buffer,
        _result(fields, kernel, batch * m * n, stream),
        *numbers(
            kernel, transa=a.transposed, transb=b.transposed, m=n, n=m, k=k, batch_size=batch, reduced=int(reduced)
        ),
        *numbers(kernel, lda=a.leading, ldb=b.leading, ldc=n, stride_a=a.stride, stride_b=b.stride, stride_c=m * n),
        Stream("stream"),
    )
    types = tuple("*" if parameter.pointer else parameter.dtype for parameter in kernel.params)
    return Launch(kernel.name, (0, 0, 0), (0, 0, 0), 0, in_order(kernel, arguments), types)


FAMILIES: dict[str, Family] = {"gemm": Family(lambda kernel: _rows(kernel.variant["dtype"]), _gemm)}
