"""The quantized reference: bit for bit the recorded answers, and every format decoded once more, weight by weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import traces

from conformance.dtypes import dtype
from conformance.verdict.compare import judge
from reference import evaluate
from reference.quantized.blocks import FORMATS


def test_recorded_answers_are_met_to_the_bit() -> None:
    """The reference's own value, not only its interval; dot products are off in no bit."""
    checked = 0
    for case in traces.cases("quantized"):
        answers = case.answers(0)
        assert answers.keys() == case.expected.keys()
        for name, got in case.expected.items():
            bits = f"u{got.dtype.itemsize}"
            differing = np.flatnonzero(answers[name].value.view(bits) != got.view(bits))
            assert differing.size == 0, f"{case.kernel.name} {case.label}: {name}{differing[:5].tolist()}"
            checked += 1
    assert checked == 142


def test_intervals_hold_the_value_and_are_narrow() -> None:
    """A bound that lets a wrong weight through would be no bound: below a thousandth of the largest result, and twice
    that where every weight of 512 has a minimum of its own to be added. That of a weight alone holds the two zeros."""
    bounded = 0
    for case in traces.cases("quantized"):
        for answer in case.answers(0).values():
            if answer.low is None or answer.high is None:
                continue
            if case.kernel.family == "dequantize_block":
                np.testing.assert_array_equal(answer.low, answer.high)
                continue
            assert (answer.low <= answer.value).all()
            assert (answer.value <= answer.high).all()
            width = np.abs(answer.high.astype(np.float64) - answer.low).max()
            most = 2e-3 if case.kernel.name.endswith(("vec_q2_k", "vec_q4_k", "vec_q5_k")) else 1e-3
            assert width < most * np.abs(answer.value).max(), case.kernel.name
            bounded += 1
    assert bounded == 106


def _f16(block: bytes, at: int) -> float:
    return float(np.frombuffer(block[at : at + 2], np.float16)[0])


def _i8(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _q4(start: int) -> Callable[[bytes, int], int]:
    return lambda b, e: b[start + e] & 15 if e < 16 else b[start + e - 16] >> 4


def _q5(start: int) -> Callable[[bytes, int], int]:
    return lambda b, e: _q4(start + 4)(b, e) + 16 * (b[start + e // 8] >> e % 8 & 1)


def _six_bits(block: bytes, j: int) -> tuple[int, int]:
    s = block[4:16]
    if j < 4:
        return s[j] & 63, s[j + 4] & 63
    return s[j + 4] & 15 | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4


def _q2_k(b: bytes, e: int) -> float:
    n, j, place = e // 128, e % 128 // 32, e % 32
    q, scale = b[16 + 32 * n + place] >> 2 * j & 3, b[e // 16]
    return _f16(b, 80) * (scale & 15) * q - _f16(b, 82) * (scale >> 4)


def _q3_k(b: bytes, e: int) -> float:
    n, j, place, i = e // 128, e % 128 // 32, e % 32, e // 16
    q = (b[32 + 32 * n + place] >> 2 * j & 3) - (0 if b[place] >> (4 * n + j) & 1 else 4)
    scale = b[96 + i % 8] >> 4 * (i // 8) & 15 | (b[104 + i % 4] >> 2 * (i // 4) & 3) << 4
    return _f16(b, 108) * (scale - 32) * q


def _nibble_k(b: bytes, e: int, start: int) -> int:
    byte = b[start + 32 * (e // 64) + e % 32]
    return byte & 15 if e % 64 < 32 else byte >> 4


def _q4_k(b: bytes, e: int) -> float:
    scale, minimum = _six_bits(b, e // 32)
    return _f16(b, 0) * scale * _nibble_k(b, e, 16) - _f16(b, 2) * minimum


def _q5_k(b: bytes, e: int) -> float:
    scale, minimum = _six_bits(b, e // 32)
    q = _nibble_k(b, e, 48) + 16 * (b[16 + e % 32] >> e // 32 & 1)
    return _f16(b, 0) * scale * q - _f16(b, 2) * minimum


def _q6_k(b: bytes, e: int) -> float:
    n, j, place = e // 128, e % 128 // 32, e % 32
    low = b[64 * n + 32 * (j & 1) + place] >> 4 * (j >> 1) & 15
    high = b[128 + 32 * n + place] >> 2 * j & 3
    return _f16(b, 208) * _i8(b[192 + e // 16]) * ((low | high << 4) - 32)


WEIGHT: dict[str, Callable[[bytes, int], float]] = {
    "q4_0": lambda b, e: _f16(b, 0) * (_q4(2)(b, e) - 8),
    "q4_1": lambda b, e: _f16(b, 0) * _q4(4)(b, e) + _f16(b, 2),
    "q5_0": lambda b, e: _f16(b, 0) * (_q5(2)(b, e) - 16),
    "q5_1": lambda b, e: _f16(b, 0) * _q5(4)(b, e) + _f16(b, 2),
    "q8_0": lambda b, e: _f16(b, 0) * _i8(b[2 + e]),
    "q2_K": _q2_k,
    "q3_K": _q3_k,
    "q4_K": _q4_k,
    "q5_K": _q5_k,
    "q6_K": _q6_k,
    "q8_K": lambda b, e: float(np.frombuffer(b[:4], np.float32)[0]) * _i8(b[4 + e]),
}


@pytest.mark.parametrize("qtype", WEIGHT)
def test_every_weight_is_decoded_as_the_format_says(qtype: str) -> None:
    """In float64, where all of it is exact, then rounded once."""
    form = FORMATS[qtype]
    random = np.random.Generator(np.random.PCG64(7))
    count = 3 * 256 // form.length
    data = random.integers(0, 256, (count, form.size), np.uint8)
    # Scales of a moderate size: no infinity times zero.
    for at in (0, 2, 80, 82, 108, 208):
        if at + 2 <= form.size:
            data[:, at + 1] = data[:, at + 1] & 0xBF | 0x10
    data = data.reshape(-1)
    y = np.empty(count * form.length, np.float32)
    arguments: dict[str, Any] = {"vx": data, "y": y}
    if form.length == 32:
        arguments["k"] = np.int32(y.size if qtype in ("q5_0", "q5_1") else count)
    answer = evaluate("quantized", "dequantize_block", {"qtype": qtype, "dtype": "f32"}, 0, arguments)["y"].value
    blocks = [data[at : at + form.size].tobytes() for at in range(0, data.size, form.size)]
    wanted = [WEIGHT[qtype](block, e) for block in blocks for e in range(form.length)]
    assert answer.tolist() == np.array(wanted).astype(np.float32).tolist()


@pytest.mark.parametrize("name", ["f16", "f32"])
def test_a_weight_of_0_has_either_sign(name: str) -> None:
    """d is -1 and q 0: d q is -0, and +0 where a compiler adds +0 to it."""
    block = np.zeros(34, np.uint8)
    block[:2] = np.array([-1], np.float16).view(np.uint8)
    block[3] = 7
    kind = np.dtype({"f16": np.float16, "f32": np.float32}[name])
    arguments = {"vx": block, "y": np.ones(32, kind), "k": 1}
    expected = evaluate("quantized", "dequantize_block", {"qtype": "q8_0", "dtype": name}, 0, arguments)["y"]
    weights, row = expected.value, dtype(name)
    before = np.ones(32, kind)
    assert judge("y", weights, expected, before, row, 0) is None
    assert judge("y", weights + kind.type(0), expected, before, row, 0) is None
    assert judge("y", -weights, expected, before, row, 0) is not None, "7 has a sign all the same"
