"""Activations as the matrix-matrix launchers take them: blocks of 128 values, all columns of a block side by side.

A block has 144 bytes: 16 of scales and sums, in one of three layouts, then 128 signed bytes.

====  =============================================================================================================
D4    four float32 scales, one for 32 values each
DS4   four pairs of float16: the scale of 32 values, and the sum of the values
D2S6  eight float16: the scales of 64 values each, then the sums of 16 values each, of the first 96
====  =============================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.butterfly import butterfly
from reference.quantized.activations import low_byte

Array = NDArray[Any]

LENGTH = 128
"""Values of a block."""

SIZE = 144
"""Bytes of a block."""

_HEAD = 16
_THREAD = 4
"""Values that a thread of upstream's takes, and adds up before the butterfly."""


@dataclass(frozen=True)
class Layout:
    """Values to a scale, values to a sum (none: 0), and the blocks' bytes that hold sums: start, count, step."""

    per_scale: int
    per_sum: int
    sums: tuple[int, int, int] = (0, 0, 1)

    @property
    def sum_bytes(self) -> Array:
        """The places of the sums' first bytes in a block."""
        start, count, step = self.sums
        return start + step * np.arange(count)


LAYOUTS = {
    "D4": Layout(32, 0),
    "DS4": Layout(32, 32, (2, 4, 4)),
    "D2S6": Layout(64, 16, (4, 6, 2)),
}


def quantized(layout: str, values: Array) -> tuple[Array, Array, Array]:
    """Blocks of float32 ``values`` (..., 128): uint8 (..., 144); and the terms and the sums of each sum that they hold.

    A value is multiplied by 127 / (largest magnitude), which is rounded to float32, and the product rounded half away
    from zero; the scale is 1 / that factor. A block of zeros has the factor infinity, the scale 0 and quants of 0.
    """
    how = LAYOUTS[layout]
    grouped = values.reshape(*values.shape[:-1], -1, how.per_scale)
    inverse = np.float32(127) / np.fmax.reduce(np.abs(grouped), axis=-1)
    scales = np.float32(1) / inverse
    blocks = np.empty((*values.shape[:-1], SIZE), np.uint8)
    blocks[..., _HEAD:] = low_byte(grouped * inverse[..., None]).reshape(values.shape)
    if layout == "D4":
        blocks[..., :_HEAD] = _bytes(scales)
        return blocks, values[..., :0, None], values[..., :0]
    terms = values.reshape(*values.shape[:-1], -1, how.per_sum)[..., : how.sums[1], :]
    sums = _sums(terms)
    halves = [scales, sums] if layout == "D2S6" else [np.stack([scales, sums], axis=-1).reshape(*sums.shape[:-1], -1)]
    blocks[..., :_HEAD] = _bytes(np.concatenate(halves, axis=-1).astype(np.float16))
    return blocks, terms, sums


def _sums(terms: Array) -> Array:
    """In Candle's order: four values one after the other, then a butterfly over the threads."""
    first, *rest = np.moveaxis(terms.reshape(*terms.shape[:-1], -1, _THREAD), -1, 0)
    for part in rest:
        first = first + part
    return butterfly(first)


def _bytes(x: Array) -> Array:
    return np.ascontiguousarray(x).view(np.uint8)


@dataclass(frozen=True)
class Tiles:
    """Columns of activations. quants: int32 (columns, groups of 32, 32); d: float32 (columns, groups).

    s: float32, the stored sums: (columns, groups) of DS4, (columns, blocks of 128, 6) of D2S6, empty of D4.
    """

    quants: Array
    d: Array
    s: Array


def tiles(layout: str, data: Array, columns: int, groups: int) -> Tiles:
    """``columns`` columns of the first ``groups`` groups of 32; raises ``ValueError`` where ``data`` is too short."""
    count = -(-groups * 32 // LENGTH)
    if data.size < columns * count * SIZE:
        raise ValueError(f"{data.size} bytes do not hold {columns} columns of {count} blocks of {SIZE} bytes")
    raw = data[: columns * count * SIZE].reshape(count, columns, SIZE).swapaxes(0, 1)
    quants = np.ascontiguousarray(raw[..., _HEAD:]).view(np.int8).astype(np.int32)
    head = np.ascontiguousarray(raw[..., :_HEAD])
    if layout == "D4":
        d, s = head.view(np.float32), np.zeros((columns, 0), np.float32)
    elif layout == "DS4":
        pairs = head.view(np.float16).astype(np.float32).reshape(columns, count, 4, 2)
        d, s = pairs[..., 0], pairs[..., 1].reshape(columns, -1)[:, :groups]
    else:
        halves = head.view(np.float16).astype(np.float32)
        d, s = np.repeat(halves[..., :2], 2, axis=-1), halves[..., 2:]
    return Tiles(quants.reshape(columns, -1, 32)[:, :groups], d.reshape(columns, -1)[:, :groups], s)
