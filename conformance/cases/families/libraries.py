"""Calls of the vendor's libraries, as Candle's CUDA backend makes them of the layouts of its operands.

cuBLAS has columns where Candle has rows, so that the right operand is ``a``, the left one ``b``, and m and n change
places. A matrix is passed as it is where its rows are contiguous, transposed where its columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Family, Fields, Row, numbers, poisoned
from conformance.cases.case import Case
from conformance.cases.families.launchers import call
from conformance.cases.launch import POISON_BYTE, Argument, Buffer, Launch
from conformance.cases.rows import parsed, rows_beside
from conformance.cases.specials import core
from conformance.cases.values import RandomStream, values
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)
LAYOUTS = ("row", "transposed", "one", "one_transposed")
_BEHIND = 1 << 16
"""The most elements behind an operand, for a wrong leading dimension to meet."""


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
    kernel: Kernel, fields: Fields, name: str, rows: int, columns: int, stream: RandomStream
) -> list[Argument]:
    """Operand ``name``, and what the call says of it."""
    kind, side = dtype(kernel.variant["dtype"]), {"a": "rhs", "b": "lhs"}[name]
    asked, start = fields.choice(side, "row", LAYOUTS), fields.number(f"{side}_start", 0, 0, 64)
    count = 1 if asked.startswith("one") else fields.number("batch", 1)
    text = fields.text("values", "unit")
    text = "large" if text == "subnormal" and name == "b" else text  # products that do not vanish
    content = fields.located(lambda: _content(kind, text, (count, rows, columns), stream))
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
    given = {f"trans{name}": int(not plain), f"ld{name}": columns if plain else rows}
    given[f"stride_{name}"] = 0 if asked.startswith("one") else rows * columns
    return [Buffer(name, kind.name, "in", data, start), *numbers(kernel, **given)]


def _result(fields: Fields, kernel: Kernel, count: int, stream: RandomStream) -> Buffer:
    """The result before the call, numbers and NaN: with a beta of 0 what is there has no part in it."""
    buffer = poisoned(fields, kernel, "c", count)
    before = buffer.data[:count]
    before[:] = values("unit", dtype(buffer.dtype), count, stream)
    before[3::5] = np.nan
    return buffer


def _gemm(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    sizes = ("m", "n", "k", "batch")
    fields = Fields(case, (*sizes, "lhs", "rhs", "lhs_start", "rhs_start", "values", "reduced"))
    m, n, k, batch = (fields.number(name, 1, 1, 8192) for name in sizes)
    reduced = fields.choice("reduced", "no", ("no", "yes")) == "yes"
    arguments = (
        *_operand(kernel, fields, "a", k, n, stream),
        *_operand(kernel, fields, "b", m, k, stream),
        _result(fields, kernel, batch * m * n, stream),
        *numbers(kernel, m=n, n=m, k=k, ldc=n, stride_c=m * n, batch_size=batch, reduced=int(reduced)),
    )
    return call(kernel, arguments)


def _rows(kernel: Kernel) -> Sequence[Row]:
    return parsed((*ROWS["gemm"], *(ROWS["reduced"] if kernel.variant["dtype"] != "f64" else ())))


def _rand(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("count", "seed", "mean", "std"))
    count, seed = fields.number("count", 1, 1, 1 << 24), fields.number("seed", 299792458)
    if kernel.variant["op"] == "normal":
        count += count % 2  # as Candle asks for them: cuRAND makes pairs
    stride = -(-count // 64) * 64 + 64
    arguments = (
        poisoned(fields, kernel, "out", 4 * stride),
        *numbers(kernel, count=count, stride=stride, seed=seed, other=seed + 1),
        *(fields.scalar(kernel, name, name, default) for name, default in (("mean", "0"), ("std", "1"))),
    )
    return call(kernel, arguments)


def _random_rows(kernel: Kernel) -> Sequence[Row]:
    return parsed((*ROWS["rand"], *(ROWS["normal"] if kernel.variant["op"] == "normal" else ())))


FAMILIES: dict[str, Family] = {"gemm": Family(_rows, _gemm), "rand": Family(_random_rows, _rand)}
