"""One operand, one output: unary, unary1, affine and cast."""

from __future__ import annotations

from functools import lru_cache

from conformance.cases.arguments import Family, Fields, Row, apart, drawn, in_place, indexed, launch, poisoned
from conformance.cases.case import Case
from conformance.cases.launch import Launch, Null
from conformance.cases.layouts import layout
from conformance.cases.rows import one_operand, parsed, rows_beside
from conformance.cases.values import RandomStream
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

# By-value parameters, each a field of its own name, with the value where the field is absent: float types, integers.
_SCALARS: dict[str, dict[str, tuple[str, str]]] = {
    "unary": {},
    "cast": {},
    "unary1": {"param": ("1.75", "2")},  # N19: not 1
    "affine": {"mul": ("2.5", "3"), "add": ("-0.75", "7")},
}

_FIELDS: dict[str, tuple[str, ...]] = {
    family: ("shape", "layout", "values", "info", "outermost", "far", "start", "out_start", "grid", "block")
    + (() if family == "cast" else ("inp",))
    + tuple(scalars)
    for family, scalars in _SCALARS.items()
}

# Not alpha=inf: whether exp(x) - 1 is 0 there depends on the last bit of exp.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "elu": ("0", "1", "-0.5", "100", "nan"),  # N19
    "powf": ("0", "0.5", "1", "2", "3", "-1", "-2.5", "60", "inf", "-inf", "nan"),  # N09
}


@lru_cache
def _unary1_rows(name: str, op: str) -> tuple[Row, ...]:
    swept = [row.replace("{p}", param) for param in _PARAMETERS.get(op, ("1",)) for row in ROWS["unary1"]]
    return parsed(one_operand(name, [*ROWS["far"], *swept], null_input=True))


@lru_cache
def _affine_rows(name: str) -> tuple[Row, ...]:
    extra = ROWS["affine_float"] if dtype(name).kind == "float" else ROWS["affine_integer"]
    return parsed(one_operand(name, [*ROWS["far"], *extra], null_input=True))


@lru_cache
def _cast_rows(name: str, to: str) -> tuple[Row, ...]:
    rows = ROWS["far"] + ROWS["cast"] + (ROWS["cast_large"] if (name, to) == ("f32", "f16") else ())
    return parsed(one_operand(name, rows, every="f32" in (name, to) or name == "i32"))


@lru_cache
def _unary_rows(name: str, op: str) -> tuple[Row, ...]:
    rows = ROWS["far"] + (ROWS["copy"] if op == "copy" else ())
    rows += ROWS["copy_large"] if op == "copy" and name in ("u8", "f32") else ()
    return parsed(one_operand(name, rows, null_input=True, every=op in ("copy", "neg")))


def build(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The launch of ``case``: numel elements read through the layout, written to a contiguous output."""
    fields = Fields(case, _FIELDS[kernel.launch])
    shape = fields.shape()
    placed = fields.layout("layout", shape, "start")
    given = indexed(fields, (placed,))
    for name, (of_float, of_integer) in _SCALARS[kernel.launch].items():
        default = of_float if dtype(kernel.param(name).dtype).kind == "float" else of_integer
        given[name] = fields.scalar(kernel, name, name, default)
    if fields.has("inp"):
        fields.choice("inp", "null", ("null",))
        content = drawn(fields, kernel, "out", layout("contiguous", shape), stream)
        given["inp"] = Null("inp")
        given["out"] = in_place(fields, kernel, "out", content.data[: placed.numel])
    else:
        given["inp"] = drawn(fields, kernel, "inp", placed, stream)
        given["out"] = poisoned(fields, kernel, "out", placed.numel, fields.number("out_start", 0))
    return apart(fields, launch(kernel, fields, placed.numel, given), {"inp": placed})


FAMILIES: dict[str, Family] = {
    "unary": Family(lambda kernel: _unary_rows(kernel.param("inp").dtype, kernel.variant.get("op", "")), build),
    "unary1": Family(lambda kernel: _unary1_rows(kernel.param("inp").dtype, kernel.variant.get("op", "")), build),
    "affine": Family(lambda kernel: _affine_rows(kernel.param("inp").dtype), build),
    "cast": Family(lambda kernel: _cast_rows(kernel.param("inp").dtype, kernel.param("out").dtype), build),
}
