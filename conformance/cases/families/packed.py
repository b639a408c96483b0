"""Random blocks of packed weights and of quantized activations, and the f32 vectors that are to be quantized."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer
from conformance.cases.values import RandomStream, repeated, values
from conformance.dtypes import dtype

Bytes = NDArray[np.uint8]

GROUP = 32
"""Weights that share a scale of the activations."""

PADDING = 512
"""Columns are filled up to a multiple of this; as many weights are allocated behind the last row."""


@dataclass(frozen=True)
class Packed:
    """``size`` bytes hold ``length`` weights; the float scales start at ``scales``."""

    length: int
    size: int
    scales: tuple[int, ...]
    scale: str = "f16"


FORMATS: dict[str, Packed] = {
    "q4_0": Packed(32, 18, (0,)),
    "q4_1": Packed(32, 20, (0, 2)),
    "q5_0": Packed(32, 22, (0,)),
    "q5_1": Packed(32, 24, (0, 2)),
    "q8_0": Packed(32, 34, (0,)),
    "q8_1": Packed(32, 36, (0, 2)),
    "q2_K": Packed(256, 84, (80, 82)),
    "q3_K": Packed(256, 110, (108,)),
    "q4_K": Packed(256, 144, (0, 2)),
    "q5_K": Packed(256, 176, (0, 2)),
    "q6_K": Packed(256, 210, (208,)),
    "q8_K": Packed(256, 292, (0,), "f32"),
}

# Bytes at the edges of signed and unsigned quants of every width.
_EXTREMES = np.array([0x00, 0x7F, 0x80, 0xFF], np.uint8)

# Floats around the ends of the range; one in eight is infinite or not a number.
_INFINITE = {"f16": (0x7C00, 0xFC00, 0x7E00), "f32": (0x7F800000, 0xFF800000, 0x7FC00000)}


def _small(kind: str, n: int, stream: RandomStream) -> NDArray[Any]:
    """Both signs, from 2^-8 to 2^-1."""
    picked = values("unit", dtype(kind), n, stream)
    return np.asarray(picked * picked.dtype.type(1 / 16))


def _huge(kind: str, n: int, stream: RandomStream) -> NDArray[Any]:
    """Both signs, the upper half of the largest power of two."""
    row = dtype(kind)
    mantissa, top = (10, 0x1E) if kind == "f16" else (23, 0xFE)
    word = stream.take(n)
    sign = (word >> np.uint64(63)) << np.uint64(8 * row.size - 1)
    bits = (word & np.uint64((1 << mantissa) - 1)) | np.uint64(top << mantissa) | sign
    return bits.astype(row.bits).view(row.numpy)


def _zeros(kind: str, n: int, stream: RandomStream) -> NDArray[Any]:
    """Zeros of both signs, every other one a number."""
    word = stream.take(n)
    signs = np.where(word >> np.uint64(63) == 0, 0.0, -0.0)
    return np.where((word & np.uint64(1)) == 0, signs, _small(kind, n, stream)).astype(dtype(kind).numpy)


def _infinite(kind: str, n: int, stream: RandomStream) -> NDArray[Any]:
    """Huge numbers, and among eight one infinity or NaN."""
    row = dtype(kind)
    word = stream.take(n)
    special = np.array(_INFINITE[kind], row.bits)[(word >> np.uint64(32)) % np.uint64(3)]
    plain = _huge(kind, n, stream).view(row.bits)
    return np.where((word & np.uint64(7)) == 0, special, plain).view(row.numpy)


_SCALES: dict[str, Callable[[str, int, RandomStream], NDArray[Any]]] = {
    "random": _small,
    "extremes": _small,
    "zeros": _zeros,
    "subnormal": lambda kind, n, stream: values("subnormal", dtype(kind), n, stream),
    "huge": _huge,
    "infinite": _infinite,
}

VALUES: tuple[str, ...] = tuple(_SCALES)
"""The distributions of the float scales of blocks; ``extremes`` is about the other bytes."""


def blocks(name: str, count: int, distribution: str, stream: RandomStream) -> NDArray[np.uint8]:
    """``count`` blocks of format ``name`` as (count, size) bytes."""
    return repeated(lambda part: _blocks(name, part, distribution, stream), count, stream)


def _blocks(name: str, count: int, distribution: str, stream: RandomStream) -> NDArray[np.uint8]:
    form = FORMATS[name]
    size = count * form.size
    data = stream.take(-(-size // 8)).view(np.uint8)[:size].copy()
    if distribution == "extremes":
        data = _EXTREMES[data & 3]
    data = data.reshape(count, form.size)
    width = dtype(form.scale).size
    for at in form.scales:
        scales = np.ascontiguousarray(_SCALES[distribution](form.scale, count, stream))
        data[:, at : at + width] = scales.view(np.uint8).reshape(count, width)
    return data


def weights(name: str, count: int, distribution: str, stream: RandomStream, behind: bool = False) -> Bytes:
    """``count`` blocks; with ``behind``, garbage in the room of 512 weights after them, its scales finite."""
    parts = [blocks(name, count, distribution, stream)]
    if behind:
        parts.append(blocks(name, PADDING // FORMATS[name].length, "random", stream))
    return np.concatenate(parts).reshape(-1)


def raw(name: str, data: Bytes) -> Buffer:
    """Input ``name`` of whole blocks."""
    return Buffer(name, "void*", "in", data)


def padded(width: int) -> int:
    """The length of a column: ``width`` and zeros up to a multiple of 512."""
    return -(-width // PADDING) * PADDING


def activations(columns: int, width: int, distribution: str, stream: RandomStream) -> Bytes:
    """Columns of ``width`` activations as q8_1 blocks. Only two of the distributions apply to activations."""
    used, room = width // GROUP, padded(width) // GROUP
    data = np.zeros((columns, room, FORMATS["q8_1"].size), np.uint8)
    own = distribution if distribution in ("subnormal", "extremes") else "random"
    data[:, :used] = blocks("q8_1", columns * used, own, stream).reshape(columns, used, -1)
    return data.reshape(-1)


MMQ_GROUP, MMQ_SIZE = 128, 144
"""Activations of a block for products in tiles, and its bytes: 16 of scales and sums, then a byte each."""


def mmq_activations(layout: str, columns: int, width: int, stream: RandomStream) -> Bytes:
    """Columns of ``width`` random activations in blocks for products in tiles: the first block of each column, then
    the second of each, up to a multiple of 512.

    ``layout`` is that of the scales: ``D4`` (a float32 for 32), ``DS4`` (a float16 and the sum, likewise), ``D2S6`` (a
    float16 for 64, then the sums of the first six groups of 16).
    """
    x = np.zeros((columns, padded(width)), np.float32)
    x[:, :width] = values("unit", dtype("f32"), columns * width, stream).reshape(columns, width)
    blocks_ = x.reshape(columns, -1, MMQ_GROUP).transpose(1, 0, 2).reshape(-1, MMQ_GROUP)
    groups = blocks_.reshape(len(blocks_), -1, 64 if layout == "D2S6" else GROUP)
    largest = np.abs(groups).max(2)
    scales = largest / np.float32(127)
    inverse = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    quants = np.trunc(groups * inverse[:, :, None] + np.copysign(np.float32(0.5), groups)).astype(np.int8)
    head = scales
    if layout == "DS4":
        head = np.stack([scales, groups.sum(2)], 2).astype(np.float16)
    elif layout == "D2S6":
        sums = blocks_.reshape(len(blocks_), -1, 16).sum(2)[:, :6]
        head = np.concatenate([scales, sums], 1).astype(np.float16)
    data = np.empty((len(blocks_), MMQ_SIZE), np.uint8)
    data[:, :16] = np.ascontiguousarray(head).reshape(len(blocks_), -1).view(np.uint8)
    data[:, 16:] = quants.reshape(len(blocks_), MMQ_GROUP).view(np.uint8)
    return data.reshape(-1)


def _halves(rows: int, width: int, stream: RandomStream) -> NDArray[np.float32]:
    """127 once in 32, so that the scale is 1; else multiples of a half, most of them ties."""
    word = stream.take(rows * width)
    twice = (word >> np.uint64(32)).astype(np.int64) % 505 - 252
    x = np.where((word & np.uint64(3)) == 0, twice // 2, (twice | 1) / 2).reshape(rows, width)
    x[:, ::GROUP] = 127
    return x.astype(np.float32)


def _near_halves(rows: int, width: int, stream: RandomStream) -> NDArray[np.float32]:
    """Next to ties: a random largest value once in 32, so that the scale is no power of two; else an odd multiple of
    half the scale, rounded to float32, or one of the two numbers beside it.

    A quotient that is off by an ulp then rounds to another quant; among random values that is rare.
    """
    word = stream.take(rows * width).reshape(rows, width)
    mantissa = (word & np.uint64(0x7FFFFF)).astype(np.uint32)
    largest = (mantissa | np.uint32(0x3F800000)).view(np.float32)[:, ::GROUP]  # 1 to 2
    scale = np.repeat(largest / np.float32(127), GROUP, axis=1)[:, :width].astype(np.float64)
    quant = (word >> np.uint64(32)).astype(np.int64) % 254 - 127
    beside = ((word >> np.uint64(24)) % np.uint64(3)).astype(np.int32) - 1
    x = ((quant + 0.5) * scale).astype(np.float32)
    x = np.asarray((x.view(np.int32) + beside).view(np.float32))
    x[:, ::GROUP] = largest
    return x


def _least(rows: int, width: int, stream: RandomStream) -> NDArray[np.float32]:
    """Multiples of the least float32, some hundreds at most, and from group to group of other size."""
    word = stream.take(rows * width).reshape(rows, width)
    most = np.array([40, 63, 64, 190, 191, 320, 1000])[np.arange(width) // GROUP % 7]
    bits = (word >> np.uint64(32)).astype(np.int64) % (most + 1)
    signs = (word & np.uint64(1)).astype(np.int64) << 31
    return np.asarray((bits | signs).astype(np.uint32).view(np.float32))


def _one_inf(rows: int, width: int, stream: RandomStream) -> NDArray[np.float32]:
    """Every third group has one infinity, of either sign."""
    x = values("unit", dtype("f32"), rows * width, stream).copy().reshape(rows, width)
    x[:, 5 :: 3 * GROUP] = np.where(np.arange(len(x)) % 2 == 0, np.inf, -np.inf)[:, None]
    return x


_SPECIAL: dict[str, Callable[[int, int, RandomStream], NDArray[np.float32]]] = {
    "halves": _halves,
    "near_halves": _near_halves,
    "least": _least,
    "one_inf": _one_inf,
    "zero": lambda rows, width, stream: np.where(np.arange(rows * width) % 2 == 0, 0.0, -0.0).astype(np.float32),
}


def f32_values(distribution: str, rows: int, width: int, stream: RandomStream) -> NDArray[np.float32]:
    """``rows * width`` numbers to quantize; raises ``ValueError`` for an unknown ``distribution``."""
    if distribution in _SPECIAL:
        return _SPECIAL[distribution](rows, width, stream).reshape(-1)
    return values(distribution, dtype("f32"), rows * width, stream)
