"""Reductions of rows by one block each (fast_*), and sums by atomic additions.

Dimensions come in the order that Candle gives the kernel: those that stay, then ``reduced`` ones (1 unless given).
"""

from __future__ import annotations

import math

import numpy as np

from conformance.cases.arguments import (
    Family,
    Fields,
    Row,
    apart,
    drawn,
    in_order,
    in_place,
    info,
    launch,
    poisoned,
    size_t,
)
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Launch
from conformance.cases.layouts import info_array
from conformance.cases.row_patterns import with_row_pattern
from conformance.cases.rows import LARGE_TYPES, filled, parsed, rows_beside
from conformance.cases.specials import special
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype, kept_by_dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

MAX_THREADS = 1024
"""Threads of a block of the fast reductions, at most."""

_FAST_FIELDS = ("shape", "reduced", "layout", "far", "start", "values", "mark")

_SUM_FIELDS = ("shape", "sum", "layout", "start", "values", "mark", "grid", "block")

_LARGE = "shape=[257,257],layout=transposed,values=unit"  # S12: of one type, as it takes long

# S12, W11: as long as a vocabulary.
_LONG_SUM = "shape=[1,70000],values=ties,mark=sparse"
_LONG_SUM_INTEGERS = "shape=[1,70000],values=unit"

_LARGE_SUM = "shape=[257,257],sum=[1],layout=transposed,values=ties"  # S12

_EMPTY = "shape=[3,0],values=unit"  # L11: sums only, the others are refused by Candle


def _written(rows: tuple[str, ...], name: str) -> tuple[Row, ...]:
    eighth = str(len(special(name)) // 8)
    return parsed(filled([row.replace("{eighth}", eighth) for row in rows], name))


@kept_by_dtype
def _fast_rows(op: str, name: str) -> tuple[Row, ...]:
    rows = ROWS["fast"]
    rows += () if op.startswith("arg") else ROWS["several"]
    rows += (_EMPTY,) if op == "sum" else ()
    rows += (_LARGE,) if name == "f32" else ()
    rows += ROWS["fast_layouts"] if name in LARGE_TYPES else ()
    rows += ROWS["floats"] if dtype(name).kind == "float" else ()
    rows += ROWS["fast_large"] if name == "bf16" else ()
    if op != "sum":
        return _written((*rows, *ROWS["extrema"]), name)
    rows += (*ROWS["fast_sum_floats"], _LONG_SUM) if dtype(name).kind == "float" else (_LONG_SUM_INTEGERS,)
    return _written(rows, name)


@kept_by_dtype
def _sum_rows(name: str) -> tuple[Row, ...]:
    rows = ROWS["sum"] + (ROWS["sum_floats"] if dtype(name).kind == "float" else ROWS["sum_integers"])
    return _written(rows + ((_LARGE_SUM,) if name == "f32" else ()), name)


def source(fields: Fields, kernel: Kernel, name: str, buffer: Buffer, columns: int) -> Buffer:
    """``buffer`` (input ``name``), its rows of ``columns`` elements overwritten as ``mark`` says, if given: those of a
    transposed matrix, or of what is in memory."""
    if not fields.has("mark"):
        return buffer
    kind = dtype(kernel.param(name).dtype)
    data = buffer.data.copy()
    rows = data[buffer.start :]
    if fields.text("layout", "") == "transposed" and len(fields.shape()) == 2:
        rows = rows.reshape(columns, -1).T
    marked = fields.located(lambda: with_row_pattern(fields.text("mark", ""), rows.ravel(), columns, kind))
    rows[...] = marked.reshape(rows.shape)
    return Buffer(buffer.name, buffer.dtype, buffer.role, data, buffer.start)


def _fast(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """A block per row; threads are the power of two from min(1024, length) on."""
    fields = Fields(case, _FAST_FIELDS)
    shape = fields.shape()
    reduced = fields.number("reduced", min(1, len(shape)), 0, len(shape))
    kept = math.prod(shape[: len(shape) - reduced])
    if kept == 0:
        raise ValueError(f"case {case.id}: the dimensions that are kept have no element, so that no block is launched")
    placed = fields.layout("layout", shape, "start")
    length = placed.numel // kept
    if length == 0 and kernel.variant["op"] != "sum":
        raise ValueError(f"case {case.id}: only sums are defined over an empty dimension")
    if length == 0 and shape.index(0) != len(shape) - reduced:
        raise ValueError(f"case {case.id}: the first of the dimensions that are summed has to be the empty one")
    given: dict[str, Argument] = {
        "src_numel": size_t("src_numel", placed.numel),
        "el_to_sum_per_block": size_t("el_to_sum_per_block", length),
        "num_dims": size_t("num_dims", len(shape)),
        "info": Buffer("info", "size_t", "in", info_array(shape, placed.strides)),
        "src": source(fields, kernel, "src", drawn(fields, kernel, "src", placed, stream), length),
        "dst": poisoned(fields, kernel, "dst", kept),
    }
    threads = 1 << (min(MAX_THREADS, max(1, length)) - 1).bit_length()
    made = Launch(kernel.name, (kept, 1, 1), (threads, 1, 1), 0, in_order(kernel, given.values()))
    return apart(fields, made, {"src": placed})


def _sum(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """``out`` holds small numbers beforehand, which every sum adds to."""
    fields = Fields(case, _SUM_FIELDS)
    shape = fields.shape()
    summed = case.integers("sum")
    if list(summed) != sorted(set(summed)) or any(not 0 <= axis < len(shape) for axis in summed):
        raise ValueError(f"case {case.id}: sum has axes of the shape, ascending, not {list(summed)}")
    placed = fields.layout("layout", shape, "start")
    described = info(fields, "info", (placed,), nullable=False)
    assert isinstance(described, Buffer)
    lengths = [shape[axis] for axis in summed]
    strides = [math.prod(shape[axis + 1 :]) for axis in summed]
    words_of_info = np.concatenate([described.data[: 2 * len(shape)], np.array([*lengths, *strides], np.uint64)])
    outputs = math.prod(size for axis, size in enumerate(shape) if axis not in summed)
    before = np.resize(np.array([0, 1, 2, 0.5]), outputs).astype(dtype(kernel.param("out").dtype).numpy)
    given: dict[str, Argument] = {
        "numel": size_t("numel", placed.numel),
        "num_dims": size_t("num_dims", len(shape)),
        "num_sum_dims": size_t("num_sum_dims", len(summed)),
        "info": Buffer("info", "size_t", "in", words_of_info),
        "inp": source(fields, kernel, "inp", drawn(fields, kernel, "inp", placed, stream), shape[-1] if shape else 1),
        "out": in_place(fields, kernel, "out", before),
    }
    return launch(kernel, fields, placed.numel, given)


FAMILIES: dict[str, Family] = {
    "fast_reduce": Family(lambda kernel: _fast_rows(kernel.variant["op"], kernel.variant["dtype"]), _fast),
    "sum": Family(lambda kernel: _sum_rows(kernel.variant["dtype"]), _sum),
}
