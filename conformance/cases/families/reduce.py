"""Reductions of rows by one block each (fast_*), and sums by atomic additions.

Dimensions come in the order that Candle gives the kernel: those that stay, then ``reduced`` ones (1 unless given).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from conformance.cases.arguments import Family, Fields, Row, drawn, in_order, in_place, info, launch, poisoned, size_t
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Launch
from conformance.cases.layouts import info_array
from conformance.cases.row_patterns import with_row_pattern
from conformance.cases.rows import filled, parsed
from conformance.cases.specials import special
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

MAX_THREADS = 1024
"""Threads of a block of the fast reductions, at most."""

_FAST_FIELDS = ("shape", "reduced", "layout", "start", "values", "mark")

_SUM_FIELDS = ("shape", "sum", "layout", "start", "values", "mark", "grid", "block")

# Row lengths are those at which threads, waves, levels of the tree or strips begin.
_FAST: tuple[str, ...] = (
    "shape=[7,1],values=unit",  # one thread a block
    "shape=[5,2],values=unit",
    "shape=[9,3],values=unit",  # W10: a thread without an element
    "shape=[3,31],values=wide",
    "shape=[4,32],values=unit",
    "shape=[5,33],values=unit",  # W01: the first level that leaves a group of 32
    "shape=[3,64],values=unit",  # W01, R07: a row's index is written as u32 whatever the type
    "shape=[3,65],values=mid",  # W01, W06
    "shape=[3,257],values=unit",  # W06
    "shape=[2,1000],values=large",  # W06, W09: threads without an element, W11
    "shape=[2,1024],values=unit",  # W06, W11, W13
    "shape=[2,1025],values=unit",  # W11; two strips
    "shape=[1,4099],values=unit",  # R08: f16 and bf16 round at every step
    "shape=[1,9100],values=unit",  # R08: nine strips
    "shape=[3,1500],values=large,mark=equal",  # R05, R08: overflow in f16, sums that stand still in bf16
    "shape=[4,300],values=ties",  # R05
    "shape=[6,70],values=unit,mark=high",  # R02
    "shape=[2,3,1030],values=ties",  # R05 in the second strip
    "shape=[{eighth},8],values=special",  # R01, R02, R03, R10
    "shape=[6,50],layout=transposed,values=unit",  # S01, L07
    "shape=[24,1024],layout=transposed,values=unit",  # S01: a block may read neighbouring rows together
    "shape=[21,700],layout=transposed,values=ties",  # S01: rows that are left over then
    "shape=[3,4,70],layout=permuted,values=unit",  # S01
    "shape=[3,4,40],layout=narrowed,values=unit",  # L08, L09
    "shape=[2,3,130],layout=narrowed_transposed,values=unit",  # L08, L09, S01
    "shape=[5,33],layout=broadcast_first,values=unit",  # S03
    "shape=[5,33],layout=broadcast_last,values=unit",  # S03, R05: one value a row
    "shape=[2,261],values=unit,start=1",  # L08, L09; 16-byte loads would be misaligned
    "shape=[33],layout=stepped,values=unit",  # everything reduced
    "shape=[33],layout=stepped_by_2,values=unit",  # S04
    "shape=[3,70],values=unit,mark=lowest",  # R01, R02: threads without an element next to nothing but the limit
    "shape=[3,70],values=unit,mark=greatest",  # R01, R02
    "shape=[2,6,8],layout=narrowed_middle,values=unit",  # S04: only the stride of the outermost two is off
    "shape=[4,2,6],layout=broadcast_middle,values=unit",  # S04: only that of the middle two
    "shape=[5,4,2],layout=stepped,values=unit",  # S04: the innermost two
    "shape=[6,13],layout=narrowed,values=unit,start=16",  # S14: the pitch is a whole number of packs
    "shape=[6,16],layout=narrowed,values=unit,start=16",  # S14: the length is
    "shape=[2,3,2,3,2,3],layout=reversed,values=unit",  # S13: rank 6
    "shape=[2,2,3,2,2,2,2],layout=permuted,values=unit",  # S13: rank 7
    "shape=[2,2,3,2,2,2,2,3],layout=reversed,values=unit",  # S13: rank 8
    "shape=[3,1,5,1,40],layout=ones,values=unit",  # strides of dimensions of size 1 have no meaning
)

# Not for argmin and argmax, which reduce one dimension.
_SEVERAL: tuple[str, ...] = (
    "shape=[4,5,7],reduced=2,layout=outer_swapped,values=unit",  # S01: a row has no one stride
    "shape=[3,5,7,11],reduced=3,layout=reversed,values=unit",  # S01
    "shape=[4,5,7,1],reduced=3,layout=outer_swapped,values=unit",  # S01: the innermost of size 1
    "shape=[6,10,20],reduced=2,values=unit",
    "shape=[6,7,11],reduced=3,layout=narrowed_middle,values=unit",  # S01, L09
    "shape=[],reduced=0,values=unit",  # rank 0: an info without content
    "shape=[3,5],reduced=0,layout=transposed,values=unit",
)

_LARGE = "shape=[257,257],layout=transposed,values=unit"  # S12: of one type, as it takes long

# S12, W11: as long as a vocabulary.
_LONG = "shape=[1,70000],values=unit,mark=ends"
_LONG_SUM = "shape=[1,70000],values=ties,mark=sparse"
_LONG_SUM_INTEGERS = "shape=[1,70000],values=unit"

_LARGE_SUM = "shape=[257,257],sum=[1],layout=transposed,values=ties"  # S12

_EMPTY = "shape=[3,0],values=unit"  # L11: sums only, the others are refused by Candle

_FLOATS: tuple[str, ...] = (
    "shape=[3,70],values=unit,mark=minus_inf",  # R01
    "shape=[3,70],values=unit,mark=plus_inf",  # R01
    "shape=[3,1100],values=unit,mark=nan_first",  # R03
    "shape=[3,1100],values=unit,mark=nan_later",  # R03: in the first and in the second strip
    "shape=[5,33],values=unit,mark=nan_last",  # R03
    "shape=[2,40],values=unit,mark=nan",  # R01, R03
    "shape=[5,35],values=unit,mark=zeros",  # R03: the sign of zero
    "shape=[4,100],values=subnormal",  # N13
)

# Every order of these sums is exact in every type, so that no bound hides what is left out.
_FAST_SUM_FLOATS: tuple[str, ...] = (
    "shape=[3,100],values=ties,mark=sparse",  # R08
    "shape=[5,700],values=ties,mark=sparse",  # W01, W06, R08
    "shape=[5,1025],values=ties,mark=sparse",  # W01, W06, R08
    "shape=[3,4099],values=ties,mark=sparse",  # W01, W06, R08
)

_SUM: tuple[str, ...] = (
    "shape=[5,40],sum=[1],values=ties",  # sums that no order rounds
    "shape=[5,40],sum=[1],values=unit",  # R08
    "shape=[40,5],sum=[0],values=unit",
    "shape=[3,7,11],sum=[1],values=ties",  # L05
    "shape=[3,7,11],sum=[0,2],values=ties",  # several dimensions, in order
    "shape=[3,7,11],sum=[0,1,2],values=unit",  # one output
    "shape=[6,7],sum=[],values=ties",  # nothing to sum: added to what is there
    "shape=[17,19],sum=[0],layout=transposed,values=ties",  # S01, L07
    "shape=[3,5,7],sum=[2],layout=permuted,values=ties",  # S01
    "shape=[4,6,9],sum=[1],layout=narrowed,values=ties",  # L08, L09
    "shape=[4,5,6],sum=[1],layout=broadcast_middle,values=ties",  # S03
    "shape=[2,700],sum=[1],values=ties",  # R08; two blocks
    "shape=[5,500],sum=[0],values=ties,grid=1",  # L10
    "shape=[9,100],sum=[1],values=unit,block=96,grid=2",  # L10; a block that is not a power of two
    "shape=[9,100],sum=[1],values=ties,block=96,grid=2",  # W14: the same, each sum exact
    "shape=[9,100],sum=[0],values=ties,grid=1",  # L21
    "shape=[2,6,8],sum=[1],layout=narrowed_middle,values=ties",  # S04: only the stride of the outermost two is off
    "shape=[5,4,2],sum=[1],layout=broadcast_last,values=ties",  # S04: the innermost two
    "shape=[48],sum=[0],layout=stepped_by_2,values=ties",  # S04
    "shape=[6,13],sum=[1],layout=narrowed,values=ties,start=16",  # S14
    "shape=[2,3,2,3,2,3],sum=[1,4],layout=reversed,values=ties",  # S13: rank 6
    "shape=[2,2,3,2,2,2,2,2],sum=[0,2,7],layout=reversed,values=ties",  # S13: rank 8
    "shape=[3,261],sum=[0],values=ties,start=1",  # L08, L09
    "shape=[9,3],sum=[1],values=ties",  # an odd number of 16-bit outputs: two share a word
    "shape=[0],sum=[0],values=unit",  # L11
)

_SUM_FLOATS: tuple[str, ...] = (
    "shape=[4,40],sum=[1],values=unit,mark=nan_first",
    "shape=[4,40],sum=[1],values=unit,mark=one_inf",
)

_SUM_INTEGERS: tuple[str, ...] = ("shape=[3,{special}],sum=[0],values=special", "shape=[3,400],sum=[1],values=wide")


def _written(rows: tuple[str, ...], name: str) -> tuple[Row, ...]:
    eighth = str(len(special(name)) // 8)
    return parsed(filled([row.replace("{eighth}", eighth) for row in rows], name))


@lru_cache
def _fast_rows(op: str, name: str) -> tuple[Row, ...]:
    rows = _FAST
    rows += () if op.startswith("arg") else _SEVERAL
    rows += (_EMPTY,) if op == "sum" else ()
    rows += (_LARGE,) if name == "f32" else ()
    rows += _FLOATS if dtype(name).kind == "float" else ()
    if op != "sum":
        return _written((*rows, _LONG), name)
    rows += (*_FAST_SUM_FLOATS, _LONG_SUM) if dtype(name).kind == "float" else (_LONG_SUM_INTEGERS,)
    return _written(rows, name)


@lru_cache
def _sum_rows(name: str) -> tuple[Row, ...]:
    rows = _SUM + (_SUM_FLOATS if dtype(name).kind == "float" else _SUM_INTEGERS)
    return _written(rows + ((_LARGE_SUM,) if name == "f32" else ()), name)


def source(fields: Fields, kernel: Kernel, name: str, buffer: Buffer, columns: int) -> Buffer:
    """``buffer`` (input ``name``) with its rows of ``columns`` elements overwritten as ``mark`` says, if given."""
    if not fields.has("mark"):
        return buffer
    kind = dtype(kernel.param(name).dtype)
    data = buffer.data.copy()
    rows = data[buffer.start :]
    rows[...] = fields.located(lambda: with_row_pattern(fields.text("mark", ""), rows, columns, kind))
    return Buffer(buffer.name, buffer.dtype, buffer.role, data, buffer.start)


def _fast(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """A block per row; threads are the power of two from min(1024, length) on."""
    fields = Fields(case, _FAST_FIELDS)
    shape = fields.shape()
    reduced = fields.number("reduced", min(1, len(shape)), 0, len(shape))
    kept = math.prod(shape[: len(shape) - reduced])
    if kept == 0:
        raise ValueError(f"case {case.id}: the dimensions that stay have no element, so there is no block to start")
    placed = fields.layout("layout", shape, "start")
    length = placed.numel // kept
    if length == 0 and kernel.variant["op"] != "sum":
        raise ValueError(f"case {case.id}: only sums are defined over an empty dimension")
    given: dict[str, Argument] = {
        "src_numel": size_t("src_numel", placed.numel),
        "el_to_sum_per_block": size_t("el_to_sum_per_block", length),
        "num_dims": size_t("num_dims", len(shape)),
        "info": Buffer("info", "size_t", "in", info_array(shape, placed.strides)),
        "src": source(fields, kernel, "src", drawn(fields, kernel, "src", placed, stream), length),
        "dst": poisoned(fields, kernel, "dst", kept),
    }
    threads = 1 << (min(MAX_THREADS, max(1, length)) - 1).bit_length()
    return Launch(kernel.name, (kept, 1, 1), (threads, 1, 1), 0, in_order(kernel, given.values()))


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
