"""One operand, one output: unary, unary1, affine and cast."""

from __future__ import annotations

from functools import lru_cache

from conformance.cases.arguments import (
    Family,
    Fields,
    Row,
    drawn,
    in_place,
    info,
    launch,
    poisoned,
    size_t,
)
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch, Null
from conformance.cases.layouts import layout
from conformance.cases.rows import one_operand, parsed
from conformance.cases.values import Words
from conformance.spec.kernel import Kernel

# By-value parameters: parameter, field, value where the field is absent.
_SCALARS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "unary": (),
    "cast": (),
    "unary1": (("param", "param", "1.75"),),
    "affine": (("mul", "mul", "2.5"), ("add", "add", "-0.75")),
}

_FIELDS: dict[str, tuple[str, ...]] = {
    family: ("shape", "layout", "values", "info", "start", "out_start", "grid", "block")
    + (() if family == "cast" else ("inp",))
    + tuple(field for _, field, _ in scalars)
    for family, scalars in _SCALARS.items()
}

# Candle's strided copy is the one that writes behind an offset.
_COPY: tuple[str, ...] = (
    "shape=[131],values=wide,out_start=3",  # L08, L09
    "shape=[9,11],layout=transposed,values=wide,out_start=1",  # L08, L09, S08
    "shape=[5,6,7],layout=narrowed,values=wide,start=7,out_start=5",  # L08, L09, S08
)

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "elu": ("0", "-0.5", "100", "nan"),  # N19
    "powf": ("0", "0.5", "2", "3", "-1", "-2.5", "inf", "-inf", "nan"),  # N09
}


@lru_cache
def _unary_rows(name: str, op: str) -> tuple[Row, ...]:
    return parsed(one_operand(name, _COPY if op == "copy" else (), null_input=True))


def build(kernel: Kernel, case: Case, words: Words) -> Launch:
    """The launch of ``case``: numel elements read through the layout, written to a contiguous output."""
    fields = Fields(case, _FIELDS[kernel.launch])
    shape = fields.shape()
    placed = fields.layout("layout", shape, "start")
    given: dict[str, Argument] = {
        "numel": size_t("numel", placed.numel),
        "num_dims": size_t("num_dims", len(shape)),
        "info": info(fields, "info", (placed,)),
    }
    for parameter, field, default in _SCALARS[kernel.launch]:
        given[parameter] = fields.scalar(kernel, parameter, field, default)
    if fields.has("inp"):
        fields.choice("inp", "null", ("null",))
        content = drawn(fields, kernel, "out", layout("contiguous", shape), words)
        given["inp"] = Null("inp")
        given["out"] = in_place(kernel, "out", content.data[: placed.numel])
    else:
        given["inp"] = drawn(fields, kernel, "inp", placed, words)
        given["out"] = poisoned(kernel, "out", placed.numel, fields.number("out_start", 0))
    return launch(kernel, fields, placed.numel, given)


FAMILIES: dict[str, Family] = {
    "unary": Family(lambda kernel: _unary_rows(kernel.param("inp").dtype, kernel.variant.get("op", "")), build),
}
