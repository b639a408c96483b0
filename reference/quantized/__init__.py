"""Quantized weights: decoded, gathered by row, and multiplied with f32 or quantized activations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from reference.quantized.activations import quantize_q8_1, sums_in_another_order
from reference.quantized.decoded import dequantize_block, get_rows
from reference.quantized.products import indexed_moe_forward, mmq, mmvq
from reference.quantized.vector import dmmv

__all__ = ["dequantize_block", "dmmv", "equivalent", "get_rows", "indexed_moe_forward", "mmq", "mmvq", "quantize_q8_1"]


def equivalent(
    variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """See ``reference.equivalent``: quantize_q8_1 writes float16 sums into bytes, for which there are no bounds."""
    return sums_in_another_order(arguments, got) if "kx_padded" in arguments else {}
