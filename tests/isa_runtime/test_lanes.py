"""What lanes take from each other and from parts of registers: DPP, SDWA, ds_swizzle, EXEC."""

from __future__ import annotations

import numpy as np
import pytest

from tests.isa_runtime.code import VECTOR, WAIT, A, B, vop3
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_vector_instructions import LANES, run, same

LANE = np.arange(LANES)
WORDS = (LANE * 0x01010101 + 0x10203040).astype(np.uint32)
OLD = 0x11111111


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ([0x7E1402FA, 0xFF08B104], LANE ^ 1),  # quad_perm:[1,0,3,2] bound_ctrl:1
        ([0x7E1402FA, 0xFF014004], LANE ^ 15),  # row_mirror
        ([0x7E0802FA, 0xFF012804, 0x7E140304], (LANE & 48) | ((LANE - 8) & 15)),  # v4 of v4, row_ror:8; v10 of v4
        ([0x7E1402FA, 0xFF011104], np.where(LANE & 15, LANE - 1, -1)),  # row_shr:1
        ([0x7E1402FA, 0xAF014204], np.where(LANE & 16, (LANE & 48) - 1, -1)),  # row_bcast:15 row_mask:0xa
        ([0xD87A401F, 0x0A000004], LANE ^ 16),  # ds_swizzle_b32 swap 16
        ([0xD87A0001, 0x0A000004], (LANE & 32) | (LANE & 1)),  # ds_swizzle_b32 "0000p"
    ],
    ids=["quad_perm", "row_mirror", "row_ror onto itself", "row_shr", "row_bcast", "swap", "bitmask"],
)
def test_a_word_comes_from_another_lane(machine: Machine, words: list[int], source: np.ndarray) -> None:
    expected = np.where(source < 0, OLD, WORDS[source])
    same(run(machine, words, np.uint32, WORDS), expected)


def test_sdwa_takes_and_leaves_parts(machine: Machine) -> None:
    a, b = WORDS, (WORDS * 7).astype(np.uint32)
    # v_add_u16_sdwa v10, v4, v6 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3
    got = run(machine, [0x4C140CF9, 0x03051504], np.uint32, a, b)
    same(got, ((a >> 16) + (b >> 24)) << 16 | (OLD & 0xFFFF))


def test_sdwa_signs_are_of_the_part(machine: Machine) -> None:
    halves = np.array([1.5, -2.0, 0.0, -0.0], np.float16)
    a = np.repeat(halves, 16).view(np.uint16).astype(np.uint32) << 16 | 0x4000
    b = np.tile(halves, 16).view(np.uint16).astype(np.uint32) | 0x12340000
    # v_mul_f16_sdwa v10, -v4, |v6| src0_sel:WORD_1 src1_sel:WORD_0
    got = run(machine, [0x44140CF9, 0x24150604], np.float16, a, b)
    same(got, -np.repeat(halves, 16) * np.abs(np.tile(halves, 16)))


def test_lanes_that_are_not_active_keep_their_registers(machine: Machine) -> None:
    only_eight = [0xBEFE01FF, 0x000000FF]  # s_mov_b64 exec, 0xff
    words = [*only_eight, *vop3("v_add_u32", VECTOR + A, VECTOR + A), 0xBEFE01C1]
    same(run(machine, words, np.uint32, WORDS), np.where(LANE < 8, WORDS * 2, OLD))


def test_reading_the_first_lane_is_of_the_active_ones(machine: Machine) -> None:
    words = [
        0xBEFE01FF,
        0x000000F0,
        0x7E280504,
        0xBEFE01C1,
        *WAIT,
        0x7E140214,
    ]  # s20 of v4 where lanes 4 to 7 are active
    same(run(machine, words, np.uint32, WORDS), np.full(LANES, WORDS[4]))


def test_packed_halves_choose_and_negate(machine: Machine) -> None:
    random = np.random.default_rng(1)
    halves = random.normal(size=(3, LANES, 2)).astype(np.float16)
    a, b, c = (np.ascontiguousarray(each).view(np.uint32).ravel() for each in halves)
    # v_pk_fma_f16 v10, v4, v6, v8 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[1,0,0]
    got = run(machine, [0xD38E480A, 0x34220D04], np.uint32, a, b, c)
    wide = halves.astype(np.float64)
    low = -wide[0, :, 1] * wide[1, :, 0] + wide[2, :, 0]
    high = wide[0, :, 0] * wide[1, :, 1] + wide[2, :, 1]
    same(got, np.ascontiguousarray(np.stack([low, high], 1).astype(np.float16)).view(np.uint32).ravel())


def test_one_over_two_pi_is_a_constant(machine: Machine) -> None:
    a = np.linspace(-100, 100, LANES, dtype=np.float32)
    same(run(machine, [0x0A1408F8], np.float32, a), a * np.uint32(0x3E22F983).view(np.float32))


def test_the_second_operand_of_a_subtraction_is_the_first_reversed(machine: Machine) -> None:
    a, b = WORDS, WORDS[::-1].copy()
    same(run(machine, vop3("v_sub_u32", VECTOR + A, VECTOR + B), np.uint32, a, b), a - b)
