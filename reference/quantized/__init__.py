"""Quantized weights: decoded, gathered by row, and multiplied with f32 or quantized activations."""

from reference.quantized.activations import quantize_q8_1
from reference.quantized.decoded import dequantize_block, get_rows
from reference.quantized.products import indexed_moe_forward, mmq, mmvq
from reference.quantized.vector import dmmv

__all__ = ["dequantize_block", "dmmv", "get_rows", "indexed_moe_forward", "mmq", "mmvq", "quantize_q8_1"]
