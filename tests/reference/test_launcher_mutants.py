"""Mistakes that kernels make, in the recorded calls of the linked launchers: the reference refuses each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import recorded_calls
from numpy.typing import NDArray
from recorded_calls import Call

from reference import mmq
from reference.quantized.blocks import FORMATS, named

Array = NDArray[Any]
Mutant = Callable[[Call], "dict[str, Array] | None"]
"""What a kernel with the mistake leaves; ``None`` where a call has nothing to make it with."""

SCALES = {"q2_K": (80, 82), "q3_K": (108, None), "q6_K": (208, None), "q4_K": (0, 2), "q5_K": (0, 2)}
"""The bytes where a block's scale and the scale of its minimums begin; elsewhere 0, and 2 in the formats below."""

WITH_MINIMUM = ("q4_1", "q5_1", "q2_K", "q4_K", "q5_K")


def products(module: str) -> Iterator[Call]:
    """Every other call of a product of packed weights with float32 results, whose last bits count."""
    families = ("mmvq", "mmq", "moe_gemm_gguf", "moe_gemm_gguf_prefill")
    for call in recorded_calls.calls(module)[:: 1 if module == "mmvq" else 2]:
        if call.family in families and call.variant.get("dtype", "f32") == "f32":
            yield call


def weights_of(call: Call) -> tuple[str, str, str]:
    """The format of the packed weights, the argument that holds them, and that of their columns."""
    if call.module == "moe":
        codes = ("q8_0", "q4_K", "q2_K", "q3_K", "q5_K", "q6_K")
        return codes[int(call.arguments["gguf_dtype"])], "weights", "size_k"
    return named(call.variant["qtype"]), "vx" if call.module == "mmvq" else "x", "ncols_x"


def with_blocks(call: Call, change: Callable[[str, Array], bool | None]) -> dict[str, Array] | None:
    """The result with ``change(qtype, blocks)`` made to the weights: uint8 (rows, blocks of a row, bytes)."""
    qtype, name, columns = weights_of(call)
    data = call.arguments[name].copy()
    per_row = int(call.arguments[columns]) // FORMATS[qtype].length
    rows = data.size // FORMATS[qtype].size // per_row
    blocks = data[: rows * per_row * FORMATS[qtype].size].reshape(rows, per_row, FORMATS[qtype].size)
    return None if change(qtype, blocks) is False else call.values(**{name: data})


def scales(qtype: str, blocks: Array, minimum: bool = False) -> Array:
    """The scales of the blocks, as bytes that can be written to."""
    at = SCALES.get(qtype, (0, 2))[minimum]
    assert at is not None
    return np.asarray(blocks[..., at : at + 2])


def numbers(raw: Array) -> Array:
    return np.asarray(np.ascontiguousarray(raw).view(np.float16)[..., 0].astype(np.float32))


def a_block_left_out(call: Call) -> dict[str, Array] | None:
    def change(qtype: str, blocks: Array) -> None:
        largest = np.abs(numbers(scales(qtype, blocks))).argmax(axis=1)
        blocks[np.arange(len(blocks)), largest] = 0

    return with_blocks(call, change)


def the_scale_of_the_next_block(call: Call) -> dict[str, Array] | None:
    def change(qtype: str, blocks: Array) -> None:
        flat = blocks.reshape(-1, blocks.shape[-1])
        scales(qtype, flat)[:] = np.roll(scales(qtype, flat), -1, axis=0)

    return with_blocks(call, change)


def no_minimum(call: Call) -> dict[str, Array] | None:
    def change(qtype: str, blocks: Array) -> bool | None:
        if qtype not in WITH_MINIMUM:
            return False
        scales(qtype, blocks, minimum=True)[:] = 0
        return None

    return with_blocks(call, change)


def a_scale_of_one_bit_less(call: Call) -> dict[str, Array] | None:
    """As if it were kept in bfloat16, with its last bits lost."""

    def change(qtype: str, blocks: Array) -> None:
        scales(qtype, blocks)[..., 0] &= 0xF8

    return with_blocks(call, change)


def the_last_block_of_a_row_left_out(call: Call) -> dict[str, Array] | None:
    def change(qtype: str, blocks: Array) -> None:
        blocks[:, -1] = 0

    return with_blocks(call, change)


def the_next_row(call: Call) -> dict[str, Array] | None:
    return {name: np.roll(content, 1) for name, content in call.answer.items()}


