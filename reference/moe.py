"""Candle's linked launchers of moe/: products of tokens with the weights of the experts that they are routed to.

``sorted_token_ids`` holds the rows of the output, ``expert_ids`` the expert of each. With ``topk_weights`` a row has an
input of its own, and its results are multiplied by its weight; without (null) ``topk`` rows share an input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype as dtype_named
from reference.expected import Expected
from reference.interval import UNIT, around, inside
from reference.quantized.activations import q8_1_blocks
from reference.quantized.blocks import FORMATS, GROUP, Columns, columns
from reference.quantized.narrow import FORMS, decoded
from reference.quantized.products import vector_sums
from reference.result import placed

Array = NDArray[Any]

Found = tuple[Expected, Array]
"""What is expected of some elements of the output, and which they are."""

HALF, BRAIN = dtype_named("f16"), dtype_named("bf16")

F32: np.dtype[Any] = np.dtype(np.float32)

TYPES: dict[int, np.dtype[Any]] = {0: HALF.numpy, 1: BRAIN.numpy}
"""By the number that the launchers are given."""

QTYPES = {0: "q8_0", 1: "q4_K", 2: "q2_K", 3: "q3_K", 4: "q5_K", 5: "q6_K"}
"""By the number that the launchers are given; nothing is written for any other."""

PADDING = 512
"""The rows of quantized activations are filled up with zeros to a multiple of this."""

_PER_PRODUCT = 2
"""Roundings to nearest that a product costs at most: matrix units may cut off where a sum is rounded to nearest."""


@dataclass(frozen=True)
class Rows:
    """The rows of one expert: their places in the output, their inputs, and the factor of each (float64)."""

    expert: int
    places: Array
    inputs: Array
    factors: Array


def _segments(given: Mapping[str, Any]) -> tuple[Array, Array, Iterator[Rows]]:
    """How many rows each expert has, where they begin, and the rows of each expert that has some.

    Raises ``ValueError`` for an expert that there is not: upstream counts its rows in memory that is not its own.
    """
    experts, ids = int(given["num_experts"]), given["expert_ids"][: int(given["size_m"])]
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < experts:
        raise ValueError(f"expert_ids are from {ids.min()} to {ids.max()}; there are {experts} experts, from 0 on")
    counts = np.bincount(ids, minlength=experts).astype(np.int32)
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)])
    found = (
        _rows(given, expert, np.arange(offsets[expert], offsets[expert + 1]))
        for expert in range(experts)
        if counts[expert]
    )
    return counts, offsets, found


def _rows(given: Mapping[str, Any], expert: int, at: Array) -> Rows:
    places = given["sorted_token_ids"][at].astype(np.int64)
    weights = given["topk_weights"]
    if weights is None:
        return Rows(expert, places, places // int(given["topk"]), np.ones(places.size))
    return Rows(expert, places, places, weights[places].astype(np.float64))


@np.errstate(all="ignore")
def moe_gemm_wmma(variant: Mapping[str, str], library_ulp: int, **given: Any) -> dict[str, Expected]:
    """``output[row]``: ``input`` (rows of ``size_k``) times ``weights`` (experts x ``size_n`` x ``size_k``).

    All three are float16 (``dtype`` 0) or bfloat16 (1). ``expert_ids`` are sorted; rows from the number of the smaller
    experts' rows on are those of an expert, in the order of ``sorted_token_ids``. ``is_prefill`` decides on tiles.

    The products are exact in float32, and added up in it, in any order; a sum may be cut off where it does not fit, as
    matrix units do. Where subnormal operands are taken for zero (``_dot``) the result is as good: ``equivalent``.

    Upstream stores a float16 result wrongly: its bits are taken for an unsigned integer, which is converted to float16.
    Where the variant has ``fixed`` (half-bits) the result itself is expected. An interval that holds numbers of both
    signs falls apart into two by this, of which one is in the answer, the other in ``equivalent``.

    ``expert_counts`` and ``expert_offsets`` get the number of rows of each expert, and where they begin.
    """
    counts, offsets, _ = _segments(given)
    kind = TYPES[int(given["dtype"])]
    found, at = _wmma(given)
    if kind == np.float16 and "fixed" not in variant:
        found = _numbers_of_bits(found)
    return {
        "output": _in_type(given["output"], kind, found, at),
        "expert_counts": placed(given["expert_counts"], Expected(_as(given["expert_counts"], counts))),
        "expert_offsets": placed(given["expert_offsets"], Expected(_as(given["expert_offsets"], offsets))),
    }


def _wmma(given: Mapping[str, Any], flush: bool = False) -> Found:
    """The results as they are before they are stored."""
    kind, width, height = TYPES[int(given["dtype"])], int(given["size_k"]), int(given["size_n"])
    x, weights = (_operand(_wide(given[name], kind, width), kind, flush) for name in ("input", "weights"))
    _, _, segments = _segments(given)
    parts = [
        (rows.places, _dot(x[rows.inputs], weights[rows.expert * height :][:height], rows.factors, kind))
        for rows in segments
    ]
    return _joined(parts, height, kind)


@np.errstate(all="ignore")
def moe_gemm_gguf_prefill(variant: Mapping[str, str], library_ulp: int, **given: Any) -> dict[str, Expected]:
    """As ``moe_gemm_wmma``, with packed weights (``gguf_dtype``, see ``QTYPES``) and float32 output.

    The weights are decoded to the type of ``input`` (``input_dtype`` 0: float16, 1: bfloat16). How that rounds on an
    H100 is expected; the other ways (``narrow.FORMS``), with subnormal operands or without, have an interval of their
    own: ``equivalent``.
    """
    if int(given["gguf_dtype"]) not in QTYPES:
        return {"output": Expected(given["output"].copy())}
    return {"output": _in_type(given["output"], F32, *_prefill(given, FORMS[0]))}


def _prefill(given: Mapping[str, Any], form: str, flush: bool = False) -> Found:
    qtype, kind = QTYPES[int(given["gguf_dtype"])], TYPES[int(given["input_dtype"])]
    width, height = int(given["size_k"]), int(given["size_n"])
    x = _operand(_wide(given["input"], kind, width), kind, flush)
    format_ = FORMATS[qtype]
    count = height * (width // format_.length)
    _, _, segments = _segments(given)
    parts = []
    for rows in segments:
        blocks = format_.blocks(given["weights"][rows.expert * count * format_.size :], count)
        weights = _operand(decoded(qtype, blocks, kind, form).reshape(height, width), kind, flush)
        parts.append((rows.places, _dot(x[rows.inputs], weights, rows.factors, F32)))
    return _joined(parts, height, F32)


@np.errstate(all="ignore")
def moe_gemm_gguf(variant: Mapping[str, str], library_ulp: int, **given: Any) -> dict[str, Expected]:
    """``output[row]``: float32 ``input`` times packed weights (``gguf_dtype``, see ``QTYPES``), for decoding.

    The input is quantized to q8_1 as ``mmvq_quantize_q8_1`` does, and multiplied as ``mmvq`` does, by one warp; results
    are multiplied by the row's weight then. Rows need not be sorted by expert. Those of an expert that there is not are
    left as they are.
    """
    output = given["output"]
    if int(given["gguf_dtype"]) not in QTYPES:
        return {"output": Expected(output.copy())}
    qtype = QTYPES[int(given["gguf_dtype"])]
    width, height = int(given["size_k"]), int(given["size_n"])
    experts = given["expert_ids"][: int(given["size_m"])].astype(np.int64)
    at = np.flatnonzero((experts >= 0) & (experts < int(given["num_experts"])))
    rows = _rows(given, -1, at)
    format_ = FORMATS[qtype]
    count = height * (width // format_.length)
    blocks = format_.blocks(given["weights"], int(given["num_experts"]) * count)
    per_expert = blocks.reshaped(int(given["num_experts"]), height, width // format_.length)
    weights = per_expert.seen(lambda part: part[experts[at]])
    padded = -(-width // PADDING) * PADDING
    x = given["input"].view(F32)
    x = x[: x.size // width * width]
    quantized = q8_1_blocks(x, width, padded).reshape(-1)
    all_inputs = columns(quantized, x.size // width, width // GROUP, padded // GROUP)
    activations = Columns(*(part[rows.inputs] for part in (all_inputs.quants, all_inputs.d, all_inputs.s)))
    sums = vector_sums(qtype, 1, np.zeros(at.size * height, np.float32), weights, activations)
    found = _times(sums, np.repeat(rows.factors, height))
    return {"output": _in_type(output, F32, found, _places(rows.places, height))}


def _times(sums: Expected, factors: Array) -> Expected:
    """The product with ``factors``, rounded once more."""
    value, low, high = (np.asarray(part) * factors.astype(np.float32) for part in (sums.value, sums.low, sums.high))
    least, most = np.minimum(low, high), np.maximum(low, high)
    # A kernel may multiply before it adds up: one rounding more.
    return Expected(value, _moved(least, value, -1), _moved(most, value, 1))


def _moved(end: Array, value: Array, side: int) -> Array:
    moved = end.astype(np.float64) * (1 + np.sign(end) * side * 2 * UNIT)
    return np.where((end == value) | ~np.isfinite(end), end, moved).astype(np.float32)


def _wide(x: Array, kind: np.dtype[Any], width: int) -> Array:
    """Rows of ``width`` numbers as float64."""
    typed = x.view(kind)
    return typed[: typed.size // width * width].astype(np.float64).reshape(-1, width)


def _operand(x: Array, kind: np.dtype[Any], flush: bool) -> Array:
    """``x``, with zeros in place of the subnormal numbers of ``kind`` if ``flush``.

    So the matrix instructions of AMD's MI200 take float16 and bfloat16 operands (MIOpen's documentation, "MI200 matrix
    fused multiply-add (MFMA) behavior specifics").
    """
    smallest = 2.0 ** (1 - (HALF if kind == np.float16 else BRAIN).floating.bias)
    return np.where(np.abs(x) < smallest, 0.0, x) if flush else x


def _dot(x: Array, weights: Array, factors: Array, stored: np.dtype[Any]) -> Expected:
    """rows x columns, of type ``stored``: ``x`` times the transposed ``weights``, and each row times its factor."""
    # A sum that starts from +0 is never -0.
    total, magnitude = x @ weights.T + 0.0, np.abs(x) @ np.abs(weights).T
    scale = factors[:, None]
    return around(total * scale, magnitude * np.abs(scale), _PER_PRODUCT * x.shape[1] + 1, stored)


def _joined(parts: list[tuple[Array, Expected]], height: int, kind: np.dtype[Any]) -> Found:
    """All rows, flat."""
    if not parts:
        none = np.zeros(0, kind)
        return Expected(none, none, none, np.zeros(0, np.bool_)), np.zeros(0, np.int64)
    at = np.concatenate([_places(places, height) for places, _ in parts])
    value, low, high = (
        np.concatenate([getattr(part, end).reshape(-1) for _, part in parts]) for end in ("value", "low", "high")
    )
    free = [np.zeros(part.value.size, np.bool_) if part.free is None else part.free.reshape(-1) for _, part in parts]
    return Expected(value, low, high, np.concatenate(free)), at


def _places(rows: Array, height: int) -> Array:
    return np.asarray((rows[:, None] * height + np.arange(height)).reshape(-1))


def _as(buffer: Array, numbers: Array) -> Array:
    return numbers.view(buffer.dtype)


def _in_type(before: Array, kind: np.dtype[Any], found: Expected, at: Array) -> Expected:
    """``before`` with ``found``, of ``kind``, placed; of a buffer of another type, bytes for one, the value alone."""
    if before.dtype == kind:
        return placed(before, found, at)
    return Expected(placed(before.view(kind), Expected(found.value), at).value.view(before.dtype))


def _bits_as_number(x: Array) -> Array:
    return x.view(np.uint16).astype(np.float32).astype(np.float16)


def _numbers_of_bits(found: Expected, other_side: bool = False) -> Expected:
    """What upstream stores of float16 ``found``; of numbers of the sign that the value has not, if ``other_side``.

    The bits of negative numbers begin at 0x8000 and grow with the magnitude. NaN has no bits of its own: free.
    """
    low, high = np.asarray(found.low), np.asarray(found.high)
    negative = np.signbit(found.value) != other_side
    zero = np.where(negative, -0.0, 0.0).astype(np.float16)
    nearest = np.where(negative, np.where(np.signbit(high), high, zero), np.where(np.signbit(low), zero, low))
    farthest = np.where(negative, low, high)
    value = np.where(other_side, nearest, found.value).astype(np.float16)
    free = np.isnan(found.value)
    free = free if found.free is None else free | found.free
    value, nearest, farthest = (_bits_as_number(part) for part in (value, nearest, farthest))
    return Expected(value, nearest, farthest, free)


@np.errstate(all="ignore")
def equivalent(variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Array]) -> dict[str, Array]:
    """See ``reference.equivalent``: what other ways of rounding weights, subnormal operands taken for zero, and a sign
    that is as good come to.

    Of buffers that are declared as bytes, all that an interval holds.
    """
    kind, found = F32, list[Found]()
    if "dtype" in arguments:
        kind = TYPES[int(arguments["dtype"])]
        for results, at in (_wmma(arguments, flush) for flush in (False, True)):
            if kind != np.float16 or "fixed" in variant:
                found.append((results, at))
                continue
            low, high = np.asarray(results.low), np.asarray(results.high)
            both = (np.signbit(low) != np.signbit(high)) & (low != high)
            found.append((_numbers_of_bits(results), at))
            found.append((_picked(_numbers_of_bits(results, other_side=True), both), at[both]))
    elif int(arguments["gguf_dtype"]) not in QTYPES:
        return {}
    elif "input_dtype" in arguments:
        found = [_prefill(arguments, form, flush) for form in FORMS for flush in (False, True)]
    else:
        output = arguments["output"].view(kind)
        answer = moe_gemm_gguf(variant, 0, **{**arguments, "output": output})["output"]
        found = [(answer, np.arange(output.size))]
    written = got["output"].view(kind)
    mask = np.zeros(written.size, np.bool_)
    for part, at in found:
        mask[at] |= inside(written[at], part)
    return {"output": np.repeat(mask, kind.itemsize // got["output"].itemsize)}


def _picked(found: Expected, which: Array) -> Expected:
    low, high, free = (np.asarray(part)[which] for part in (found.low, found.high, found.free))
    return Expected(found.value[which], low, high, free)
