"""Argsort of rows by one block each. ``shape`` is rows x columns, contiguous.

Rows with NaN have no order to compare with, and do not occur.
"""

from __future__ import annotations

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, drawn, in_order, poisoned
from conformance.cases.case import Case
from conformance.cases.families.reduce import source
from conformance.cases.launch import Argument, Launch, Scalar
from conformance.cases.layouts import layout
from conformance.cases.rows import filled, parsed, rows_beside
from conformance.cases.specials import special
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype, kept_by_dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

MAX_THREADS = 1024

MAX_COLUMNS = 8192
"""Four bytes a column fill 32 KiB of shared memory; the next power of two is beyond CUDA's 48 KiB."""

_FIELDS = ("shape", "values", "mark", "start")

_LARGE = "shape=[33000,2],values=unit"  # S12: of one type, as it takes long

_SPECIAL = "shape=[{eighth},8],values=special"


@kept_by_dtype
def _rows(name: str, op: str) -> tuple[Row, ...]:
    is_float = dtype(name).kind == "float"
    rows = [*ROWS["rows"], _SPECIAL + (",mark=no_nan" if is_float else ""), *(ROWS["floats"] if is_float else ())]
    rows += [_LARGE] if name == "f32" else []
    rows += ROWS["widest"] if op == "asc" or name == "f32" else ()
    eighth = str(len(special(name)) // 8)
    return parsed(filled([row.replace("{eighth}", eighth) for row in rows], name))


def _build(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """A thread a column, 1024 at most; four bytes of shared memory for each column up to the power of two."""
    fields = Fields(case, _FIELDS)
    rows, columns = fields.shape(rank=2)
    if rows == 0 or not 1 <= columns <= MAX_COLUMNS:
        raise ValueError(f"case {case.id}: shape has 1 row or more of 1 to {MAX_COLUMNS} columns")
    padded = 1 << (columns - 1).bit_length()
    placed = layout("contiguous", (rows, columns), fields.number("start", 0))
    given: dict[str, Argument] = {
        "x": source(fields, kernel, "x", drawn(fields, kernel, "x", placed, stream), columns),
        "dst": poisoned(fields, kernel, "dst", rows * columns),
        "ncols": Scalar("ncols", "int", np.int32(columns)),
        "ncols_pad": Scalar("ncols_pad", "int", np.int32(padded)),
    }
    return Launch(
        kernel.name, (rows, 1, 1), (min(padded, MAX_THREADS), 1, 1), 4 * padded, in_order(kernel, given.values())
    )


FAMILIES: dict[str, Family] = {
    "argsort": Family(lambda kernel: _rows(kernel.variant["dtype"], kernel.variant["op"]), _build)
}
