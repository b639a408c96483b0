"""Linked launchers: quantized products and mixtures of experts, called as Candle's Rust calls them.

A launcher chooses its own geometry. Behind rows of weights lies what Candle allocates for 512 more of them, behind
activations in tiles what it allocates for 128 more blocks: garbage. Scratch is garbage too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arguments import TAIL, Family, Fields, Row, multiple, numbers, poisoned
from conformance.cases.arguments import call as host_call
from conformance.cases.case import Case
from conformance.cases.families.packed import (
    FORMATS,
    GROUP,
    VALUES,
    activations,
    f32_values,
    mmq_activations,
    padded,
    raw,
    weights,
)
from conformance.cases.launch import POISON_BYTE, Argument, Buffer, Launch, Null, Stream
from conformance.cases.rows import parsed, rows_beside
from conformance.cases.values import RandomStream, values
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel

ROWS = rows_beside(__file__)

FIXUP = np.zeros(256 * 128 * 128 * 4, np.uint8)
"""The scratch of a product in tiles, which all cases share: 256 multiprocessors with 128 x 128 floats each."""

_BEHIND = 128 * 144
"""Bytes behind the activations in tiles."""

_DEVICE = {"cc": 900, "nsm": 4, "smpbo": 65536, "warp_size": 64}

GGUF = ("q8_0", "q4_K", "q2_K", "q3_K", "q5_K", "q6_K")
"""Formats by the number that a mixture of experts is given."""

ROUTINGS = ("sorted", "unsorted", "one", "absent")


def _qtype(kernel: Kernel) -> str:
    return kernel.variant["qtype"].replace("_k", "_K")


@lru_cache
def _rows_of(rows: tuple[str, ...], qtype: str) -> tuple[Row, ...]:
    length = FORMATS[qtype].length
    return parsed([row.format(b=length, n=9 * length, k=96 if length == GROUP else 768) for row in rows])


def _product_rows(name: str) -> Callable[[Kernel], tuple[Row, ...]]:
    """Those of ``name``, and of kernels with X in their names those of ``name``_X."""
    lists = {key[len(name) + 1 :]: rows for key, rows in ROWS.items() if f"{key}_".startswith(f"{name}_")}
    return lambda kernel: _rows_of(sum((lists[part] for part in lists if part in kernel.name), ()), _qtype(kernel))


def call(kernel: Kernel, arguments: Sequence[Argument]) -> Launch:
    """The call with ``arguments`` and a stream."""
    return host_call(kernel, (*arguments, Stream("stream")))


def _floats(kind: str, name: str, count: int, stream: RandomStream) -> Buffer:
    return Buffer(name, kind, "in", values("unit", dtype(kind), count, stream))


def _mmvq_quantize(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("kx", "rows", "values"))
    kx, rows = fields.number("kx", 32, 1), fields.number("rows", 1, 1, 65535)
    kind = dtype(kernel.param("x").dtype)
    x = fields.located(lambda: f32_values(fields.text("values", "unit"), rows, kx, stream))
    # Without infinities: the bits of their NaN sums are the processor's.
    largest = np.asarray(kind.floating.largest, kind.bits).view(kind.numpy).astype(np.float32)
    x = np.clip(x, -largest, largest).astype(kind.numpy)
    width = padded(kx)
    blocks = poisoned(fields, kernel, "vy", rows * width // GROUP * FORMATS["q8_1"].size)
    given = numbers(kernel, kx=kx, kx_padded=width, num_rows=rows)
    return call(kernel, [Buffer("x", kind.name, "in", x), blocks, *given])


def _mmvq(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("ncols", "nrows", "columns", "gap", "values"))
    qtype, distribution = _qtype(kernel), fields.choice("values", "random", VALUES)
    ncols, rows = multiple(fields, "ncols", 512, FORMATS[qtype].length), fields.number("nrows", 1, 1)
    columns, gap = fields.number("columns", 1, 1, 16), fields.number("gap", 0, 0, 64)
    room, size = padded(ncols) // GROUP, FORMATS["q8_1"].size
    y = activations(columns, ncols, distribution, stream).reshape(columns, room * size)
    behind = np.full((columns, gap * size), POISON_BYTE, np.uint8)
    arguments = (
        raw("vx", weights(qtype, rows * ncols // FORMATS[qtype].length, distribution, stream, behind=True)),
        raw("vy", np.concatenate([y, behind], 1).reshape(-1)),
        poisoned(fields, kernel, "dst", columns * (rows + gap)),
        *numbers(kernel, ncols_x=ncols, nrows_x=rows, stride_col_y=room + gap),
        *numbers(kernel, stride_col_dst=rows + gap, b_size=columns),
    )
    return call(kernel, arguments)


def _mmq_quantize(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("ne00", "columns", "values"))
    width, columns = multiple(fields, "ne00", 512, GROUP), fields.number("columns", 1, 1, 4096)
    x = fields.located(lambda: f32_values(fields.text("values", "unit"), columns, width, stream))
    room = padded(width)
    given = {"type_x": 0, "ne00": width, "s01": width, "s02": 0, "s03": 0}
    arguments = (
        Buffer("x", "f32", "in", x),
        Null("ids"),
        poisoned(fields, kernel, "vy", columns * room // 128 * 144),
        *numbers(kernel, **given, ne0=room, ne1=columns, ne2=1, ne3=1),
    )
    return call(kernel, arguments)


# The layout of the activations' scales that a format is multiplied with; D4 where not named.
LAYOUTS = {**dict.fromkeys(("q4_0", "q4_1", "q5_1", "q4_K", "q5_K"), "DS4"), "q2_K": "D2S6"}


def _mmq(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, ("ncols", "nrows", "columns", "gap", "row_gap", *_DEVICE, "values"))
    qtype, distribution = _qtype(kernel), fields.choice("values", "random", VALUES)
    length = FORMATS[qtype].length
    ncols, rows = multiple(fields, "ncols", 512, length), fields.number("nrows", 1, 1)
    columns, gap = fields.number("columns", 1, 1, 4096), fields.number("gap", 0, 0, 64)
    row_stride = ncols // length + fields.number("row_gap", 0, 0, 64)
    y = mmq_activations(LAYOUTS.get(qtype, "D4"), columns, ncols, stream)
    arguments = (
        Buffer("tmp_fixup", "void*", "scratch", FIXUP),
        raw("x", weights(qtype, rows * row_stride, distribution, stream, behind=True)),
        raw("y", np.concatenate([y, np.full(_BEHIND, POISON_BYTE, np.uint8)])),
        poisoned(fields, kernel, "dst", columns * (rows + gap)),
        *numbers(kernel, ncols_x=ncols, nrows_x=rows, ncols_y=columns, stride_row_x=row_stride),
        *numbers(kernel, stride_col_dst=rows + gap),
        *numbers(kernel, **{name: fields.number(name, default, 1) for name, default in _DEVICE.items()}),
    )
    return call(kernel, arguments)


class _Routing:
    """What all mixtures of experts have in common: sizes, and which token goes to which experts."""

    def __init__(self, kernel: Kernel, fields: Fields, stream: RandomStream) -> None:
        self.kernel = kernel
        sizes = ("tokens", "topk", "experts", "n", "k")
        tokens, self.topk, self.experts, self.n, self.k = (fields.number(name, 1, 1, 4096) for name in sizes)
        self.pairs = tokens * self.topk
        self.weighted = fields.choice("weights", "no", ("no", "yes")) == "yes"
        self.inputs = self.pairs if self.weighted else tokens
        routing = fields.choice("routing", "sorted", ROUTINGS)
        drawn = (stream.take(self.pairs) >> np.uint64(32)) % np.uint64(self.experts)
        ids = np.zeros_like(drawn) if routing == "one" else drawn
        order = np.argsort(ids, kind="stable")
        if routing == "unsorted":
            order = np.argsort(stream.take(self.pairs), kind="stable")
        self.tokens = order.astype(np.int32)
        self.ids = ids[order].astype(np.int32)
        if routing == "absent":
            self.ids[0], self.ids[-1] = -1, self.experts
        self.top = values("unit", dtype("f32"), self.pairs, stream)

    def arguments(self) -> list[Argument]:
        """The three that follow the weights."""
        weights_ = Buffer("topk_weights", "f32", "in", self.top) if self.weighted else Null("topk_weights")
        ids = Buffer("sorted_token_ids", "i32", "in", self.tokens), Buffer("expert_ids", "i32", "in", self.ids)
        return [*ids, weights_]

    def sizes(self) -> list[Argument]:
        given = {"num_experts": self.experts, "topk": self.topk, "size_m": self.pairs}
        return numbers(self.kernel, **given, size_n=self.n, size_k=self.k)

    def output(self, fields: Fields, kind: str) -> Buffer:
        """Poisoned, with a tail."""
        row: Any = dtype(kind)
        data = np.full((self.pairs * self.n + TAIL) * row.size, fields.case.poison_byte, np.uint8).view(row.numpy)
        return Buffer("output", kind, "out", data)

    def packed(self, code: int, stream: RandomStream) -> NDArray[np.uint8]:
        """Every expert's weights."""
        form = FORMATS[GGUF[code]]
        if self.k % form.length:
            raise ValueError(f"k is a multiple of {form.length} for {GGUF[code]}, not {self.k}")
        return weights(GGUF[code], self.experts * self.n * self.k // form.length, "random", stream, behind=True)


_ROUTED = ("tokens", "topk", "experts", "n", "k", "weights", "routing")


def _moe_gguf(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, (*_ROUTED, "gguf"))
    routed, code = _Routing(kernel, fields, stream), fields.number("gguf", 0, 0, 5)
    arguments = (
        _floats("f32", "input", routed.inputs * routed.k, stream),
        raw("weights", fields.located(lambda: routed.packed(code, stream))),
        *routed.arguments(),
        routed.output(fields, "f32"),
        *routed.sizes(),
        *numbers(kernel, gguf_dtype=code),
    )
    return call(kernel, arguments)


def _moe_prefill(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, (*_ROUTED, "gguf", "input"))
    routed, code = _Routing(kernel, fields, stream), fields.number("gguf", 0, 0, 5)
    kind = fields.choice("input", "f16", ("f16", "bf16"))
    packed = fields.located(lambda: routed.packed(code, stream))
    arguments = (
        _floats(kind, "input", routed.inputs * routed.k, stream),
        Buffer("weights", "u8", "in", packed),
        *routed.arguments(),
        routed.output(fields, "f32"),
        *routed.sizes(),
        *numbers(kernel, input_dtype=int(kind == "bf16"), gguf_dtype=code),
    )
    return call(kernel, arguments)


def _moe_wmma(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    fields = Fields(case, (*_ROUTED, "dtype", "prefill"))
    routed = _Routing(kernel, fields, stream)
    kind = fields.choice("dtype", "f16", ("f16", "bf16"))
    prefill = fields.choice("prefill", "yes", ("yes", "no")) == "yes"
    arguments = (
        _floats(kind, "input", routed.inputs * routed.k, stream),
        _floats(kind, "weights", routed.experts * routed.n * routed.k, stream),
        *routed.arguments(),
        routed.output(fields, kind),
        poisoned(fields, kernel, "expert_counts", routed.experts),
        poisoned(fields, kernel, "expert_offsets", routed.experts + 1),
        *routed.sizes(),
        *numbers(kernel, dtype=int(kind == "bf16"), is_prefill=int(prefill)),
    )
    return call(kernel, arguments)


FAMILIES: dict[str, Family] = {
    "mmvq_quantize_launcher": Family(lambda _: parsed(ROWS["mmvq_quantize"]), _mmvq_quantize),
    "mmvq_launcher": Family(_product_rows("mmvq"), _mmvq),
    "mmq_quantize_launcher": Family(lambda _: parsed(ROWS["mmq_quantize"]), _mmq_quantize),
    "mmq_launcher": Family(_product_rows("mmq"), _mmq),
    "moe_gemm_gguf_launcher": Family(lambda _: parsed(ROWS["moe_gguf"]), _moe_gguf),
    "moe_gemm_gguf_prefill_launcher": Family(lambda _: parsed(ROWS["moe_prefill"]), _moe_prefill),
    "moe_gemm_wmma_launcher": Family(lambda _: parsed(ROWS["moe_wmma"]), _moe_wmma),
}
