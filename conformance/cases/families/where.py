"""Three operands of two types, one output: where."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Family, Fields, Row, drawn, indexed, launch, operand, poisoned
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch
from conformance.cases.rows import (
    BEYOND_32_BITS,
    EXHAUSTIVE,
    GEOMETRY,
    LARGE,
    NANS,
    SIZES,
    SPECIAL,
    filled,
    parsed,
    shared,
)
from conformance.cases.specials import integer_limits
from conformance.cases.values import TABLES, RandomStream
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel

_OPERANDS = ("ids", "t", "f")

_MASKS = ("mixed", "zero", "nonzero", "high")

_STARTS = tuple(f"{name}_start" for name in _OPERANDS)

_FIELDS = ("shape", "layout", *_OPERANDS, *_STARTS, "values", "mask", "info", "outermost", "grid", "block")

# Candle never passes a null info here.
_LAYOUTS: tuple[str, ...] = (
    "shape=[3,5,7],layout=transposed,values={v}",  # S01, L07
    "shape=[17,19],ids=transposed,values={v}",  # S01, S02
    "shape=[17,19],t=transposed,values={v}",  # S01, S02
    "shape=[17,19],f=transposed,values={v}",  # S01, S02
    "shape=[5,6,7],ids=transposed,t=permuted,f=outer_swapped,values={v}",  # S02
    "shape=[7,13,12],ids=permuted,t=narrowed,values={v}",  # S02; two blocks
    "shape=[4,9,5],ids=broadcast,values={v}",  # S03
    "shape=[4,9,5],t=broadcast,f=scalar,values={v}",  # S02, S03
    "shape=[4,5,6],ids=broadcast_first,t=broadcast_last,f=broadcast_middle,values={v}",  # S02, S03, S04
    "shape=[4,5,6],ids=broadcast_middle,values={v}",  # S04: the middle stride of one operand only
    "shape=[4,5,6],f=broadcast_last,values={v}",  # S04: the last stride of one operand only
    "shape=[6,7,8],ids=narrowed,values={v}",  # L08, L09
    "shape=[5,6,8],t=narrowed_middle,f=narrowed,values={v}",  # L08, L09, S04
    "shape=[3,4,5,6],layout=narrowed_transposed,values={v}",  # L08, S01; rank 4
    "shape=[2,3,2,4,3],ids=reversed,t=permuted,values={v}",  # S02; rank 5
    "shape=[70],ids=scalar,values={v}",  # S03
    "shape=[45],ids=stepped,f=stepped,values={v}",  # S04: rank 1
    "shape=[2500],values={v},ids_start=1,grid=1",  # L09, L21
    "shape=[2500],values={v},t_start=1,grid=1",  # L09, L21
    "shape=[2500],values={v},f_start=1,grid=1",  # L09, L21
    "shape=[3,4,48],ids=outer_swapped,t=broadcast_last,values={v}",  # S02, S03, S14: rows of whole packs
    "shape=[3,4,16],ids=broadcast_last,t=outer_swapped,f=outer_swapped,values={v}",  # S02, S03, S14
    "shape=[3,4,16],f=broadcast_last,values={v}",  # S03, S14
    "shape=[2,3,40],layout=reversed,values={v}",  # S01: no long dimension has stride 1
    "shape=[52,50],layout=transposed,values={v}",  # S01: most of a tile of 64 x 64
    "shape=[2,2,3,2,2,2,2,2],layout=reversed,values={v}",  # S13: rank 8
    *BEYOND_32_BITS,
    "shape=[3,1,5,1,4],layout=ones,values={v}",  # strides of dimensions of size 1 have no meaning
    "shape=[3,0,5],t=transposed,values={v}",  # L11
    "shape=[],values={v}",  # rank 0
    "shape=[],values={v},t_start=1",  # rank 0, L09
    "shape=[261],values={v},ids_start=1",  # L08, L09
    "shape=[261],values={v},t_start=3",  # L08, L09
    "shape=[261],values={v},f_start=1",  # L08, L09
    "shape=[300],values=wide,mask=zero",
    "shape=[300],values=wide,mask=nonzero",  # I03
    "shape=[300],values=wide,mask=high",  # I03: nonzero ids whose low byte is zero, where the type has them
)


# Of one type of condition, see rows.SHARED.
_SHARED: tuple[str, ...] = (
    "shape=[48],t=stepped_by_2,values={v},t_start=0",  # S04
    "shape=[2,6,8],ids=narrowed_middle,values={v}",  # S04: only the stride of the outermost two is off
    "shape=[2,6,8],t=narrowed_middle,values={v}",  # S04
    "shape=[2,6,8],f=narrowed_middle,values={v}",  # S04
    "shape=[4,2,6],ids=broadcast_middle,values={v}",  # S04: only that of the middle two
    "shape=[5,4,2],t=broadcast_last,values={v}",  # S04: only that of the innermost two
    "shape=[5,4,2],f=broadcast_last,values={v}",  # S04
    "shape=[6,13],layout=narrowed,values={v},ids_start=16,t_start=16,f_start=16",  # S14: the pitch is whole packs
    "shape=[6,16],layout=narrowed,values={v},ids_start=16,t_start=16,f_start=16",  # S14: the length is
    "shape=[3,4,16],ids=broadcast_first,t=outer_swapped,values={v}",  # S14: rows of whole packs in another order
    "shape=[2,3,2,3,2,3],ids=reversed,f=permuted,values={v}",  # S13: rank 6
    "shape=[2,2,3,2,2,2,2],t=permuted,values={v}",  # S13: rank 7
    "shape=[3,29,31],ids=transposed,values={v},grid=2",  # L10 with strides of one operand
    "shape=[3,29,31],t=transposed,values={v},grid=2",  # L10
    "shape=[3,29,31],f=transposed,values={v},grid=2",  # L10
    "shape=[70,130],ids=transposed,values={v},grid=2",  # L21, W14
    "shape=[70,130],t=transposed,f=transposed,values={v},grid=2",  # L21, W14
)


@lru_cache
def _rows(name: str, ids: str) -> tuple[Row, ...]:
    kind = dtype(name)
    patterns = EXHAUSTIVE if kind.size <= 2 else NANS if kind.kind == "float" else ()
    every = shared(name, _SHARED, LARGE) if ids == "u8" else ()
    return parsed(filled([*SIZES, *GEOMETRY, *_LAYOUTS, *every, *SPECIAL, *patterns], name))


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
    return launch(kernel, fields, ids.numel, given)


FAMILIES: dict[str, Family] = {
    "where": Family(lambda kernel: _rows(kernel.param("t").dtype, kernel.param("ids").dtype), build)
}
