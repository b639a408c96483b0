"""Cases that Candle's Rust side never launches, with the reason and where its sources say so.

A kernel is a kernel of Candle's by what Candle launches. The other cases ask for more, such as a grid that is smaller
than the data; what becomes of them is counted apart, as robustness. A function of Rust's that launches a kernel counts
with all of its arguments, also where its callers prefer another kernel most of the time (conv1d, conv2d).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from conformance.cases.case import Case, parse_fields

_BACKEND = "candle-core/src/cuda_backend/mod.rs"
_MMVQ = "candle-core/src/quantized/fast_mmvq.rs"
_MOE = "candle-transformers/src/fused_moe.rs"
_OPS = "candle-nn/src/ops.rs"
_QUANTIZED = "candle-core/src/quantized/cuda.rs"

_STRIDED = {"affine": 147, "cast": 1549, "const_set": 1509, "unary": 421, "unary1": 178}
_IN_PLACE = {"affine": 148, "unary": 422, "unary1": 179}
_TWO_SIDED = {"binary": 1140, "compare": 1177}
_INDEXED = {"index_select": 476, "gather": 523, "index_add": 590, "scatter": 643, "scatter_add": 695}
_CONVOLVED = {
    "im2col1d": 222,
    "im2col": 273,
    "conv1d": 728,
    "conv2d": 775,
    "col2im1d": 812,
    "conv_transpose1d": 846,
    "conv_transpose2d": 894,
    "avg_pool2d": 953,
    "max_pool2d": 953,
    "upsample_nearest2d": 996,
    "upsample_bilinear2d": 1043,
}
_ELEMENTWISE = {
    "affine": 146,
    "unary": 420,
    "unary1": 177,
    "cast": 1547,
    "binary": 1139,
    "compare": 1176,
    "where": 1103,
}
_FILLS = {"copy2d": 2325, "const_set": 1508}
_ZEROED = {"quantize_q8_1": 387, "mmvq": 405, "mmq": 477, "indexed_moe_forward": 540}
_GRIDS = {**_ELEMENTWISE, **_INDEXED, **_CONVOLVED, **_FILLS}


class NeverLaunched(NamedTuple):
    """Why a case is never launched, and ``FILE:LINE`` in Candle's Rust sources."""

    why: str
    where: str


@dataclass(frozen=True, eq=False)
class Row:
    """Cases of some launch families by one field: ``lines`` has the line of ``file`` for each family."""

    field: str
    matches: Callable[[str], bool]
    why: str
    lines: Mapping[str, int]
    file: str = _BACKEND

    def holds(self, case: Case) -> bool:
        """Whether the field of ``case`` is as the row has it, whatever its family."""
        fields = _fields(case)
        return self.field in fields and self.matches(fields[self.field])


def _given(_: str) -> bool:
    return True


def _any_of(*words: str) -> Callable[[str], bool]:
    return lambda value: value in words


def _has_zero(value: str) -> bool:
    return re.search(r"\b0\b", value) is not None


def _has_zero_outside(value: str) -> bool:
    """Whether a dimension other than the indexed one, in the middle, is 0."""
    return value.startswith("[0,") or value.endswith(",0]")


def _splits_a_block(value: str) -> bool:
    return value.isdecimal() and int(value) % 32 != 0


def _more_than_eight(value: str) -> bool:
    return value.isdecimal() and int(value) > 8


_NO_NULL_INPUT = "the input is never null: Rust passes the address of a tensor, also where it writes in place"
_NO_NULL_SCALE = "neither alpha nor beta is ever null: Rust takes both from tensors"
_OWN_GRID = "Rust launches blocks of 1,024 threads, as many as there are elements to go round"
_NULL_INFO = "Rust passes null where the layout is contiguous"
_WHOLE_TENSOR = "Rust launches for as many elements as the dims in info have"
_OWN_SIZES = "Rust passes the sizes of the tensors, none of which is beyond its data"
_EMPTY_GRID = "there is nothing to compute: a grid of 0 blocks, which the driver refuses"
_NOTHING_TO_COPY = "there is nothing to copy, and Rust returns before it launches"
_BAD_IDS = "an id out of range is the caller's error, which Rust does not look for; Candle's kernel stops at an assert"
_OWN_INFO = "Rust passes the layout of the ids as info, never that of the source, which has to be contiguous"
_FRESH_OUTPUT = "Rust allocates the output, so it starts where an allocation does"
_ZEROED_OUTPUT = "Rust fills the output with zeros before the launch"
_OWN_STRIDES = "Rust passes the strides of tightly packed columns"
_PACKED_ROWS = "Rust passes the stride of tightly packed rows of weights"
_FEW_COLUMNS = "Rust calls this launcher for 8 columns at most"
_OWN_DEVICE = "Rust passes the compute capability of the device itself; Candle's kernels of another one fault"
_SORTED = "Rust sorts the experts of all tokens, each of which has one that exists"
_WHOLE_BLOCKS = "rows of a quantized tensor are whole blocks, of 32 values or more"

