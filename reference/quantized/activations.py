"""quantize_q8_1: rows of float32 to blocks of 32 signed bytes with a scale and a sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.butterfly import butterfly
from reference.expected import Expected
from reference.interval import ordinals
from reference.quantized.blocks import GROUP, Q8_1_SIZE
from reference.result import contiguous
from reference.summation import along, any_order, storing

Array = NDArray[Any]


@np.errstate(all="ignore")
def quantize_q8_1(
    variant: Mapping[str, str], library_ulp: int, *, x: Array, vy: Array, kx: int, kx_padded: int
) -> dict[str, Expected]:
    """``x`` holds rows of ``kx`` values, ``vy`` gets rows of ``kx_padded`` / 32 blocks: as many rows as ``x`` has.

    The sum adds up the values, in any order, not their quants; quants are divided by the scale before that is rounded
    to float16.
    """
    return {"vy": contiguous(vy, q8_1_blocks(x, int(kx), int(kx_padded)).reshape(-1))}


@np.errstate(all="ignore")
def q8_1_blocks(x: Array, kept: int, padded: int) -> Array:
    """Rows of ``kept`` float32 values, filled up with zeros to ``padded``, as blocks: uint8 (blocks, 36)."""
    groups = _groups(x, kept, padded)
    largest = butterfly(np.abs(groups), np.fmax)
    sums = butterfly(groups)
    scale = largest / np.float32(127)
    blocks = np.empty((len(groups), Q8_1_SIZE), np.uint8)
    blocks[:, 0:2] = _half(scale)
    blocks[:, 2:4] = _half(sums)
    quants = low_byte(groups / scale[:, None])
    blocks[:, 4:] = np.where(largest[:, None] == 0, 0, quants)
    return blocks


@np.errstate(all="ignore")
def sums_in_another_order(arguments: Mapping[str, Any], got: Mapping[str, Array]) -> dict[str, Array]:
    """Which bytes of ``vy`` belong to a sum that some order of the float32 additions gives, and its rounding."""
    groups = _groups(arguments["x"], int(arguments["kx"]), int(arguments["kx_padded"]))
    mask = np.zeros(got["vy"].size, np.bool_)
    size = len(groups) * Q8_1_SIZE
    blocks = got["vy"][:size].reshape(-1, Q8_1_SIZE)
    written = np.ascontiguousarray(blocks[:, 2:4]).view(np.float16)[:, 0]
    mask[:size].reshape(-1, Q8_1_SIZE)[:, 2:4] = of_some_order(groups, butterfly(groups), written)[:, None]
    return {"vy": mask}


def of_some_order(groups: Array, sums: Array, written: Array) -> Array:
    """Which of the float16 numbers ``written`` some order of adding up float32 ``groups`` over their last axis gives.

    ``sums`` are those of Candle's order.
    """
    wide = dtype("f32")
    reached = any_order(along(groups, groups.ndim - 1), wide, sums, storing(wide.name))
    low, high = (ordinals(np.asarray(end).astype(np.float16)) for end in (reached.low, reached.high))
    return np.asarray((ordinals(written) >= low) & (ordinals(written) <= high))


def _groups(x: Array, kept: int, padded: int) -> Array:
    """The rows of ``kept`` values filled up with zeros to ``padded``, as groups of 32."""
    rows = x.size // kept if kept else 0
    values = np.zeros((rows, padded), np.float32)
    values[:, :kept] = x[: rows * kept].reshape(rows, kept)
    return values.reshape(-1, GROUP)


def _half(x: Array) -> Array:
    return x.astype(np.float16).reshape(-1, 1).view(np.uint8)


def low_byte(x: Array) -> Array:
    """Half away from zero to int32, saturated, NaN to 0; then the lowest byte."""
    wide = x.astype(np.float64)
    rounded = np.trunc(wide + np.copysign(0.5, wide))
    whole = np.clip(np.where(np.isnan(rounded), 0, rounded), -(2.0**31), 2.0**31 - 1)
    return (whole.astype(np.int64) & 0xFF).astype(np.uint8)
