"""What the recorded calls of the linked launchers do not hold: strides, ids, channels, forms, types of buffers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import recorded_calls
from numpy.typing import NDArray
from recorded_calls import Call

from reference import evaluate, mmq, moe
from reference.interval import around, inside

Array = NDArray[Any]


def of(module: str, name: str) -> list[Call]:
    found = [call for call in recorded_calls.calls(module) if call.name == name]
    assert found
    return found


def test_void_buffers_are_judged_as_typed_ones() -> None:
    """A launcher that is told the type by an argument has buffers of bytes in its spec."""
    for call in recorded_calls.calls("moe")[::5]:
        names = ("input", "weights", "output")
        data = {name: call.arguments[name].view(np.uint8) for name in names}
        answer = {**call.answer, "output": call.answer["output"].view(np.uint8)}
        of_bytes = replace(call, arguments={**call.arguments, **data}, answer=answer)
        assert of_bytes.wrong(answer) == 0, call.id
        one_off = {**answer, "output": call.answer["output"][::-1].copy().view(np.uint8)}
        assert of_bytes.wrong(one_off) >= call.wrong({**answer, "output": call.answer["output"][::-1].copy()}) > 0


@pytest.mark.parametrize("columns", [-1, 0, 9])
def test_mmvq_writes_nothing_for_other_numbers_of_columns(columns: int) -> None:
    call = of("mmvq", "launch_mmvq_gguf_q4_k_bf16_plain")[0]
    assert call.values(b_size=np.int32(columns))["dst"].tobytes() == call.arguments["dst"].tobytes()


def test_mmvq_uses_both_strides() -> None:
    """Columns that lie farther apart, in and out."""
    call = of("mmvq", "launch_mmvq_gguf_q6_k_f32_plain")[1]
    given, count, rows = call.arguments, 2, 5
    assert (given["b_size"], given["nrows_x"]) == (count, rows)
    stride = int(given["stride_col_y"])
    y = np.full((count, stride + 3, 36), 0xA5, np.uint8)
    y[:, :stride] = given["vy"].reshape(count, stride, 36)
    got = call.values(
        vy=y.reshape(-1), dst=np.full(count * 8, 7, np.float32), stride_col_y=np.int32(stride + 3),
        stride_col_dst=np.int32(8),
    )["dst"]  # fmt: skip
    assert np.array_equal(got.reshape(count, 8)[:, :rows].reshape(-1), call.answer["dst"])
    assert (got.reshape(count, 8)[:, rows:] == 7).all()


@pytest.mark.slow("large products by the reference")
def test_mmq_uses_the_stride_of_rows_and_not_that_of_columns() -> None:
    """Rows with two blocks of garbage in between; what is said of the device changes nothing."""
    call = of("mmq", "launch_mmq_gguf_q4_0")[0]
    given, rows, per_row = call.arguments, 33, 8
    x = np.full((rows, per_row + 2, 18), 0xA5, np.uint8)
    x[:, :per_row] = given["x"][: rows * per_row * 18].reshape(rows, per_row, 18)
    got = call.values(
        x=x.reshape(-1), stride_row_x=np.int64(per_row + 2), stride_col_dst=np.int64(1), cc=np.int32(610),
        nsm=np.int32(1), smpbo=np.int64(49152), warp_size=np.int32(64), tmp_fixup=np.zeros(0, np.uint8),
    )  # fmt: skip
    assert call.wrong(got) == 0
    assert got["dst"].tobytes() == call.values()["dst"].tobytes()


@pytest.mark.slow("the reference of a whole product of matrices")
def test_mmq_multiplies_an_infinite_scale_of_q6_k_once_for_128_weights() -> None:
    """As Candle's does on an H100; with the scale in each term or for 32 weights there are more NaN, as good."""
    call = of("mmq", "launch_mmq_gguf_q6_k")[1]
    x = call.arguments["x"].reshape(-1, 210).copy()
    x[:: int(call.arguments["stride_row_x"]), 208:] = [0x00, 0x7C]
    call = replace(call, arguments={**call.arguments, "x": x.reshape(-1)})
    names = ("x", "y", "ncols_x", "nrows_x", "ncols_y", "stride_row_x")
    with np.errstate(invalid="ignore"):
        once, by_32, by_term = (
            mmq._product(call.variant, form, *(call.arguments[name] for name in names)).value
            for form in mmq._FORMS["q6_K"]
        )
    assert np.isinf(once).any()
    assert np.isnan(once).sum() < np.isnan(by_32).sum() < np.isnan(by_term).sum()
    assert [call.wrong({"dst": form.reshape(-1)}) for form in (once, by_32, by_term)] == [0, 0, 0]
    assert call.wrong({"dst": -once.reshape(-1)}) > 0


