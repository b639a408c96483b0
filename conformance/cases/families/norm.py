"""Rows that a block normalises: softmax, rmsnorm and layernorm. ``shape`` is rows x columns, contiguous."""

from __future__ import annotations

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, drawn, in_order, poisoned
from conformance.cases.case import Case
from conformance.cases.families.reduce import source
from conformance.cases.launch import Argument, Buffer, Launch, Null, Scalar
from conformance.cases.layouts import layout
from conformance.cases.rows import filled, parsed, rows_beside
from conformance.cases.specials import special
from conformance.cases.values import RandomStream
from conformance.dtypes import kept_by_dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_LANES = 32

_SOFTMAX_FIELDS = ("shape", "values", "mark", "start")

_NORM_FIELDS = (*_SOFTMAX_FIELDS, "eps")

_WEIGHTS = {"rmsnorm": ("alpha",), "layernorm": ("alpha", "beta")}

_LARGE = "shape=[257,257],values=unit"  # S12: of one type, as it takes long

_LONGEST = {"f64": {"{long}": 40000, "{wide}": 20000}, "others": {"{long}": 70000, "{wide}": 40000}}


@kept_by_dtype
def _rows(family: str, name: str) -> tuple[Row, ...]:
    rows = {"softmax": ROWS["softmax"], "rmsnorm": ROWS["norm"], "layernorm": ROWS["norm"] + ROWS["layernorm"]}[family]
    rows += (_LARGE,) if name == "f32" else ()
    numbers = {"{eighth}": len(special(name)) // 8, **_LONGEST["f64" if name == "f64" else "others"]}
    for place, number in numbers.items():
        rows = tuple(row.replace(place, str(number)) for row in rows)
    return parsed(filled(rows, name))


def _rows_of(fields: Fields, kernel: Kernel, stream: RandomStream) -> tuple[int, int, dict[str, Argument]]:
    rows, columns = fields.shape(rank=2)
    if rows == 0 or columns == 0:
        raise ValueError(f"case {fields.case.id}: shape has 1 row and 1 column or more, not {[rows, columns]}")
    placed = layout("contiguous", (rows, columns), fields.number("start", 0))
    src = source(fields, kernel, "src", drawn(fields, kernel, "src", placed, stream), columns)
    scalar = Scalar("n_cols", "int", np.int32(columns))
    return rows, columns, {"src": src, "dst": poisoned(fields, kernel, "dst", rows * columns), "n_cols": scalar}


def _softmax(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """32 lanes a row, along y."""
    rows, _, given = _rows_of(Fields(case, _SOFTMAX_FIELDS), kernel, stream)
    return Launch(kernel.name, (rows, 1, 1), (1, _LANES, 1), 0, in_order(kernel, given.values()))


def _norm(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """A block of 32 threads a row, of 1024 from 1024 columns on."""
    fields = Fields(case, (*_NORM_FIELDS, *_WEIGHTS[kernel.launch]))
    rows, columns, given = _rows_of(fields, kernel, stream)
    block = _LANES if columns < 1024 else 1024
    given["block_size"] = Scalar("block_size", "int", np.int32(block))
    given["eps"] = fields.scalar(kernel, "eps", "eps", "1e-5")
    for name in _WEIGHTS[kernel.launch]:
        given[name] = _weight(fields, kernel, name, columns, stream)
    return Launch(kernel.name, (rows, 1, 1), (block, 1, 1), 0, in_order(kernel, given.values()))


def _weight(fields: Fields, kernel: Kernel, name: str, columns: int, stream: RandomStream) -> Argument:
    if fields.has(name):
        fields.choice(name, "null", ("null",))
        return Null(name)
    plain = Fields(Case(kernel.name, (("values", "unit"),)), ("values",))
    drawn_buffer: Buffer = drawn(plain, kernel, name, layout("contiguous", (columns,)), stream)
    return drawn_buffer


FAMILIES: dict[str, Family] = {
    "softmax": Family(lambda kernel: _rows("softmax", kernel.variant["dtype"]), _softmax),
    "rmsnorm": Family(lambda kernel: _rows("rmsnorm", kernel.variant["dtype"]), _norm),
    "layernorm": Family(lambda kernel: _rows("layernorm", kernel.variant["dtype"]), _norm),
}
