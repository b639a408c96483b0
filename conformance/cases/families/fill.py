"""Kernels that store rather than compute: fill, const_set and copy2d."""

from __future__ import annotations

from functools import lru_cache

from conformance.cases.arguments import Family, Fields, Row, drawn, indexed, launch, poisoned, size_t
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch, Scalar
from conformance.cases.layouts import EMPTY_LENGTH, Layout
from conformance.cases.rows import LARGE_TYPES, filled, parsed
from conformance.cases.values import RandomStream, scalar
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

_FILL_FIELDS = ("shape", "value", "grid", "block")
_CONST_SET_FIELDS = ("shape", "layout", "start", "value", "info", "grid", "block")
_COPY2D_FIELDS = ("shape", "src_s", "dst_s", "src_start", "dst_start", "values", "grid", "block")

_LIMITS: tuple[str, ...] = ("0", "1", "min", "max")
_FLOAT_VALUES: tuple[str, ...] = ("-0.0", "nan", "inf", "-2.5", "0x1")

# L02: value and numel change places in ports; L06: a value of another width.
_FILL: tuple[str, ...] = (
    "shape=[0],value=pattern",  # L11
    *(f"shape=[{n}],value=pattern" for n in (1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025)),  # S10
    "shape=[2500],value=pattern,grid=1",  # L10
    "shape=[4099],value=pattern,grid=2",  # L10
    "shape=[2500],value=pattern,block=64,grid=1",  # L21
    "shape=[66049],value=pattern",  # S12
    "shape=[1000],value=pattern,block=64",
    "shape=[300],value=pattern,block=96,grid=2",  # L10
    "shape=[4],value=pattern",  # L02
)

_CONST_SET: tuple[str, ...] = (
    *_FILL,
    "shape=[17,19],layout=transposed,value=pattern",  # S01, S08
    "shape=[17,19],layout=transposed,value=pattern,start=1",  # S08, L08, L09
    "shape=[3,5,7],layout=transposed,value=pattern",  # S08, L07
    "shape=[7,13,12],layout=permuted,value=pattern",  # S08; two blocks
    "shape=[4,6,9],layout=outer_swapped,value=pattern",  # S08
    "shape=[2,3,2,4,3],layout=reversed,value=pattern",  # S08; rank 5
    "shape=[6,7,8],layout=narrowed,value=pattern",  # S04, S08, L08: gaps stay
    "shape=[5,6,8],layout=narrowed_middle,value=pattern",  # S04, S08: the outermost stride only
    "shape=[3,4,5,6],layout=narrowed_transposed,value=pattern",  # S08, L09
    "shape=[3,4,5],layout=narrowed_all,value=pattern",  # S08
    "shape=[48],layout=stepped_by_2,value=pattern,start=0",  # S04, S08
    "shape=[45],layout=stepped,value=pattern",  # S04, S08: two gaps after each element
    "shape=[9,31,11],layout=stepped,value=pattern,grid=1",  # L10 with strides
    "shape=[4,5,6],layout=broadcast_middle,value=pattern",  # S03, S04: elements written several times
    "shape=[4,5,6],layout=broadcast_last,value=pattern",  # S03, S04
    "shape=[70],layout=scalar,value=pattern",  # S03
    "shape=[2,6,8],layout=narrowed_middle,value=pattern",  # S04: only the stride of the outermost two is off
    "shape=[3,2,8],layout=narrowed_middle,value=pattern",  # S04: the middle two
    "shape=[5,4,2],layout=stepped,value=pattern",  # S04: the innermost two
    "shape=[6,13],layout=narrowed,value=pattern,start=16",  # S14: the pitch is a whole number of packs
    "shape=[6,16],layout=narrowed,value=pattern,start=16",  # S14: the length is
    "shape=[2,3,2,3,2,3],layout=reversed,value=pattern",  # S13: rank 6
    "shape=[2,2,3,2,2,2,2],layout=permuted,value=pattern",  # S13: rank 7
    "shape=[2,2,3,2,2,2,2,2],layout=reversed,value=pattern",  # S13: rank 8
    "shape=[2,2,1,3,2,2,2,2],layout=reversed,value=pattern",  # S13: rank 8 with a dimension of size 1
    "shape=[70,130],layout=transposed,value=pattern,grid=2",  # L21, W14
    "shape=[2500],value=pattern,start=1,grid=1",  # L09, L21
    "shape=[3,1,5,1,4],layout=ones,value=pattern,info=given",  # strides of dimensions of size 1 have no meaning
    "shape=[3,0,5],layout=transposed,value=pattern,info=given",  # L11
    "shape=[],value=pattern",  # rank 0
    "shape=[],value=pattern,info=given",  # S06
    "shape=[3,5,7],value=pattern,info=given",  # S06
    "shape=[261],value=pattern,start=1",  # L08, L09; a 16-byte store would be misaligned
    "shape=[260],value=pattern,start=3",  # L08, L09
)