@pytest.mark.slow("computes products of whole matrices of weights")
def test_mmq_may_read_an_infinite_scale_behind_a_row() -> None:
    """Upstream takes 256 weights at a time: of 32 columns the next seven rows' blocks are read too, and meet zeros."""
    call = of("mmq", "launch_mmq_gguf_q8_0")[0]
    rows, x = int(call.arguments["nrows_x"]), call.arguments["x"].reshape(-1, 34).copy()
    x[8, :2] = [0x00, 0x7C]
    changed = {"x": x.reshape(-1), "ncols_x": np.int64(32), "stride_row_x": np.int64(1)}
    call = replace(call, arguments={**call.arguments, **changed})
    right = call.values()["dst"]
    allowed = [row for row in range(rows) if row != 8 and call.wrong({"dst": _with_nan(right, row)}) == 0]
    assert allowed == list(range(1, 8))


def _with_nan(x: Array, at: int) -> Array:
    return np.where(np.arange(x.size) == at, np.float32(np.nan), x)


def quantize_arguments(ids: Array | None, shape: tuple[int, ...], padded: int) -> dict[str, Any]:
    """Rows of ``shape[3]`` values, 4 apart from each other, in ``shape[:2]`` channels with 8 more between them."""
    samples, channels, rows, width = shape
    strides = (width + 4, rows * (width + 4) + 8, channels * (rows * (width + 4) + 8))
    x = np.random.Generator(np.random.PCG64(5)).standard_normal(samples * strides[2], np.float32)
    written = rows if ids is None else ids.size
    room = samples * channels * written * -(-padded // 512) * 4 * 144
    sizes = (width, *strides, padded, written, channels, samples)
    names = ("ne00", "s01", "s02", "s03", "ne0", "ne1", "ne2", "ne3")
    given = {name: np.int64(size) for name, size in zip(names, sizes, strict=True)}
    return {"x": x, "ids": ids, "vy": np.full(room, 0xA5, np.uint8), "type_x": np.int32(9), **given}


@pytest.mark.parametrize("ids", [None, np.array([2, 0, 2, 1, 1], np.int32)], ids=["no-ids", "ids"])
def test_channels_and_ids_of_the_quantizer_for_tiles(ids: Array | None) -> None:
    """Block by block, in plain loops: where it lies, and its quants and scales in float64."""
    samples, channels, rows, width, padded = 2, 3, 3, 160, 256
    given = quantize_arguments(ids, (samples, channels, rows, width), padded)
    got = evaluate("mmq", "mmq_quantize_q8_1", {"layout": "D4"}, 0, given)["vy"].value
    written = rows if ids is None else ids.size
    met = np.zeros(got.size // 144, np.bool_)
    for z in range(samples * channels):
        for row in range(written):
            source = row if ids is None else int(ids[row])
            start = source * given["s01"] + z % channels * given["s02"] + z // channels * given["s03"]
            values = np.zeros(padded)
            values[:width] = given["x"][start : start + width]
            for block in range(padded // 128):
                at = z * written * 4 + block * written + row
                met[at] = True
                raw, part = got[144 * at : 144 * at + 144], values[128 * block :][:128].reshape(4, 32)
                scale = np.abs(part).max(axis=1) / 127
                assert np.allclose(raw[:16].view(np.float32), scale, rtol=1e-6)
                quants = raw[16:].view(np.int8).reshape(4, 32)
                assert np.abs(quants * scale[:, None] - part).max() <= 0.5001 * scale.max()
    assert (got.reshape(-1, 144)[~met] == 0xA5).all()
    assert met.sum() == samples * channels * written * 2


def form_of(call: Call, index: int) -> dict[str, Array]:
    names = ("x", "y", "ncols_x", "nrows_x", "ncols_y", "stride_row_x")
    form = mmq._FORMS[mmq.named(call.variant["qtype"])][index]
    with np.errstate(all="ignore"):
        found = mmq._product(call.variant, form, *(call.arguments[name] for name in names))
    return {"dst": found.value.reshape(-1)}


@pytest.mark.parametrize("qtype", ["q4_0", "q4_1", "q5_1", "q2_k", "q4_k", "q5_k"])
def test_what_upstream_computes_without_tensor_cores_is_as_good(qtype: str) -> None:
    """But not what lies between it and the other."""
    for call in of("mmq", f"launch_mmq_gguf_{qtype}")[:2]:
        one, other = form_of(call, 0), form_of(call, 1)
        assert call.wrong(other, others=False) > 0.5 * np.count_nonzero(one["dst"])
        assert call.wrong(other) == 0
        between = {"dst": ((one["dst"].astype(np.float64) + other["dst"]) / 2).astype(np.float32)}
        assert call.wrong(between) > 0.2 * np.count_nonzero(one["dst"])


@pytest.mark.slow("computes products of whole matrices of weights")
def test_weights_decoded_with_other_roundings_are_as_good() -> None:
    different = 0
    for call in of("moe", "moe_gemm_gguf_prefill")[::4]:
        for form in moe.FORMS[1:]:
            for flush in (False, True):
                with np.errstate(all="ignore"):
                    found, at = moe._prefill(call.arguments, form, flush)
                got = call.arguments["output"].copy()
                got[at] = found.value
                different += call.wrong({"output": got}, others=False)
                assert call.wrong({"output": got}) == 0
    assert different > 1000


def test_a_code_of_no_format_writes_nothing() -> None:
    for name in ("moe_gemm_gguf", "moe_gemm_gguf_prefill"):
        call = of("moe", name)[0]
        assert call.values(gguf_dtype=np.int32(6))["output"].tobytes() == call.arguments["output"].tobytes()


@pytest.mark.parametrize("name", ["moe_gemm_wmma", "moe_gemm_gguf_prefill"])
def test_rows_of_an_expert_that_there_is_not_are_an_error_where_rows_are_counted(name: str) -> None:
    call = of("moe", name)[0]
    with pytest.raises(ValueError, match=r"expert_ids are from 0 to 2; there are 2 experts, from 0 on"):
        call.expected(num_experts=np.int32(2))


def test_an_expert_may_have_all_rows_or_none() -> None:
    """Of five, the last: its counts and offsets, and every row of the output."""
    call = of("moe", "moe_gemm_wmma")[0]
    given = call.arguments
    weights = np.concatenate([np.zeros(given["weights"].size, np.float16), given["weights"][: 40 * 64]])
    got = call.values(
        weights=weights, num_experts=np.int32(5), expert_ids=np.full(6, 4, np.int32),
        expert_counts=np.zeros(5, np.int32), expert_offsets=np.zeros(6, np.int32),
    )  # fmt: skip
    assert got["expert_counts"].tolist() == [0, 0, 0, 0, 6]
    assert got["expert_offsets"].tolist() == [0, 0, 0, 0, 0, 6]
    alike = call.values(expert_ids=np.zeros(6, np.int32))
    assert np.array_equal(got["output"], alike["output"])


def test_a_stored_half_may_come_from_either_side_of_zero() -> None:
    """A sum that cancels: 0 in one order, a small number of either sign in others, whose bits are far apart."""
    width = 16
    x = np.array([1, -1, 2.0**-11, *[0] * 13], np.float16)
    weights = np.array([[1024, 1024, 0, *[0] * 13], [1024, 1024, 2.0**-11, *[0] * 13]], np.float16)
    given: dict[str, Any] = {
        "input": x, "weights": weights.reshape(-1), "sorted_token_ids": np.zeros(1, np.int32),
        "expert_ids": np.zeros(1, np.int32), "topk_weights": None, "output": np.zeros(2, np.float16),
        "expert_counts": np.zeros(1, np.int32), "expert_offsets": np.zeros(2, np.int32), "num_experts": np.int32(1),
        "topk": np.int32(1), "size_m": np.int32(1), "size_n": np.int32(2), "size_k": np.int32(width),
        "dtype": np.int32(0), "is_prefill": np.bool_(True),
    }  # fmt: skip
    call = Call("moe", "moe_gemm_wmma", {}, "moe_gemm_wmma", "cancels", given, {})

    def wrong(output: list[float]) -> int:
        return call.wrong({**call.values(), "output": np.array(output, np.float16)})

    bits = float(np.array(2.0**-22, np.float16).view(np.uint16))
    assert wrong([0, bits]) == 0
    assert wrong([32768, 32768 + 32]) == 0
    assert wrong([16384, 31743]) == 2
    fixed = replace(call, variant={"fixed": "half-bits"})
    assert fixed.wrong({**call.values(), "output": np.array([0, 2.0**-22], np.float16)}) == 0


def test_the_interval_of_a_sum() -> None:
    """Its ends, what has none, and what overflows in some orders."""
    total = np.array([1.0, 0.0, np.inf, np.nan, 3.0])
    magnitude = np.array([2.0**10, 0.0, np.inf, np.nan, 1e39])
    found = around(total, magnitude, 8, np.dtype(np.float32))
    assert found.low is not None
    assert found.high is not None
    assert found.free is not None
    assert found.low[0] < 1 - 2.0**-11 < 1 + 2.0**-11 < found.high[0]
    assert found.high[0] - found.low[0] < 2.0**-9
    assert np.signbit([found.low[1], found.high[1]]).tolist() == [True, False]
    assert found.free.tolist() == [False, False, False, False, True]
    got = np.array([1.0001, -0.0, np.inf, np.nan, -7.0], np.float32)
    assert inside(got, found).tolist() == [True, True, True, True, True]
    assert inside(np.array([1.1, 1e-45, 3.4e38, 1.0, np.nan], np.float32), found).tolist() == [
        False, False, False, False, True,
    ]  # fmt: skip
