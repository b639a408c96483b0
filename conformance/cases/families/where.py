"""Three operands of two types, one output: where."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Family, Fields, Row, apart, drawn, indexed, launch, operand, poisoned
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch
from conformance.cases.rows import COMMON, filled, parsed, rows_beside, shared
from conformance.cases.specials import integer_limits
from conformance.cases.values import TABLES, RandomStream
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_OPERANDS = ("ids", "t", "f")

_MASKS = ("mixed", "zero", "nonzero", "high")

_STARTS = tuple(f"{name}_start" for name in _OPERANDS)

_FIELDS = ("shape", "layout", "far", *_OPERANDS, *_STARTS, "values", "mask", "info", "outermost", "grid", "block")


@lru_cache
def _rows(name: str, ids: str) -> tuple[Row, ...]:
    kind = dtype(name)
    patterns = COMMON["exhaustive"] if kind.size <= 2 else COMMON["nans"] if kind.kind == "float" else ()
    rows_of_all = (*ROWS["shared"], *ROWS["layouts_of_rank_4"])
    every = shared(name, rows_of_all, (*COMMON["large"], *ROWS["large"])) if ids == "u8" else ()
    return parsed(
        filled([*COMMON["sizes"], *COMMON["geometry"], *ROWS["layouts"], *every, *COMMON["special"], *patterns], name)
    )


@lru_cache
def _id_table(name: str, mask: str) -> NDArray[Any]:
    """256 ids of ``mask``, which a random byte picks from: half zero, the others as unlike as the type allows."""
    kind = dtype(name)
    width = 8 * kind.size
    low, high = integer_limits(kind)
    # I03: a kernel that reads fewer bytes than the id has sees zero in most of these.
    sparse = [value for value in (1 << 8, 3 << 14, 1 << 16, 1 << 24, 1 << 32, 5 << 40, 1 << 56) if value <= high]
    sparse += [low if low < 0 else 1 << (width - 1)]
    nonzero = [*sparse, 1, 2, high, -1 if low < 0 else 3]
    chosen = {"zero": [0], "nonzero": nonzero, "high": sparse, "mixed": nonzero}[mask]
    zeros = [0] * (len(chosen) if mask in ("mixed", "high") else 0)
    return np.resize(np.array(chosen + zeros, dtype=kind.numpy), 256)


def _ids(kind: DType, mask: str, n: int, stream: RandomStream) -> NDArray[Any]:
    picked: NDArray[Any] = _id_table(kind.name, mask)[stream.take(-(-n // 8)).view(np.uint8)[:n]]
    return picked


def build(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The launch of ``case``: all three operands read through their layouts, the output contiguous."""
    fields = Fields(case, _FIELDS)
    shape = fields.shape()
    default = fields.text("layout", "contiguous")
    ids, t, f = layouts = [fields.layout(name, shape, f"{name}_start", default) for name in _OPERANDS]
    mask = fields.choice("mask", "mixed", _MASKS)
    true = drawn(fields, kernel, "t", t, stream)
    false = drawn(fields, kernel, "f", f, stream)
    if fields.text("values", "unit") in TABLES:  # t and f must not hold the same value at the same place
        false = operand(kernel, "f", f, np.roll(false.data, len(false.data) // 2 + 1))
    given: dict[str, Argument] = {
        **indexed(fields, layouts, nullable=False),
        "ids": operand(kernel, "ids", ids, _ids(dtype(kernel.param("ids").dtype), mask, ids.length, stream)),
        "t": true,
        "f": false,
        "out": poisoned(fields, kernel, "out", ids.numel),
    }
    made = launch(kernel, fields, ids.numel, given)
    return apart(fields, made, dict(zip(_OPERANDS, layouts, strict=True)))


FAMILIES: dict[str, Family] = {
    "where": Family(lambda kernel: _rows(kernel.param("t").dtype, kernel.param("ids").dtype), build)
}
