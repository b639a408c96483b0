"""Kernels that store rather than compute: fill, const_set and copy2d."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from conformance.cases.arguments import Family, Fields, Row, apart, drawn, indexed, launch, poisoned, size_t
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Buffer, Launch, Scalar, Spread
from conformance.cases.layouts import EMPTY_LENGTH, Layout
from conformance.cases.rows import LARGE_TYPES, filled, parsed, rows_beside
from conformance.cases.spread import FAR, GAP, MOST_SPAN, rows_apart
from conformance.cases.values import RandomStream, scalar
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

_FILL_FIELDS = ("shape", "value", "grid", "block")
_CONST_SET_FIELDS = ("shape", "layout", "far", "start", "value", "info", "grid", "block")
_COPY2D_FIELDS = ("shape", "src_s", "dst_s", "src_start", "dst_start", "values", "grid", "block")

_LIMITS: tuple[str, ...] = ("0", "1", "min", "max")
_FLOAT_VALUES: tuple[str, ...] = ("-0.0", "nan", "inf", "-2.5", "0x1")

_COPY2D_EXHAUSTIVE = "shape=[{side},{side}],dst_s=300,values=exhaustive"


@lru_cache
def _store_rows(family: str, name: str) -> tuple[Row, ...]:
    rows = list(ROWS["fill"] if family == "fill" else ROWS["const_set"])
    if family == "const_set" and name in LARGE_TYPES:
        rows += ROWS["const_set_large"]
    chosen = _LIMITS + (_FLOAT_VALUES if dtype(name).kind == "float" else ())
    return parsed([*rows, *(f"shape=[77],value={value}" for value in chosen)])


@lru_cache
def _copy2d_rows(name: str) -> tuple[Row, ...]:
    every = [_COPY2D_EXHAUSTIVE] if dtype(name).size <= 2 else []
    return parsed(filled([*ROWS["copy2d"], *every], name))


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
    return apart(fields, launch(kernel, fields, placed.numel, given), {"out": placed})


def _copy2d(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """Rows of ``d2`` elements, ``src_s`` apart in the source and ``dst_s`` apart in the destination.

    Rows that are 2^31 elements apart or more are closed up, and the launch says how they are spread.
    """
    fields = Fields(case, _COPY2D_FIELDS)
    d1, d2 = fields.shape(rank=2)
    far = {name: fields.number(name, d2, least, MOST_SPAN - 1) for name, least in (("src_s", 0), ("dst_s", d2))}
    far = {name: stride for name, stride in far.items() if stride >= FAR and d1 > 1 and d2}
    # Rows that overlap in the destination have no defined content.
    src_s = d2 + GAP if "src_s" in far else fields.number("src_s", d2)
    dst_s = d2 + GAP if "dst_s" in far else fields.number("dst_s", d2, least=d2)
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
    made = launch(kernel, fields, d1 * d2, given, strides=False)
    return _spread(fields, made, d1, d2, far) if far else made


def _spread(fields: Fields, made: Launch, d1: int, d2: int, far: Mapping[str, int]) -> Launch:
    """``made``, whose strides of rows of the name of ``far`` are those in truth; raises ``ValueError`` for a span that
    Candle's 32-bit index does not reach."""
    pieces = {}
    for buffer in made.args:
        stride = far.get(f"{buffer.name}_s")
        if isinstance(buffer, Buffer) and stride is not None:
            if (d1 - 1) * stride + d2 > MOST_SPAN:
                raise ValueError(
                    f"case {fields.case.id}: {buffer.name} spans more elements than Candle's index has numbers, 2^32"
                )
            pieces[buffer.name] = rows_apart(d1, d2 + GAP, stride, buffer.start, buffer.data.size)
    real = {name: Scalar(name, "u32", scalar("u32", str(stride))) for name, stride in far.items()}
    return replace(made, spread=Spread(real, pieces))


FAMILIES: dict[str, Family] = {
    "fill": Family(lambda kernel: _store_rows("fill", kernel.param("buf").dtype), _fill),
    "const_set": Family(lambda kernel: _store_rows("const_set", kernel.param("out").dtype), _const_set),
    "copy2d": Family(lambda kernel: _copy2d_rows(kernel.param("src").dtype), _copy2d),
}