_COPY2D: tuple[str, ...] = (
    "shape=[0,5],values=wide",  # L11
    "shape=[5,0],values=wide",  # L11
    "shape=[1,1],values=wide",
    *(f"shape=[1,{n}],values=wide" for n in (31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025)),  # S10, S11
    "shape=[37,1],values=wide",
    "shape=[37,1],src_s=5,dst_s=7,values=wide",  # L02: d1 and d2, src_s and dst_s differ
    "shape=[17,19],values=wide",
    "shape=[17,19],src_s=23,values=wide",  # S11
    "shape=[17,19],dst_s=29,values=wide",  # S11: gaps stay
    "shape=[17,19],src_s=23,dst_s=29,values=wide",  # L02, S11
    "shape=[19,17],src_s=40,dst_s=18,values=wide",  # L02
    "shape=[6,11],src_s=0,values=wide",  # S03: one row repeated
    "shape=[25,41],src_s=43,dst_s=42,values=wide",  # S10: one element in the second block
    "shape=[3,1500],src_s=1501,dst_s=1503,values=wide",  # L10: five blocks
    "shape=[1500,3],src_s=4,dst_s=5,values=wide",  # L10
    "shape=[300,300],src_s=301,dst_s=302,values=wide",  # S12
    "shape=[6,13],src_s=16,dst_s=16,src_start=16,dst_start=16,values=wide",  # S14: pitches of whole packs
    "shape=[6,16],src_s=32,dst_s=48,values=wide",  # S14, L02: all are
    "shape=[6,16],src_s=19,dst_s=16,src_start=16,dst_start=16,values=wide",  # S14
    "shape=[6,16],src_s=16,dst_s=19,src_start=16,dst_start=16,values=wide",  # S14
    "shape=[9,30],src_s=32,dst_s=32,src_start=1,values=wide",  # L08, L09
    "shape=[9,30],src_s=32,dst_s=32,dst_start=3,values=wide",  # L08, L09
    "shape=[9,31],src_s=33,dst_s=35,src_start=5,dst_start=7,values=wide",  # L08, L09
    "shape=[10,100],dst_s=101,block=64,values=wide",
    "shape=[7,43],dst_s=44,block=96,values=wide",
    "shape=[7,9],dst_s=11,grid=3,values=wide",  # S10: whole blocks with nothing to do
    "shape=[1,{special}],values=special",
)

_COPY2D_EXHAUSTIVE = "shape=[{side},{side}],dst_s=300,values=exhaustive"


@lru_cache
def _store_rows(family: str, name: str) -> tuple[Row, ...]:
    rows = list(_FILL if family == "fill" else _CONST_SET)
    if family == "const_set" and name in LARGE_TYPES:
        rows.append("shape=[257,257],layout=narrowed,value=pattern")  # S12
    chosen = _LIMITS + (_FLOAT_VALUES if dtype(name).kind == "float" else ())
    return parsed([*rows, *(f"shape=[77],value={value}" for value in chosen)])


@lru_cache
def _copy2d_rows(name: str) -> tuple[Row, ...]:
    every = [_COPY2D_EXHAUSTIVE] if dtype(name).size <= 2 else []
    return parsed(filled([*_COPY2D, *every], name))


def _fill(kernel: Kernel, case: Case, _: RandomStream) -> Launch:
    fields = Fields(case, _FILL_FIELDS)
    (n,) = fields.shape(rank=1)
    given: dict[str, Argument] = {
        "buf": poisoned(fields, kernel, "buf", n),
        "value": fields.scalar(kernel, "value", "value", "pattern"),
        "numel": size_t("numel", n),
    }
    return launch(kernel, fields, n, given)


def _const_set(kernel: Kernel, case: Case, _: RandomStream) -> Launch:
    """The output is what has strides here; elements between them stay poisoned."""
    fields = Fields(case, _CONST_SET_FIELDS)
    placed = fields.layout("layout", fields.shape(), "start")
    given: dict[str, Argument] = {
        **indexed(fields, (placed,)),
        "inp": fields.scalar(kernel, "inp", "value", "pattern"),
        "out": poisoned(fields, kernel, "out", placed.length - placed.start, placed.start),
    }
    return launch(kernel, fields, placed.numel, given)


def _copy2d(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """Rows of ``d2`` elements, ``src_s`` apart in the source and ``dst_s`` apart in the destination."""
    fields = Fields(case, _COPY2D_FIELDS)
    d1, d2 = fields.shape(rank=2)
    src_s = fields.number("src_s", d2)
    dst_s = fields.number("dst_s", d2, least=d2)  # rows that overlap have no defined content
    src_start = fields.number("src_start", 0)
    dst_start = fields.number("dst_start", 0)
    empty = d1 * d2 == 0
    length = src_start + (EMPTY_LENGTH if empty else (d1 - 1) * src_s + d2)
    source = Layout("rows", (d1, d2), (src_s, 1), src_start, length, src_s == d2)
    given: dict[str, Argument] = {
        "src": drawn(fields, kernel, "src", source, stream),
        "dst": poisoned(fields, kernel, "dst", 0 if empty else (d1 - 1) * dst_s + d2, dst_start),
    }
    for name, value in (("d1", d1), ("d2", d2), ("src_s", src_s), ("dst_s", dst_s)):
        given[name] = Scalar(name, "u32", scalar("u32", str(value)))
    return launch(kernel, fields, d1 * d2, given, strides=False)


FAMILIES: dict[str, Family] = {
    "fill": Family(lambda kernel: _store_rows("fill", kernel.param("buf").dtype), _fill),
    "const_set": Family(lambda kernel: _store_rows("const_set", kernel.param("out").dtype), _const_set),
    "copy2d": Family(lambda kernel: _copy2d_rows(kernel.param("src").dtype), _copy2d),
}
