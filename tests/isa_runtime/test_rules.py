"""Rules of the documents that plain C++ does not have: constants, NaN, subnormals, carries."""

from __future__ import annotations

import numpy as np
import pytest

from tests.isa_runtime.code import FLAG_OF_S20, HEAD, TAIL, VECTOR, A, B, C, code_object, vop3
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import NOT_SUPPORTED, SLOTS
from tests.isa_runtime.test_rdna import run as run_rdna
from tests.isa_runtime.test_vector_instructions import LANES, run, same, values

FOUR = 246
"""The operand 4.0."""
TO_VECTOR = (0x7E140214, 0x7E160215)
"""v_mov_b32 v10, s20; v_mov_b32 v11, s21"""
SIGNALLING = np.uint32(0x7F800001).view(np.float32)
QUIET = np.uint32(0x7FC00001).view(np.float32)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((0xBE9401FF, 0x80000001), 0x80000001),  # s_mov_b64 s[20:21], 0x80000001
        ((0x8694FFC1, 0x80000001), 0x80000001),  # s_and_b64 s[20:21], -1, 0x80000001
        ((0x909480FF, 0x80000000), 0xFFFFFFFF80000000),  # s_ashr_i64 s[20:21], 0x80000000, 0
    ],
    ids=["b64", "u64", "i64"],
)
def test_a_literal_is_extended_as_its_operand_is_signed(
    machine: Machine, words: tuple[int, ...], expected: int
) -> None:
    same(run(machine, [*words, *TO_VECTOR], np.uint64), np.full(LANES, expected, np.uint64))


def test_float_constants_of_packed_integers_are_of_32_bits(machine: Machine) -> None:
    """0x40800000: its halves are 0 and 0x4080."""
    a = values(np.uint32, 1)
    halves = a.view(np.uint16).reshape(LANES, 2)
    got = run(machine, [0xD38A400A, 0x1801ED04], np.uint32, a)  # v_pk_add_u16 v10, v4, 4.0
    same(got, np.ascontiguousarray(halves + np.array([0, 0x4080], np.uint16)).view(np.uint32).ravel())
    got = run(machine, [0xD38A500A, 0x1801ED04], np.uint32, a)  # op_sel:[0,1]: the high half for both
    same(got, np.ascontiguousarray(halves + np.array([0x4080, 0x4080], np.uint16)).view(np.uint32).ravel())


def test_float_constants_of_16_bit_integers_are_the_low_half_of_32_bits(machine: Machine) -> None:
    a = values(np.uint16, 1)
    same(run(machine, vop3("v_add_u16", VECTOR + A, FOUR), np.uint16, a), a)


def test_dpp_moves_high_halves(machine: Machine) -> None:
    """v_add_f16_dpp v10.l, v4.h, v6.l quad_perm:[1,0,3,2]"""
    halves = np.random.default_rng(2).normal(size=(2, LANES, 2)).astype(np.float16)
    a, b = (np.ascontiguousarray(each).view(np.uint32).ravel() for each in halves)
    got = run_rdna(machine, [0x64140CFA, 0xFF00B184], np.float16, a, b)
    same(got[:, 0], halves[0, np.arange(LANES) ^ 1, 1] + halves[1, :, 0])


@pytest.mark.parametrize("name", ["v_max_f32", "v_min_f32"])
def test_a_signalling_nan_comes_before_a_number(machine: Machine, name: str) -> None:
    a = np.tile(np.array([SIGNALLING, 1, QUIET, 1], np.float32), 16)
    b = np.tile(np.array([2, SIGNALLING, 2, QUIET], np.float32), 16)
    got = run(machine, vop3(name, VECTOR + A, VECTOR + B), np.uint32, a.view(np.uint32), b.view(np.uint32))
    assert got[:4].tolist() == [0x7FC00001, 0x7FC00001, 0x40000000, 0x3F800000]