ROWS = (
    Row("inp", _any_of("null"), _NO_NULL_INPUT, _IN_PLACE),
    Row("alpha", _any_of("null"), _NO_NULL_SCALE, {"rmsnorm": 592, "layernorm": 836}, _OPS),
    Row("beta", _any_of("null"), _NO_NULL_SCALE, {"layernorm": 837}, _OPS),
    Row("shape", _has_zero, _EMPTY_GRID, {**_ELEMENTWISE, "const_set": 1508}),
    Row("shape", _has_zero, _NOTHING_TO_COPY, {"copy2d": 2304}),
    Row("shape", _has_zero_outside, _EMPTY_GRID, _INDEXED),
    Row("count", _any_of("0"), _EMPTY_GRID, {"index_select": 476, "gather": 523}),
    Row("grid", _given, _OWN_GRID, _GRIDS),
    Row("block", _given, _OWN_GRID, _GRIDS),
    Row("info", _any_of("given"), _NULL_INFO, {**_STRIDED, **_TWO_SIDED}),
    Row("outermost", _given, _WHOLE_TENSOR, _ELEMENTWISE),
    Row("dim_size", _given, _OWN_SIZES, {"index_select": 476, "gather": 523}),
    Row("ids_size", _given, _OWN_SIZES, {"index_select": 476, "gather": 523}),
    Row("right_size", _given, _OWN_SIZES, {"index_select": 476, "gather": 523}),
    Row("ids", _any_of("beyond", "negative", "foreign"), _BAD_IDS, _INDEXED),
    Row("source", _given, _OWN_INFO, {"index_select": 466}),
    Row("out_start", _given, _FRESH_OUTPUT, {"index_select": 479, "gather": 534, "index_add": 2228}),
    Row("dst_start", _given, _FRESH_OUTPUT, _CONVOLVED),
    Row("trace", _any_of("inplace"), _NO_NULL_INPUT, _IN_PLACE),
    Row("y_start", _given, _FRESH_OUTPUT, {"dequantize_block": 137}, _QUANTIZED),
    Row("dst_start", _given, _FRESH_OUTPUT, {"get_rows": 290}, _QUANTIZED),
    Row("output", _any_of("poison"), _ZEROED_OUTPUT, _ZEROED, _QUANTIZED),
    Row("gap", _given, _OWN_STRIDES, {"mmvq_launcher": 208}, _MMVQ),
    Row("gap", _given, _OWN_STRIDES, {"mmq_launcher": 345}, "candle-core/src/quantized/fast_mmq.rs"),
    Row("row_gap", _given, _PACKED_ROWS, {"mmq_launcher": 341}, "candle-core/src/quantized/fast_mmq.rs"),
    Row("cc", _given, _OWN_DEVICE, {"mmq_launcher": 235}, "candle-core/src/quantized/fast_mmq.rs"),
    Row("columns", _more_than_eight, _FEW_COLUMNS, {"mmvq_launcher": 189}, _MMVQ),
    Row("kx", _splits_a_block, _WHOLE_BLOCKS, {"mmvq_quantize_launcher": 523}, "candle-core/src/quantized/mod.rs"),
    Row("routing", _any_of("unsorted", "absent"), _SORTED, {"moe_gemm_gguf_launcher": 257}, _MOE),
    Row("kx", _splits_a_block, _WHOLE_BLOCKS, {"quantize_q8_1": 523}, "candle-core/src/quantized/mod.rs"),
)


def never_launched(family: str, case: Case) -> NeverLaunched | None:
    """Why Candle's Rust side never makes the launch of ``case``, a case of launch family ``family``; else ``None``.

    The kernels that no Rust calls (``fill``, ``sum``) have no launch of Candle's: every one that they allow counts.
    """
    for row in ROWS:
        if family in row.lines and row.holds(case):
            return NeverLaunched(row.why, f"{row.file}:{row.lines[family]}")
    return None


def _fields(case: Case) -> dict[str, str]:
    """The fields of ``case``; of a recorded one those of the generated case that it was made from, if any."""
    fields = dict(case.fields)
    _, made, of = fields.get("trace", "").partition("generated,")
    if made:
        with suppress(ValueError):  # a trace may have any label
            fields.update(parse_fields(of))
    return fields
