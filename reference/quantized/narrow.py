"""Weights as 16-bit floats, as moe_gemm_gguf_prefill decodes them before it multiplies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.quantized.blocks import Blocks
from reference.quantized.decoded import values
from reference.rounding import rounded

Array = NDArray[Any]

FORMS = ("product fused", "minimum fused", "each", "float32")
"""How the decoding may round; how it does where CUDA compiles it for an H100 comes first.

``each``: to float16 after every operation. ``product fused``, ``minimum fused``: but for the product of a quant with
its scale, or of a minimum with its scale, when the one is taken off the other. ``float32``: all of it in float32, where
it is as good as exact, and once to the type.
"""

_HALF = np.dtype(np.float16)


def decoded(qtype: str, blocks: Blocks, kind: np.dtype[Any], form: str) -> Array:
    """float64 (n, groups, 32), numbers of ``kind``. q8_0 is rounded once whatever the form."""
    if qtype == "q8_0" or form == "float32":
        return values(qtype, blocks).astype(kind).astype(np.float64)
    quants, scales = (part.astype(np.float64) for part in (blocks.quants, np.repeat(blocks.scales, 16, axis=2)))
    d, m = (part[:, None, None].astype(np.float64) for part in (blocks.d, blocks.m))
    product = d * _half(scales * quants) if qtype in ("q2_K", "q6_K") else _half(d * scales) * quants
    least = m * np.repeat(blocks.minimums.astype(np.float64), 16, axis=2)
    least = least if form == "minimum fused" else _half(least)
    halves = _half((product if form == "product fused" else _half(product)) - least)
    return halves.astype(np.float32).astype(kind).astype(np.float64)


def _half(x: Array) -> Array:
    return rounded(x, _HALF).astype(np.float64)
