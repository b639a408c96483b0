"""Weights as numbers: dequantize_block and get_rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.quantized.blocks import FORMATS, GROUP, SUPER, Blocks
from reference.quantized.sums import as_f32
from reference.result import contiguous

Array = NDArray[Any]

F32 = np.float32

_ZERO_POINT = {"q4_0": 8, "q5_0": 16}


def values(qtype: str, blocks: Blocks) -> Array:
    """float32 (n, groups, 32). Every operation but the last is exact: fused or not is the same."""
    if qtype in _ZERO_POINT:
        return as_f32(blocks.quants - _ZERO_POINT[qtype]) * blocks.d[:, None, None]
    scale = blocks.d[:, None, None] * as_f32(blocks.scales)
    product = np.repeat(scale, 16, axis=2) * as_f32(blocks.quants)
    if qtype in ("q4_1", "q5_1"):
        return np.asarray(product + blocks.m[:, None, None])
    if qtype in ("q2_K", "q4_K", "q5_K"):
        return np.asarray(product - np.repeat(blocks.m[:, None, None] * as_f32(blocks.minimums), 16, axis=2))
    return np.asarray(product)


@np.errstate(all="ignore")
def dequantize_block(
    variant: Mapping[str, str], library_ulp: int, *, vx: Array, y: Array, k: int | None = None
) -> dict[str, Expected]:
    """``k`` counts blocks for q4_0, q4_1 and q8_0, weights for q5_0 and q5_1; K kernels decode what ``y`` has room for.

    q4_0 is d q + (-8 d) here, which differs from (q - 8) d in the sign of zero and for an infinite d. A zero of either
    sign is right: both are the weight 0, and which of them a product or a sum gives is the compiler's choice. LLVM
    makes v_fma_mixlo_f16 with the addend +0 of a product that is rounded to f16 (llvm-project pull request 214544).
    """
    qtype = variant["qtype"]
    format_ = FORMATS[qtype]
    unit = GROUP if qtype in ("q5_0", "q5_1") else 1
    count = y.size // SUPER if k is None else int(k) // unit
    blocks = format_.blocks(vx, count)
    if qtype == "q4_0":
        d = blocks.d[:, None, None]
        decoded = d * as_f32(blocks.quants) + F32(-8) * d
    else:
        decoded = values(qtype, blocks)
    weights = decoded.reshape(-1).astype(y.dtype)
    zero = y.dtype.type(0)
    low, high = (np.where(weights == 0, end, weights) for end in (-zero, zero))
    return {"y": contiguous(y, weights, low, high)}


@np.errstate(all="ignore")
def get_rows(
    variant: Mapping[str, str], library_ulp: int, *, src0: Array, src1: Array, dst: Array, ne00: int, nb01: int
) -> dict[str, Expected]:
    """Row i of ``dst`` is row ``src1[i]`` of ``src0``: ``ne00`` weights in ``nb01`` bytes, or ``ne00`` floats."""
    qtype, length, count = variant["qtype"], int(ne00), dst.size // max(int(ne00), 1)
    ids = src1[: min(count, src1.size)].astype(np.int64)
    if qtype not in FORMATS:
        rows = src0[: src0.size // length * length].reshape(-1, length)[ids]
        return {"dst": contiguous(dst, rows.astype(F32).reshape(-1))}
    format_ = FORMATS[qtype]
    per_row = length // format_.length
    rows = src0[: src0.size // int(nb01) * int(nb01)].reshape(-1, int(nb01))[ids, : per_row * format_.size]
    blocks = format_.blocks(rows.reshape(-1), len(ids) * per_row)
    return {"dst": contiguous(dst, values(qtype, blocks).reshape(-1))}
