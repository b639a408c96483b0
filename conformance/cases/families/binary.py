"""Two operands, one output: binary and compare."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import Family, Fields, Row, indexed, launch, operand, poisoned
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch
from conformance.cases.layouts import Layout
from conformance.cases.rows import BEYOND_32_BITS, EXHAUSTIVE, FLOATS, GEOMETRY, LARGE, SIZES, filled, parsed, shared
from conformance.cases.specials import integer_limits
from conformance.cases.values import TABLES, RandomStream, values
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel

_OPERANDS = ("lhs", "rhs")

_FIELDS = ("shape", "layout", *_OPERANDS, "lhs_start", "rhs_start", "values", "info", "outermost", "grid", "block")

# Four paths of each kernel: left strided, right strided, both, none.
_LAYOUTS: tuple[str, ...] = (
    "shape=[3,5,7],layout=transposed,values={v}",  # S01, L07
    "shape=[17,19],lhs=transposed,values={v}",  # S01, S02
    "shape=[17,19],rhs=transposed,values={v}",  # S01, S02
    "shape=[5,6,7],lhs=transposed,rhs=permuted,values={v}",  # S02
    "shape=[7,13,12],lhs=outer_swapped,rhs=narrowed,values={v}",  # S02, S04; two blocks
    "shape=[4,9,5],lhs=broadcast,values={v}",  # S03
    "shape=[4,9,5],rhs=broadcast,values={v}",  # S03
    "shape=[4,5,6],lhs=broadcast_first,rhs=broadcast_last,values={v}",  # S02, S03, S04
    "shape=[4,5,6],rhs=broadcast_middle,values={v}",  # S03, S04: the middle stride only
    "shape=[6,7,8],lhs=narrowed,values={v}",  # L08, L09: one side has an offset
    "shape=[5,6,8],rhs=narrowed_middle,values={v}",  # L08, L09, S04: the outermost stride only
    "shape=[3,4,5,6],lhs=narrowed_transposed,rhs=narrowed_all,values={v}",  # L08, L09, S02; rank 4
    "shape=[2,3,2,4,3],lhs=permuted,rhs=scalar,values={v}",  # S02, S03; rank 5
    "shape=[70],lhs=scalar,values={v}",  # S03
    "shape=[70],rhs=scalar,values={v}",  # S03
    "shape=[45],lhs=stepped,values={v}",  # S04: rank 1
    "shape=[2500],values={v},lhs_start=1,grid=1",  # L09, L21
    "shape=[2500],values={v},rhs_start=1,grid=1",  # L09, L21
    "shape=[3,4,48],lhs=outer_swapped,rhs=broadcast_last,values=large",  # S02, S03, S14: rows of whole packs
    "shape=[3,4,16],lhs=broadcast_last,rhs=outer_swapped,values=large",  # S02, S03, S14
    "shape=[20,18],lhs=transposed,values=large",  # S01, S02
    "shape=[2,3,40],layout=reversed,values=large",  # S01: no long dimension has stride 1
    "shape=[52,50],layout=transposed,values={v}",  # S01: most of a tile of 64 x 64
    "shape=[2,2,3,2,2,2,2,2],lhs=reversed,values={v}",  # S13: rank 8
    *BEYOND_32_BITS,
    "shape=[3,1,5,1,4],layout=ones,values={v},info=given",  # strides of dimensions of size 1 have no meaning
    "shape=[3,0,5],lhs=transposed,values={v},info=given",  # L11
    "shape=[],values={v}",  # rank 0
    "shape=[],values={v},info=given",  # S06
    "shape=[],values={v},info=given,lhs_start=1",  # S06, L09
    "shape=[3,5,7],values={v},info=given",  # S06
    "shape=[261],values={v},lhs_start=1",  # L08, L09; a 16-byte load would be misaligned on this side only
    "shape=[261],values={v},rhs_start=3",  # L08, L09
    "shape=[5,6,7],lhs=transposed,values={v},lhs_start=5,rhs_start=3",  # L09: a strided and a contiguous offset
)

# Of one operation in each type, see rows.SHARED.
_SHARED: tuple[str, ...] = (
    "shape=[48],rhs=stepped_by_2,values={v},rhs_start=0",  # S04
    "shape=[2,6,8],lhs=narrowed_middle,values={v}",  # S04: only the stride of the outermost two is off
    "shape=[2,6,8],rhs=narrowed_middle,values={v}",  # S04
    "shape=[4,2,6],lhs=broadcast_middle,values={v}",  # S04: only that of the middle two
    "shape=[4,2,6],rhs=broadcast_middle,values={v}",  # S04
    "shape=[5,4,2],lhs=broadcast_last,values={v}",  # S04: only that of the innermost two
    "shape=[5,4,2],rhs=broadcast_last,values={v}",  # S04
    "shape=[6,13],layout=narrowed,values={v},lhs_start=16,rhs_start=16",  # S14: the pitch is a whole number of packs
    "shape=[6,16],layout=narrowed,values={v},lhs_start=16,rhs_start=16",  # S14: the length is
    "shape=[3,4,16],lhs=outer_swapped,rhs=broadcast_first,values={v}",  # S14: rows of whole packs in another order
    "shape=[2,3,2,3,2,3],lhs=reversed,rhs=permuted,values={v}",  # S13: rank 6
    "shape=[2,2,3,2,2,2,2],rhs=permuted,values={v}",  # S13: rank 7
    "shape=[3,29,31],lhs=transposed,values={v},grid=2",  # L10 with strides of one side
    "shape=[3,29,31],rhs=transposed,values={v},grid=2",  # L10
    "shape=[70,130],lhs=transposed,values={v},grid=2",  # L21, W14
    "shape=[70,130],rhs=transposed,values={v},grid=2",  # L21, W14
)

_LARGE: tuple[str, ...] = (
    *LARGE,
    "shape=[257,257],lhs=transposed,values={v}",  # S12
    "shape=[257,257],rhs=transposed,values={v}",  # S12
)


_PAIRS: tuple[str, ...] = (
    "shape=[{pairs}],values=core",  # N01, N08, N11, N13, N18, R03, F03-F05: all pairs of the specials
    "shape=[{core},{core}],lhs=broadcast,rhs=broadcast_first,values=core",  # the same through strides
)

# Of minima and maxima of floats.
_EXTREMA: tuple[str, ...] = (
    "shape=[8,9,48],lhs=outer_swapped,values=core",  # N08, N11, S14: rows of whole packs
    "shape=[2501],values=ties,grid=1",  # N08, L10
    "shape=[2501],values=ties,lhs_start=1,grid=1",  # N08, L09, L21
    "shape=[20,18],lhs=transposed,values=ties",  # N08, S01
    "shape=[5,6,7],lhs=transposed,values=ties",  # N08, S01
)

_NAN_PAIRS = "shape=[{nan_pairs}],values=nans"  # N22

_ALL_PAIRS: tuple[str, ...] = (
    "shape=[65536],values=exhaustive",
    "shape=[256,256],lhs=broadcast,rhs=broadcast_first,values=exhaustive",
)


@lru_cache
def _rows(name: str, op: str, distribution: str) -> tuple[Row, ...]:
    kind = dtype(name)
    rows = [*SIZES, *GEOMETRY, *_LAYOUTS, *(shared(name, _SHARED, _LARGE) if op in ("add", "eq") else ())]
    rows += FLOATS if kind.kind == "float" else ()
    rows += _EXTREMA if kind.kind == "float" and op in ("maximum", "minimum") else ()
    rows += (_NAN_PAIRS,) if kind.kind == "float" and kind.size > 2 else ()
    rows += {1: _ALL_PAIRS, 2: (*_PAIRS, *EXHAUSTIVE)}.get(kind.size, _PAIRS)
    return parsed(filled(rows, name, distribution))


@lru_cache(maxsize=256)
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
    return launch(kernel, fields, numel, given)


FAMILIES: dict[str, Family] = {
    "binary": Family(lambda kernel: _rows(kernel.param("lhs").dtype, kernel.variant["op"], "unit"), build),
    # Random numbers are hardly ever equal: only a few values make a misread element show.
    "compare": Family(lambda kernel: _rows(kernel.param("lhs").dtype, kernel.variant["op"], "ties"), build),
}