@np.errstate(over="ignore", invalid="ignore")
def sums_in_float16(call: Call) -> dict[str, Array] | None:
    """The parts of one block each, added up in float16."""
    qtype, name, columns = weights_of(call)
    data, form = call.arguments[name], FORMATS[qtype]
    per_row = int(call.arguments[columns]) // form.length
    total: dict[str, Array] = {}
    for block in range(per_row):
        part = data.copy()
        blocks = part[: part.size // form.size // per_row * per_row * form.size].reshape(-1, per_row, form.size)
        blocks[:, np.arange(per_row) != block] = 0
        for buffer, value in call.values(**{name: part}).items():
            total[buffer] = total.get(buffer, np.float16(0)) + value.astype(np.float16)
    return {buffer: value.astype(call.answer[buffer].dtype) for buffer, value in total.items()}


PRODUCT_MUTANTS: dict[Mutant, dict[str, float]] = {
    a_block_left_out: {"mmvq": 0.9, "mmq": 0.9, "moe": 0.9},
    the_scale_of_the_next_block: {"mmvq": 0.9, "mmq": 0.9, "moe": 0.9},
    no_minimum: {"mmvq": 0.9, "mmq": 0.9, "moe": 0.8},
    a_scale_of_one_bit_less: {"mmvq": 0.8, "mmq": 0.8, "moe": 0.6},
    the_last_block_of_a_row_left_out: {"mmvq": 0.8, "mmq": 0.8, "moe": 0.8},
    the_next_row: {"mmvq": 0.9, "mmq": 0.9, "moe": 0.9},
    sums_in_float16: {"mmvq": 0.7, "mmq": 0.7, "moe": 0.4},
}
"""With the part of all results, but for those that are 0, of which at least so much is refused."""


@pytest.mark.slow("the recorded calls again for each mistake of the reference")
@pytest.mark.parametrize("module", ["mmvq", "mmq", "moe"])
@pytest.mark.parametrize("mutant", PRODUCT_MUTANTS)
def test_a_product_with_a_mistake_is_refused(module: str, mutant: Mutant) -> None:
    refused = elements = 0
    for call in products(module):
        got = mutant(call)
        if got is not None:
            refused += call.wrong(got)
            elements += sum(np.count_nonzero(content) for content in call.answer.values())
    assert refused >= PRODUCT_MUTANTS[mutant][module] * elements


@pytest.mark.parametrize("qtype", ["q4_0", "q5_0"])
def test_another_offset_of_the_quants_is_refused(qtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """7 or 15 in place of 8 and 16: as integers in mmq, by way of the activations' sums in mmvq."""
    forms = mmq._FORMS[qtype]
    for call in [call for call in recorded_calls.calls("mmq") if call.name == f"launch_mmq_gguf_{qtype}"][:3]:
        with monkeypatch.context() as patch:
            patch.setitem(mmq._FORMS, qtype, (replace(forms[0], offset=forms[0].offset - 1),))
            got = call.values()
        assert call.wrong(got) > 0.9 * np.count_nonzero(call.answer["dst"])
    share = np.float16((forms[0].offset - 1) / forms[0].offset)
    for call in [call for call in recorded_calls.calls("mmvq") if call.name == f"launch_mmvq_gguf_{qtype}_f32_plain"]:
        y = call.arguments["vy"].copy()
        sums = y.reshape(-1, 36)[:, 2:4]
        sums[:] = (np.ascontiguousarray(sums).view(np.float16) * share).view(np.uint8)
        assert call.wrong(call.values(vy=y)) > 0.8 * np.count_nonzero(call.answer["dst"])


@np.errstate(over="ignore")
def test_a_result_is_rounded_to_the_type_of_the_output() -> None:
    """Cut off in place of rounded: half of the results that have more digits are one step off."""
    for dtype, digits in (("f16", 13), ("bf16", 16)):
        refused = elements = 0
        for call in recorded_calls.calls("mmvq"):
            if call.family != "mmvq" or call.variant["dtype"] != dtype:
                continue
            plain = replace(call, variant={**call.variant, "dtype": "f32"})
            room = np.zeros(call.answer["dst"].size, np.float32)
            exact = plain.values(dst=room)["dst"].view(np.uint32) >> digits << digits
            got = exact.view(np.float32).astype(call.answer["dst"].dtype)
            refused += call.wrong({"dst": got})
            elements += np.count_nonzero(got)
        assert refused > 0.3 * elements


def quantized_wrongly(call: Call) -> Iterator[tuple[str, Array]]:
    """Blocks of 36 bytes with one mistake each."""
    given, right = call.arguments, call.answer["vy"]
    width, padded = int(given["kx"]), int(given["kx_padded"])
    x = np.zeros((int(given["num_rows"]), padded), np.float32)
    x[:, :width] = given["x"].astype(np.float32).reshape(-1, width)
    groups = x.reshape(-1, 32)
    largest = np.abs(groups).max(axis=1, keepdims=True)

    def blocks(**parts: Array) -> Array:
        changed = right.copy().reshape(-1, 36)
        for name, part in parts.items():
            at = {"d": slice(0, 2), "s": slice(2, 4), "q": slice(4, 36)}[name]
            changed[:, at] = np.ascontiguousarray(part).view(np.uint8)
        return changed.reshape(-1)

    with np.errstate(all="ignore"):
        scale = (largest / np.float32(127)).astype(np.float16)
        quants = np.where(largest == 0, 0, groups / (largest / np.float32(127)))
        yield "cut off", blocks(q=np.trunc(quants).astype(np.int8))
        stored = np.where(scale == 0, 0, groups / scale.astype(np.float32))
        yield "by the stored scale", blocks(q=np.clip(np.rint(stored), -127, 127).astype(np.int8))
        yield "128 steps", blocks(d=(largest / np.float32(128)).astype(np.float16))
    sums = np.rint(quants).sum(axis=1, keepdims=True)
    yield "sum of the quants", blocks(s=sums.astype(np.float16))
    if padded > width:
        untouched = right.copy()
        untouched.reshape(len(x), -1)[:, width // 32 * 36 :] = 0xA5
        yield "padding left out", untouched


def test_wrongly_quantized_vectors_are_refused() -> None:
    calls = [call for call in recorded_calls.calls("mmvq") if "num_rows" in call.arguments]
    refused: dict[str, int] = {}
    for call in calls:
        for mistake, got in quantized_wrongly(call):
            refused[mistake] = refused.get(mistake, 0) + (call.wrong({"vy": got}) > 0)
    assert len(refused) == 5
    assert min(refused.values()) >= len(calls) - 6, refused


def test_wrongly_quantized_tiles_are_refused() -> None:
    for call in (call for call in recorded_calls.calls("mmq") if "layout" in call.variant):
        right, columns = call.answer["vy"], int(call.arguments["ne1"])
        layout = call.variant["layout"]
        for other in {"D4", "DS4", "D2S6"} - {layout}:
            assert call.wrong(replace(call, variant={"layout": other}).values())
        one_off = right.copy()
        one_off.reshape(-1, 144)[:, 16] += 1
        assert call.wrong({"vy": one_off}) == right.size // 144
        if columns > 1 and right.size > columns * 144:
            transposed = right.reshape(-1, columns, 144).swapaxes(0, 1).reshape(-1)
            assert call.wrong({"vy": transposed.copy()})
        if layout != "D4":
            last_bits = right.copy()
            sums = last_bits.reshape(-1, 144)[:, 2:16:4] if layout == "DS4" else last_bits.reshape(-1, 144)[:, 4:16:2]
            sums ^= 1
            assert call.wrong({"vy": last_bits}) > 0.8 * np.count_nonzero(right.reshape(-1, 144)[:, 16::32].any(axis=1))


@pytest.mark.slow("the reference of whole products of matrices")
@np.errstate(over="ignore")
def test_sums_of_activations_may_be_added_in_any_order() -> None:
    """In order, in place of a butterfly: few halves differ, and are as good."""
    different = 0
    for module, head in (("mmvq", 36), ("mmq", 144)):
        for call in recorded_calls.calls(module):
            if "num_rows" not in call.arguments and call.variant.get("layout") != "DS4":
                continue
            given = call.arguments
            width = int(given["kx"] if module == "mmvq" else given["ne00"])
            x = given["x"].astype(np.float32).reshape(-1, width // 32, 32)
            sums = np.add.accumulate(x, axis=2)[..., -1].astype(np.float16)
            got = call.answer["vy"].copy()
            if module == "mmvq":
                rows = got.reshape(len(x), -1, head)[:, : width // 32, 2:4]
                rows[:] = sums[..., None].view(np.uint8)
            else:
                blocks = got.reshape(-1, len(x), head)
                for group in range(width // 32):
                    at = 4 * (group % 4) + 2
                    blocks[group // 4, :, at : at + 2] = sums[:, group, None].view(np.uint8)
            different += int((got != call.answer["vy"]).sum())
            assert call.wrong({"vy": got}) == 0, call.id
    assert different


def rolled_experts(call: Call) -> dict[str, Array]:
    weights, count = call.arguments["weights"], int(call.arguments["num_experts"])
    size = weights.size // count * count
    if "gguf_dtype" in call.arguments:
        form = FORMATS[weights_of(call)[0]]
        size = int(call.arguments["size_n"]) * int(call.arguments["size_k"]) // form.length * form.size * count
    experts = weights[:size].reshape(count, -1)
    return call.values(weights=np.concatenate([np.roll(experts, 1, axis=0).reshape(-1), weights[size:]]))


def other_factors(call: Call) -> dict[str, Array] | None:
    factors = call.arguments["topk_weights"]
    return None if factors is None or factors.size == 1 else call.values(topk_weights=np.roll(factors, 1))


def no_factors(call: Call) -> dict[str, Array] | None:
    factors = call.arguments["topk_weights"]
    return None if factors is None else call.values(topk_weights=np.ones_like(factors))


def other_inputs(call: Call) -> dict[str, Array] | None:
    x = call.arguments["input"].reshape(-1, int(call.arguments["size_k"]))
    return None if len(x) == 1 else call.values(input=np.roll(x, 1, axis=0).reshape(-1))


def rows_in_sorted_order(call: Call) -> dict[str, Array] | None:
    ids = call.arguments["sorted_token_ids"]
    if ids.size == 1 or "unsorted" in call.label:
        return None
    got = {name: value.copy() for name, value in call.answer.items()}
    rows = call.answer["output"].reshape(ids.size, -1)
    got["output"] = rows[ids].reshape(-1)
    return got


@pytest.mark.slow("the recorded calls again for each mistake of the reference")
@pytest.mark.parametrize(
    "mutant", [rolled_experts, other_factors, no_factors, other_inputs, rows_in_sorted_order], ids=lambda m: m.__name__
)
@pytest.mark.parametrize("family", ["moe_gemm_wmma", "moe_gemm_gguf", "moe_gemm_gguf_prefill"])
def test_rows_that_go_astray_are_refused(family: str, mutant: Mutant) -> None:
    refused = elements = 0
    for call in recorded_calls.calls("moe")[::3]:
        got = mutant(call) if call.family == family else None
        if got is not None:
            refused += call.wrong(got)
            elements += np.count_nonzero(got["output"] != call.answer["output"])
    assert elements > 50
    assert refused > 0.9 * elements


def test_rows_of_no_expert_stay_untouched() -> None:
    calls = [call for call in recorded_calls.calls("moe") if "unsorted" in call.label]
    assert len(calls) == 12
    for call in calls:
        experts = call.arguments["expert_ids"]
        nobody = (experts < 0) | (experts >= call.arguments["num_experts"])
        assert nobody.any()
        got = call.answer["output"].copy()
        got.reshape(experts.size, -1)[call.arguments["sorted_token_ids"][nobody]] = 0
        assert call.wrong({"output": got}) == nobody.sum() * int(call.arguments["size_n"])


@pytest.mark.parametrize("fixed", [False, True])
def test_half_bits_stored_as_a_number(fixed: bool) -> None:
    """Candle's answer is right, and the right one wrong, unless the variant says that the defect is fixed."""
    for call in recorded_calls.calls("moe"):
        if call.family != "moe_gemm_wmma" or int(call.arguments["dtype"]) != 0:
            continue
        judged = replace(call, variant={"fixed": "half-bits"}) if fixed else call
        right = replace(call, variant={"fixed": "half-bits"}).values()
        stored = right["output"].view(np.uint16).astype(np.float32).astype(np.float16)
        assert (stored == call.answer["output"]).mean() > 0.99
        assert (judged.wrong(call.answer) == 0) is not fixed
        assert (judged.wrong(right) == 0) is fixed


def test_counts_and_offsets_of_experts() -> None:
    for call in (call for call in recorded_calls.calls("moe") if call.family == "moe_gemm_wmma"):
        for name in ("expert_counts", "expert_offsets"):
            got = {**call.answer, name: call.answer[name] + np.int32(1)}
            assert call.wrong(got) == got[name].size
