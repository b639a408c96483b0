"""The packed block formats, taken apart: whole buffers at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

GROUP = 32
"""Weights to a group: as many as share a scale of the activations."""

SUPER = 256
"""Weights of a K block."""


@dataclass(frozen=True)
class Blocks:
    """n blocks of ``length`` weights. ``quants`` are as the matrix-vector products take them.

    quants: int32 (n, groups, 32). scales, minimums: int32 (n, groups, 2), per half of a group; ones and zeros where
    the format has none. d, m: float32 (n,).
    """

    quants: Array
    d: Array
    m: Array
    scales: Array
    minimums: Array

    def reshaped(self, *shape: int) -> Blocks:
        """The same blocks with ``shape`` in place of their number n."""
        return self.seen(lambda part: part.reshape(*shape, *part.shape[1:]))

    def seen(self, see: Callable[[Array], Array]) -> Blocks:
        """Blocks with ``see`` applied to every part."""
        return Blocks(*(see(part) for part in (self.quants, self.d, self.m, self.scales, self.minimums)))


@dataclass(frozen=True)
class Format:
    """``size`` bytes hold ``length`` weights."""

    length: int
    size: int
    take_apart: Callable[[Bytes], Blocks]

    def blocks(self, data: Bytes, count: int) -> Blocks:
        """The first ``count`` blocks of ``data``; raises ``ValueError`` where it holds fewer."""
        if data.size < count * self.size:
            raise ValueError(f"{data.size} bytes hold {data.size // self.size} blocks, not {count}")
        return self.take_apart(data[: count * self.size].reshape(count, self.size))


def _float(raw: Bytes, at: int, dtype: Any = np.float16) -> Array:
    size = np.dtype(dtype).itemsize
    return np.asarray(np.ascontiguousarray(raw[:, at : at + size]).view(dtype)[:, 0].astype(np.float32))


def _signed(raw: Bytes) -> Array:
    return raw.view(np.int8).astype(np.int32)


def _blocks(quants: Array, d: Array, m: Array | None = None, sm: tuple[Array, Array | None] | None = None) -> Blocks:
    count = len(quants)
    grouped = quants.reshape(count, -1, GROUP).astype(np.int32)
    shape = (count, grouped.shape[1], 2)
    scales = np.ones(shape, np.int32) if sm is None else sm[0].reshape(shape).astype(np.int32)
    minimums = np.zeros(shape, np.int32) if sm is None or sm[1] is None else sm[1].reshape(shape).astype(np.int32)
    return Blocks(grouped, d, np.zeros_like(d) if m is None else m, scales, minimums)


def _nibbles(raw: Bytes) -> Array:
    """(n, k) bytes to (n, 2, k): all low halves, then all high ones."""
    return np.stack([raw & 15, raw >> 4], axis=1)


def _bits(raw: Bytes) -> Array:
    """(n, k) bytes to (n, 8 k) bits, the lowest of each byte first."""
    return np.unpackbits(raw, axis=1, bitorder="little")


def _q4(start: int, has_minimum: bool) -> Callable[[Bytes], Blocks]:
    def take_apart(raw: Bytes) -> Blocks:
        quants = _nibbles(raw[:, start : start + 16]).reshape(len(raw), GROUP)
        return _blocks(quants, _float(raw, 0), _float(raw, 2) if has_minimum else None)

    return take_apart


def _q5(start: int, has_minimum: bool) -> Callable[[Bytes], Blocks]:
    def take_apart(raw: Bytes) -> Blocks:
        low = _nibbles(raw[:, start + 4 : start + 20]).reshape(len(raw), GROUP)
        high = _bits(raw[:, start : start + 4])
        return _blocks(low | high << 4, _float(raw, 0), _float(raw, 2) if has_minimum else None)

    return take_apart


def _q8_0(raw: Bytes) -> Blocks:
    return _blocks(_signed(raw[:, 2:34]), _float(raw, 0))


def _q8_k(raw: Bytes) -> Blocks:
    return _blocks(_signed(raw[:, 4:260]), _float(raw, 0, np.float32))


def _pairs_of_bits(raw: Bytes) -> Array:
    """64 bytes to 256 values of two bits: byte 32 n + l holds those of groups 4 n .. 4 n + 3 at place l."""
    halves = raw.reshape(len(raw), 2, 1, GROUP)
    return halves >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3


def _q2_k(raw: Bytes) -> Blocks:
    scales = raw[:, :16]
    return _blocks(_pairs_of_bits(raw[:, 16:80]), _float(raw, 80), _float(raw, 82), (scales & 15, scales >> 4))


def _q3_k(raw: Bytes) -> Blocks:
    low = _pairs_of_bits(raw[:, 32:96]).reshape(len(raw), 8, GROUP).astype(np.int32)
    # Bit g of byte l is the upper one of place l of group g: 0 takes 4 off.
    high = raw[:, None, :32] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    nibbles = _nibbles(raw[:, 96:104]).reshape(len(raw), 16)
    upper = (raw[:, None, 104:108] >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3).reshape(len(raw), 16)
    scales = (nibbles | upper << 4).astype(np.int32) - 32
    return _blocks(low + 4 * high.astype(np.int32) - 4, _float(raw, 108), None, (scales, None))


def _six_bits(raw: Bytes) -> tuple[Array, Array]:
    """12 bytes to eight scales and eight minimums, each for two halves of a group."""
    first, second, third = raw[:, :4], raw[:, 4:8], raw[:, 8:]
    scales = np.concatenate([first & 63, (third & 15) | first >> 6 << 4], axis=1)
    minimums = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=1)
    return np.repeat(scales, 2, axis=1), np.repeat(minimums, 2, axis=1)


def _q4_k(raw: Bytes) -> Blocks:
    quants = _nibbles(raw[:, 16:144].reshape(-1, GROUP))
    return _blocks(quants.reshape(len(raw), SUPER), _float(raw, 0), _float(raw, 2), _six_bits(raw[:, 4:16]))


def _q5_k(raw: Bytes) -> Blocks:
    low = _nibbles(raw[:, 48:176].reshape(-1, GROUP)).reshape(len(raw), 8, GROUP)
    high = raw[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return _blocks(low | high << 4, _float(raw, 0), _float(raw, 2), _six_bits(raw[:, 4:16]))


def _q6_k(raw: Bytes) -> Blocks:
    # 64 bytes hold four groups: the low halves of two, then the high halves of two.
    low = _nibbles(raw[:, :128].reshape(-1, 2 * GROUP)).reshape(len(raw), SUPER)
    high = _pairs_of_bits(raw[:, 128:192]).reshape(len(raw), SUPER)
    quants = (low | high << 4).astype(np.int32) - 32
    return _blocks(quants, _float(raw, 208), None, (_signed(raw[:, 192:208]), None))


FORMATS: dict[str, Format] = {
    "q4_0": Format(32, 18, _q4(2, False)),
    "q4_1": Format(32, 20, _q4(4, True)),
    "q5_0": Format(32, 22, _q5(2, False)),
    "q5_1": Format(32, 24, _q5(4, True)),
    "q8_0": Format(32, 34, _q8_0),
    "q2_K": Format(256, 84, _q2_k),
    "q3_K": Format(256, 110, _q3_k),
    "q4_K": Format(256, 144, _q4_k),
    "q5_K": Format(256, 176, _q5_k),
    "q6_K": Format(256, 210, _q6_k),
    "q8_K": Format(256, 292, _q8_k),
}
"""By the name in a kernel's ``qtype``."""


