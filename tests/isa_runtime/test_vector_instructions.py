"""Sequences of vector instructions, and those that only some targets have, over special values in all 64 lanes.

Single instructions are in test_vector_semantics.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import (
    HEAD,
    TAIL,
    VCC,
    VECTOR,
    WAIT,
    A,
    B,
    C,
    code_object,
    vop3,
)
from tests.isa_runtime.instructions import wave
from tests.isa_runtime.instructions.words import Target
from tests.isa_runtime.machine import Machine

Array = NDArray[Any]
U = np.uint32
LANES = 64
SPECIAL = {
    np.float16: [
        0.0,
        -0.0,
        1.0,
        -1.5,
        65504.0,
        -65504.0,
        6e-8,
        -6e-8,
        6.1e-5,
        np.inf,
        -np.inf,
        np.nan,
        0.1,
        3.0,
        2049.0,
    ],
    np.float32: [
        0.0,
        -0.0,
        1.0,
        -1.5,
        3.4e38,
        -3.4e38,
        1e-45,
        -1e-45,
        1.2e-38,
        np.inf,
        -np.inf,
        np.nan,
        0.1,
        3.0,
        1e30,
    ],
    np.float64: [0.0, -0.0, 1.0, -1.5, 1.7e308, -1.7e308, 5e-324, -5e-324, 2.2e-308, np.inf, -np.inf, np.nan, 0.1, 3.0],
}


def values(kind: Any, seed: int) -> Array:
    """64 values of ``kind``: special ones in the first lanes, in an order of the seed's, then random bits."""
    random = np.random.default_rng(seed)
    size = np.dtype(kind).itemsize
    bits = random.integers(0, 256, LANES * size, np.uint8).view(kind)
    if kind in SPECIAL:
        special = np.array(SPECIAL[kind], kind)
    else:
        info = np.iinfo(kind)
        special = np.array([0, 1, info.max, info.min, info.max // 2, 31, 32, 33, 63, 64, 255], kind)
    few = random.choice(special, 40)
    return np.concatenate([few, bits[: LANES - few.size]])


def slots(array: Array) -> Array:
    """``array`` in the low bytes of 8-byte slots; the rest must not matter."""
    whole = np.full((LANES, 8 // array.itemsize), array.dtype.type(0), array.dtype)
    whole[:, 0] = array
    whole[:, 1:] = np.frombuffer(b"\x5a" * array.itemsize, array.dtype)[0]
    return np.ascontiguousarray(whole).view(np.uint64).ravel()


def run(machine: Machine, words: list[int], result: Any, *sources: Array, perturb: int = 0) -> Array:
    """The low bytes of v[10:11] after ``words``, as ``result``."""
    given = [slots(source) for source in sources] + [np.zeros(LANES, np.uint64)] * (3 - len(sources))
    out = np.full(LANES, 0x1111111111111111, np.uint64)
    failed, message, after = machine.launch(code_object([*HEAD, *words, *TAIL]), *given, out, perturb=perturb)
    assert failed == 0, message
    return after[3].view(result).reshape(LANES, -1)[:, 0]


def same(got: Array, expected: Array) -> None:
    """Bit-equal, but for NaN, which equals NaN."""
    got, expected = np.asarray(got), np.asarray(expected, got.dtype)
    bits = f"u{got.itemsize}"
    right = got.view(bits) == expected.view(bits)
    if got.dtype.kind == "f":
        right |= np.isnan(got) & np.isnan(expected)
    wrong = np.flatnonzero(~right)
    assert wrong.size == 0, f"lane {wrong[0]}: {got[wrong[0]]!r}, expected {expected[wrong[0]]!r}"


def wide_fma(a: Array, b: Array, c: Array) -> Array:
    """f16 fused in f64, which holds it exactly but for what no f16 shows."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float16)


@pytest.mark.parametrize("perturb", [0, 1, 2])
@pytest.mark.parametrize("kind", [np.float32, pytest.param(np.float64, marks=pytest.mark.executes("v_div_scale_f64"))])
def test_division_rounds_once_whatever_is_subnormal(machine: Machine, kind: Any, perturb: int) -> None:
    """LLVM's sequence: v_div_scale twice, v_rcp, four v_fma, v_mul, v_fma, v_div_fmas, v_div_fixup."""
    suffix = "f32" if kind is np.float32 else "f64"
    random = np.random.default_rng(5)
    info = np.finfo(kind)
    exponents = random.integers(info.minexp - info.nmant, info.maxexp, (2, LANES))
    numerator, denominator = np.ldexp(random.uniform(1, 2, (2, LANES)).astype(kind), exponents).astype(kind)
    numerator[:8] = [0, 1, -1, np.inf, info.max, info.max, info.tiny, info.smallest_subnormal]
    denominator[:8] = [0, 0, np.inf, 2, info.smallest_subnormal, info.max, 3, info.max]
    n, d = VECTOR + A, VECTOR + B
    den, num, r, e, q, t = 12, 14, 16, 18, 20, 22

    def v(register: int) -> int:
        return VECTOR + register

    one = 242
    words = [
        *vop3(f"v_div_scale_{suffix}", d, d, n, out=den, sdst=24),
        *vop3(f"v_rcp_{suffix}", v(den), out=r),
        *WAIT,
        *vop3(f"v_fma_{suffix}", v(den), v(r), one, out=e, neg=1),
        *vop3(f"v_fma_{suffix}", v(r), v(e), v(r), out=r),
        *vop3(f"v_fma_{suffix}", v(den), v(r), one, out=e, neg=1),
        *vop3(f"v_fma_{suffix}", v(r), v(e), v(r), out=r),
        *vop3(f"v_div_scale_{suffix}", n, d, n, out=num, sdst=VCC),
        *WAIT,
        *vop3(f"v_mul_{suffix}", v(num), v(r), out=q),
        *vop3(f"v_fma_{suffix}", v(den), v(q), v(num), out=t, neg=1),
        *vop3(f"v_fma_{suffix}", v(t), v(r), v(q), out=q),
        *vop3(f"v_fma_{suffix}", v(den), v(q), v(num), out=t, neg=1),
        *vop3(f"v_div_fmas_{suffix}", v(t), v(r), v(q), out=q),
        *vop3(f"v_div_fixup_{suffix}", v(q), d, n),
    ]
    with np.errstate(all="ignore"):
        expected = numerator / denominator
    same(run(machine, words, kind, numerator, denominator, perturb=perturb), expected)


@pytest.mark.executes("v_accvgpr_write_b32", "v_accvgpr_read_b32", "v_accvgpr_mov_b32")
def test_accumulation_registers_hold_words(machine: Machine) -> None:
    a = values(U, 1)
    words = [0xD3D94005, 0x18000104, 0xD3D8400A, 0x18000105]  # v_accvgpr_write_b32 a5, v4; v_accvgpr_read_b32 v10, a5
    same(run(machine, words, U, a), a)
    words = [*words[:2], 0x7E0CA505, 0xD3D8400A, 0x18000106]  # v_accvgpr_mov_b32 a6, a5 between, and a6 is read
    same(run(machine, words, U, a), a)


def test_signs_of_operands_also_of_moves(machine: Machine) -> None:
    """v_cndmask_b32 negates too."""
    a = values(np.float32, 1)
    words = vop3("v_cndmask_b32", VECTOR + A, VECTOR + A, 193, neg=3)
    same(run(machine, words, np.float32, a), -a)


def test_a_product_rounded_with_the_addend_zero_loses_the_sign(machine: Machine) -> None:
    a = np.full(LANES, -0.0, np.float32)
    mixlo = [0xD3A1000A, 0x02020D04]  # v_fma_mixlo_f16 v10, v4, v6, 0
    same(run(machine, mixlo, np.float16, a, np.ones(LANES, np.float32)), np.zeros(LANES, np.float16))


@pytest.mark.parametrize(("target", "sine", "cosine"), [("gfx90a", 0, 1), ("gfx942", 0, 1), ("gfx1100", 1, 0)])
def test_turns_beyond_256_are_zero_on_cdna_alone(machine: Machine, target: str, sine: int, cosine: int) -> None:
    """And within, quarters of a turn are exact."""
    to = Target(target)
    turns = np.full(LANES, 132000.25, np.float32)
    quarters = np.array([0, 0.25, 0.5, 0.75, 1, -0.25, 255.75, -256], np.float32).repeat(8)
    for array, sines, cosines in (
        (turns, [sine] * 8, [cosine] * 8),
        (quarters, [0, 1, 0, -1, 0, -1, -1, 0], [1, 0, -1, 0, 1, 0, 0, 1]),
    ):
        words = [*to.vop1("v_sin_f32", wave.OUT, VECTOR + wave.A), *to.vop1("v_cos_f32", wave.OUT + 1, VECTOR + wave.A)]
        got = wave.executed(machine, to, words, array.view(U)).view(np.float32)
        assert np.array_equal(got[:, 0], np.repeat(sines, 8))
        assert np.array_equal(got[:, 1], np.repeat(cosines, 8))


@pytest.mark.parametrize(("target", "flushes"), [("gfx90a", True), ("gfx942", False)])
def test_dot_products_flush_halves_on_mi200_alone(machine: Machine, target: str, flushes: bool) -> None:
    """Subnormal floats everywhere: the addend is one."""
    to = Target(target)
    words = to.vop3p("v_dot2_f32_f16", *(VECTOR + register for register in (wave.A, wave.B, wave.C)))
    halves = [np.full(2 * LANES, value, np.float16).view(U) for value in (2**-20, 1024)]
    addend = np.full(LANES, 2**-140, np.float32).view(U)
    for a, expected in ((halves[0], 0 if flushes else 2**-9), (halves[0] * 0, 0)):
        got = wave.executed(machine, to, words, a, halves[1], addend).view(np.float32)
        assert (got[:, 0] == expected).all()


def run_950(machine: Machine, words: list[int], result: Any, *sources: Array) -> Array:
    """As ``run`` does, on gfx950."""
    given = [slots(source) for source in sources] + [np.zeros(LANES, np.uint64)] * (3 - len(sources))
    out = np.full(LANES, 0x1111111111111111, np.uint64)
    failed, message, after = machine.launch(code_object([*HEAD, *words, *TAIL], target="gfx950"), *given, out)
    assert failed == 0, message
    return after[3].view(result).reshape(LANES, -1)[:, 0]


@pytest.mark.executes("v_bitop3_b32", "v_bitop3_b16")
def test_cdna_4_has_any_function_of_three_bits(machine: Machine) -> None:
    """Of 16 bits in the lower half of a register, whose upper half stays."""
    a, b, c = (values(U, seed) for seed in (1, 2, 3))
    low = vop3("v_bitop3_b16", VECTOR + A, VECTOR + B, VECTOR + C, absolute=1, neg=7, target="gfx950")  # bitop3:0xf
    same(run_950(machine, low, U, a, b, c), ~a & 0xFFFF | 0x11110000)
    words = [0xD234020A, 0xD4220D04]  # v_bitop3_b32 v10, v4, v6, v8 bitop3:0x96
    same(run_950(machine, words, U, a, b, c), a ^ b ^ c)
    words = [0xD234000A, 0x54220D04]  # bitop3:0x82: both bits of the table alone
    same(run_950(machine, words, U, a, b, c), (a & b & c) | (~a & ~b & c))


def test_cdna_4_rounds_to_bf16(machine: Machine) -> None:
    a, b = values(np.float32, 1), np.array([1.00390625, 1.01171875, -0.0, np.inf] * 16, np.float32)
    got = run_950(machine, [0xD268000A, 0x00020D04], U, a, b)  # v_cvt_pk_bf16_f32 v10, v4, v6
    assert (got >> 16)[:4].tolist() == [0x3F80, 0x3F82, 0x8000, 0x7F80]
    back = (got << 16).view(np.float32)
    near = np.isfinite(a) & (np.abs(a) < 3e38)
    with np.errstate(invalid="ignore"):
        assert (np.abs(back - a)[near] <= np.maximum(np.abs(a[near]) / 256, 1e-40)).all()
    assert np.isnan(back[np.isnan(a)]).all()


def test_cdna_4_rounds_to_pairs_of_f16(machine: Machine) -> None:
    a, b = values(np.float32, 1), values(np.float32, 2)
    got = run_950(machine, [0xD267000A, 0x00020D04], U, a, b)  # v_cvt_pk_f16_f32 v10, v4, v6
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.stack([a, b], 1).astype(np.float16)
    same(np.ascontiguousarray(got).view(np.float16).reshape(LANES, 2), expected)
