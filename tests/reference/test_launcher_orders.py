"""Right kernels that add up in another way than Candle's: the reference of the launchers accuses none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import recorded_calls
from numpy.typing import NDArray
from recorded_calls import Call

from reference.moe import QTYPES, TYPES
from reference.quantized.blocks import FORMATS, columns
from reference.quantized.narrow import FORMS, decoded
from reference.quantized.tiles import tiles

Array = NDArray[Any]
Add = Callable[[Array], Array]
"""The float32 sum over the last axis of float64 terms that float32 has room for."""


def forward(terms: Array) -> Array:
    return np.asarray(np.add.accumulate(terms.astype(np.float32), axis=-1)[..., -1])


def backward(terms: Array) -> Array:
    return forward(terms[..., ::-1])


def pairwise(terms: Array) -> Array:
    return np.asarray(np.add.reduce(np.ascontiguousarray(terms.astype(np.float32)), axis=-1))


def cut_off(terms: Array) -> Array:
    """Eight terms with what there is so far, cut off to float32, as a matrix unit may."""
    total = np.zeros(terms.shape[:-1], np.float32)
    for at in range(0, terms.shape[-1], 8):
        exact = total.astype(np.float64) + terms[..., at : at + 8].sum(axis=-1)
        nearest = exact.astype(np.float32)
        too_far = np.abs(nearest.astype(np.float64)) > np.abs(exact)
        total = np.where(too_far, np.nextafter(nearest, np.float32(0)), nearest)
    return total


ORDERS = (forward, backward, pairwise, cut_off)


def mixture(call: Call, add: Add) -> Array:
    """The results of moe_gemm_wmma and moe_gemm_gguf_prefill, a row at a time, without upstream's defect."""
    given = call.arguments
    width, height = int(given["size_k"]), int(given["size_n"])
    packed = "gguf_dtype" in given
    kind = TYPES[int(given["input_dtype"] if packed else given["dtype"])]
    x = given["input"].astype(np.float64).reshape(-1, width)
    output = given["output"].copy().reshape(-1, height)
    for row, expert in zip(given["sorted_token_ids"], given["expert_ids"], strict=True):
        if packed:
            qtype = QTYPES[int(given["gguf_dtype"])]
            count = height * width // FORMATS[qtype].length
            blocks = FORMATS[qtype].blocks(given["weights"][expert * count * FORMATS[qtype].size :], count)
            weights = decoded(qtype, blocks, kind, FORMS[0]).reshape(height, width)
        else:
            weights = given["weights"][expert * height * width :][: height * width].astype(np.float64)
        factors = given["topk_weights"]
        total = add(weights.reshape(height, width) * x[row // int(given["topk"]) if factors is None else row])
        output[row] = (total if factors is None else total * factors[row]).astype(output.dtype)
    return output.reshape(-1)


@pytest.mark.parametrize("add", ORDERS)
def test_mixtures_of_experts_in_any_order(add: Add) -> None:
    for family, step in (("moe_gemm_wmma", 3), ("moe_gemm_gguf_prefill", 7)):
        for call in [call for call in recorded_calls.calls("moe") if call.family == family][::step]:
            right = replace(call, variant={"fixed": "half-bits"})
            assert right.wrong({**call.answer, "output": mixture(call, add)}, others=False) == 0, call.id


@pytest.mark.parametrize("add", ORDERS)
@pytest.mark.parametrize("qtype", ["q8_0", "q3_k", "q6_k"])
def test_tiles_in_any_order(qtype: str, add: Add) -> None:
    """Sums of four weights each, scaled one by one."""
    for call in [call for call in recorded_calls.calls("mmq") if call.name == f"launch_mmq_gguf_{qtype}"][:2]:
        given = call.arguments
        width, rows, count = (int(given[name]) for name in ("ncols_x", "nrows_x", "ncols_y"))
        form = FORMATS[qtype.replace("_k", "_K")]
        blocks = form.blocks(given["x"], rows * width // form.length)
        y = tiles("D4", given["y"], count, width // 32)
        words = np.einsum("rgwk,cgwk->crgw", blocks.quants.reshape(rows, -1, 8, 4), y.quants.reshape(count, -1, 8, 4))
        scales = np.repeat(blocks.scales, 4, axis=2) * blocks.d[:, None, None]
        terms = words * scales.reshape(rows, -1, 8).astype(np.float32) * y.d[:, None, :, None]
        assert call.wrong({"dst": add(terms.reshape(count, rows, -1)).reshape(-1)}, others=False) == 0


@pytest.mark.parametrize("add", ORDERS)
def test_vectors_in_any_order(add: Add) -> None:
    """q4_1: a group at a time, its product and its minimum as terms of their own."""
    for call in [call for call in recorded_calls.calls("mmvq") if call.name == "launch_mmvq_gguf_q4_1_f32_plain"]:
        given = call.arguments
        width, rows, count = (int(given[name]) for name in ("ncols_x", "nrows_x", "b_size"))
        blocks = FORMATS["q4_1"].blocks(given["vx"], rows * width // 32).reshaped(rows, width // 32)
        y = columns(given["vy"], count, width // 32, int(given["stride_col_y"]))
        dots = np.einsum("rgk,cgk->crg", blocks.quants[:, :, 0], y.quants)
        products = dots * (blocks.d * y.d[:, None]).astype(np.float64)
        terms = np.concatenate([products, (blocks.m * y.s[:, None]).astype(np.float64)], axis=-1)
        assert call.wrong({"dst": add(terms).reshape(-1)}, others=False) == 0