def named(qtype: str) -> str:
    """The key of ``FORMATS``: kernels that are linked have ``q4_k`` in their names, the others ``q4_K``."""
    return qtype.replace("_k", "_K")


Q8_1_SIZE = 36
"""Bytes of 32 quantized activations: scale and sum as float16, 32 signed bytes."""


@dataclass(frozen=True)
class Columns:
    """Quantized activations: quants int32 (columns, groups, 32); d and s float32 (columns, groups)."""

    quants: Array
    d: Array
    s: Array


def columns(data: Bytes, count: int, groups: int, stride: int) -> Columns:
    """``count`` columns of ``groups`` blocks, ``stride`` blocks apart.

    Raises ``ValueError`` where ``data`` is too short.
    """
    if data.size < count * stride * Q8_1_SIZE or groups > stride:
        raise ValueError(f"{data.size} bytes do not hold {count} columns of {stride} blocks, {groups} of them used")
    raw = data[: count * stride * Q8_1_SIZE].reshape(count, stride, Q8_1_SIZE)[:, :groups].reshape(-1, Q8_1_SIZE)
    shape = (count, groups)
    quants = _signed(raw[:, 4:]).reshape(*shape, GROUP)
    return Columns(quants, _float(raw, 0).reshape(shape), _float(raw, 2).reshape(shape))
