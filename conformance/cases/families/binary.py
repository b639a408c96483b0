"""Two operands, one output: binary and compare."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Family, Fields, Row, apart, indexed, launch, operand, poisoned
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch
from conformance.cases.layouts import Layout
from conformance.cases.rows import COMMON, filled, parsed, rows_beside, shared
from conformance.cases.specials import integer_limits
from conformance.cases.values import TABLES, RandomStream, values
from conformance.dtypes import DType, dtype, kept_by_dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_OPERANDS = ("lhs", "rhs")

_FIELDS = (
    "shape",
    "layout",
    "far",
    *_OPERANDS,
    "lhs_start",
    "rhs_start",
    "values",
    "info",
    "outermost",
    "grid",
    "block",
)

_LARGE = (*COMMON["large"], *ROWS["large"])


_NAN_PAIRS = "shape=[{nan_pairs}],values=nans"  # N22


@kept_by_dtype
def _rows(name: str, op: str, distribution: str) -> tuple[Row, ...]:
    kind = dtype(name)
    rows = [
        *COMMON["sizes"],
        *COMMON["geometry"],
        *ROWS["layouts"],
        *(shared(name, (*ROWS["shared"], *ROWS["layouts_of_rank_4"]), _LARGE) if op in ("add", "eq") else ()),
    ]
    rows += COMMON["floats"] if kind.kind == "float" else ()
    rows += ROWS["extrema"] if kind.kind == "float" and op in ("maximum", "minimum") else ()
    rows += (_NAN_PAIRS,) if kind.kind == "float" and kind.size > 2 else ()
    rows += {1: ROWS["all_pairs"], 2: (*ROWS["pairs"], *COMMON["exhaustive"])}.get(kind.size, ROWS["pairs"])
    return parsed(filled(rows, name, distribution))


@kept_by_dtype
def _pairs(distribution: str, name: str, n: int, division: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two contiguous operands of ``n`` elements that meet in every pair of a table; 16-bit types in 65,536 pairs.

    There each operand takes every pattern once, the second in the order of multiples of an odd number.
    """
    kind = dtype(name)
    table = TABLES[distribution](name)
    count = len(table)
    index = np.arange(n, dtype=np.int64)
    if kind.size == 2 and distribution == "exhaustive":
        lhs, rhs = table[index % count], table[(index * 40503 + 12345) % count]
    else:
        lhs, rhs = table[index // count % count], table[index % count]
    if division:
        lhs, rhs = _divisible(lhs, rhs, kind, paired=True)
    lhs.flags.writeable = rhs.flags.writeable = False
    return lhs, rhs


def _divisible(lhs: NDArray[Any], rhs: NDArray[Any], kind: DType, paired: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """The operands without divisions that upstream leaves undefined: by zero, and the least integer by -1.

    ``paired`` says that elements meet at equal places; otherwise the least integer leaves ``lhs`` altogether.
    """
    one = kind.numpy.type(1)
    rhs = np.where(rhs == 0, one, rhs)
    if kind.kind == "int":
        least = integer_limits(kind)[0]
        if paired:
            rhs = np.where((lhs == least) & (rhs == -1), one, rhs)
        else:
            lhs = np.where(lhs == least, kind.numpy.type(least + 1), lhs)
    return lhs, rhs


def _data(
    kernel: Kernel, fields: Fields, left: Layout, right: Layout, stream: RandomStream
) -> tuple[NDArray[Any], NDArray[Any]]:
    kind = dtype(kernel.param("lhs").dtype)
    distribution = fields.text("values", "unit")
    division = kernel.variant.get("op") == "div" and kind.kind != "float"
    plain = left.contiguous and right.contiguous and left.start == right.start == 0 and left.numel > 0
    if plain and distribution in ("core", "nans", "exhaustive"):
        return fields.located(partial(_pairs, distribution, kind.name, left.numel, division))
    lhs = fields.located(partial(values, distribution, kind, left.length, stream))
    rhs = fields.located(partial(values, distribution, kind, right.length, stream))
    return _divisible(lhs, rhs, kind, paired=False) if division else (lhs, rhs)


def build(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The launch of ``case``: both operands read through their layouts, the output contiguous."""
    fields = Fields(case, _FIELDS)
    shape = fields.shape()
    default = fields.text("layout", "contiguous")
    left, right = (fields.layout(name, shape, f"{name}_start", default) for name in _OPERANDS)
    lhs, rhs = _data(kernel, fields, left, right, stream)
    numel = left.numel
    given: dict[str, Argument] = {
        **indexed(fields, (left, right), "dims_and_strides"),
        "lhs": operand(kernel, "lhs", left, lhs),
        "rhs": operand(kernel, "rhs", right, rhs),
        "out": poisoned(fields, kernel, "out", numel),
    }
    made = launch(kernel, fields, numel, given)
    return apart(fields, made, {"lhs": left, "rhs": right}, "dims_and_strides")


FAMILIES: dict[str, Family] = {
    "binary": Family(lambda kernel: _rows(kernel.param("lhs").dtype, kernel.variant["op"], "unit"), build),
    # Random numbers are hardly ever equal: only a few values make a misread element show.
    "compare": Family(lambda kernel: _rows(kernel.param("lhs").dtype, kernel.variant["op"], "ties"), build),
}