def test_on_rdna4_a_number_comes_before_any_nan(machine: Machine) -> None:
    a = np.tile(np.array([SIGNALLING, 1], np.float32), 16).view(np.uint32)
    words = [
        *(0xF4002200, 0xF8000000, 0xBFC70000),  # s_load_b64 s[8:9], s[0:1], 0x0; s_wait_kmcnt 0
        *(0x300200FF, 0x00000002),  # v_lshlrev_b32 v1, 2, v0
        *(0xEE050008, 0x00000004, 0x00000001, 0xBFC00000),  # global_load_b32 v4, v1, s[8:9]; s_wait_loadcnt 0
        0x2C1408F2,  # v_max_num_f32 v10, 1.0, v4
        *(0xEE068008, 0x05000000, 0x00000001, 0xBFB00000),  # global_store_b32 v1, v10, s[8:9]; s_endpgm
    ]
    code = code_object(words, ("global_buffer",), target="gfx1201", wave=32)
    failed, message, after = machine.launch(code, a, block=32)
    assert failed == 0, message
    same(after[0], np.full(32, 0x3F800000, np.uint32))


def test_a_float_mode_without_ieee_is_not_known(machine: Machine) -> None:
    failed, message, _ = machine.launch(code_object([*HEAD, *TAIL], nan_mode=1 << 21), SLOTS, SLOTS, SLOTS, SLOTS)
    assert (failed, "without IEEE" in message) == (NOT_SUPPORTED, True)


def test_a_fraction_of_halves_is_below_1(machine: Machine) -> None:
    a = np.full(LANES, -6e-8, np.float16)
    same(run(machine, vop3("v_fract_f16", VECTOR + A), np.float16, a), np.full(LANES, 0x3BFF, np.uint16).view("f2"))


def test_exponentials_and_logarithms_have_no_subnormals(machine: Machine) -> None:
    a = np.tile(np.array([-140, -126], np.float32), 32)
    same(run(machine, vop3("v_exp_f32", VECTOR + A), np.float32, a), np.tile([0, np.float32(2.0**-126)], 32))
    a = np.tile(np.array([1e-40, -1e-40], np.float32), 32)
    same(run(machine, vop3("v_log_f32", VECTOR + A), np.float32, a), np.full(LANES, -np.inf))


def test_the_median_with_a_nan_is_the_least(machine: Machine) -> None:
    a, b, c = (np.full(LANES, x, np.float32) for x in (np.nan, 3, 1))
    for given in ((a, b, c), (b, a, c), (b, c, a)):
        same(run(machine, vop3("v_med3_f32", *(VECTOR + r for r in (A, B, C))), np.float32, *given), c)


def test_a_shifted_sum_carries_whatever_is_lost(machine: Machine) -> None:
    words = [
        *(0xBE9500FF, 0x20000000, 0xBE960080),  # s21 is 0x20000000, s22 is 0
        *(0x98949615, 0x82148080),  # s_lshl4_add_u32 s20, s21, s22; s_addc_u32 s20, 0, 0
        *TO_VECTOR,
    ]
    same(run(machine, words, np.uint32), np.ones(LANES))


def test_the_carry_of_a_signed_sum_is_its_sign(machine: Machine) -> None:
    a = np.tile(np.array([-1, 1, -1, 1 << 30], np.int32), 16)
    b = np.tile(np.array([1, 1, 1, 1 << 30], np.int32), 16)
    c = np.tile(np.array([5, -5, -(1 << 63), (1 << 63) - 1], np.int64), 16)
    words = [0xD1E9140A, 0x04220D04, *FLAG_OF_S20]  # v_mad_i64_i32 v[10:11], s[20:21], v4, v6, v[8:9]
    expected = [int(int(x) * int(y) + int(z) < 0) for x, y, z in zip(a, b, c, strict=True)]
    same(run(machine, words, np.uint32, a, b, c), np.array(expected, np.uint32))


def test_output_modifiers_have_no_effect_in_ieee_mode(machine: Machine) -> None:
    a, b = values(np.float32, 1), values(np.float32, 2)
    first, second = vop3("v_add_f32", VECTOR + A, VECTOR + B)
    with np.errstate(all="ignore"):
        same(run(machine, [first, second | 1 << 27], np.float32, a, b), a + b)  # mul:2
