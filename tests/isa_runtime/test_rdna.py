"""What RDNA 3 has otherwise: waves of 32, two operations in one instruction, halves of registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import code_object
from tests.isa_runtime.instructions.words import Target
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_vector_instructions import LANES, same, slots, values

HEAD = (
    *(0xF40C0200, 0xF8000000, 0x30020083, 0xBF89FC07),  # s_load_b256 s[8:15], s[0:1]; v_lshlrev_b32 v1, 3, v0
    *(0xDC560000, 0x04080001, 0xDC560000, 0x060A0001),  # global_load_b64 v[4:5] and v[6:7]
    *(0xDC560000, 0x080C0001, 0xDC560000, 0x0A0E0001),  # v[8:9] and v[10:11]
    0xBF8903F7,
)
TAIL = (0xDC6E0000, 0x000E0A01, 0xBFB00000)  # global_store_b64 v1, v[10:11], s[14:15]; s_endpgm
OLD = 0x11111111
LANE = np.arange(LANES)
Array = NDArray[Any]


def run(machine: Machine, words: list[int], result: Any, *sources: Array) -> Array:
    """v[10:11] after ``words`` in two waves of 32, as pairs or more of ``result``."""
    given = [slots(source) for source in sources] + [np.zeros(LANES, np.uint64)] * (3 - len(sources))
    file = code_object([*HEAD, *words, *TAIL], target="gfx1100", wave=32)
    failed, message, after = machine.launch(file, *given, np.full(LANES, OLD << 32 | OLD, np.uint64))
    assert failed == 0, message
    return after[3].view(result).reshape(LANES, -1)


def test_both_operations_read_before_either_writes(machine: Machine) -> None:
    a = values(np.uint64, 1)
    words = [0xCA100105, 0x04040104]  # v_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4
    words += [0x7E140304, 0x7E160305]  # v_mov_b32 v10, v4; v_mov_b32 v11, v5
    same(run(machine, words, np.uint32, a), a.view(np.uint32).reshape(LANES, 2)[:, ::-1])


def test_a_mask_is_of_32_lanes_and_of_its_wave(machine: Machine) -> None:
    a, b = values(np.uint32, 1), values(np.uint32, 2)
    words = [0x7C980D04, 0xD501000A, 0x01A90280]  # v_cmp_gt_u32 vcc_lo, v4, v6; v_cndmask_b32 v10, 0, 1, vcc_lo
    same(run(machine, words, np.uint32, a, b)[:, 0], (a > b).astype(np.uint32))


def test_v_cmpx_writes_exec_alone(machine: Machine) -> None:
    a, b = values(np.uint32, 1), values(np.uint32, 2)
    words = [0xBEEA0080, 0x7D980D04, 0x7E140304, 0xBEFE00C1, 0x7E16026A]  # vcc_lo is 0 before, and in v11 after it
    words[0] = 0xBEEA0080  # s_mov_b32 vcc_lo, 0
    got = run(machine, words, np.uint32, a, b)
    same(got[:, 0], np.where(a > b, a, OLD))
    same(got[:, 1], np.zeros(LANES))


def test_sixteen_bit_operands_may_be_high_halves(machine: Machine) -> None:
    halves = np.random.default_rng(2).normal(size=(2, LANES, 2)).astype(np.float16)
    a, b = (np.ascontiguousarray(each).view(np.uint32).ravel() for each in halves)
    got = run(machine, [0x65140D84], np.float16, a, b)  # v_add_f16 v10.h, v4.h, v6.l
    same(got[:, 1], halves[0, :, 1] + halves[1, :, 0])
    same(got[:, 0].view(np.uint16), np.full(LANES, OLD & 0xFFFF))


@pytest.mark.executes("v_mov_b16")
def test_a_half_is_moved_to_the_other(machine: Machine) -> None:
    a = values(np.uint32, 1)
    to = Target("gfx1100")
    got = run(machine, to.vop1("v_mov_b16", 128 + 10, 256 + 4), np.uint32, a)  # v_mov_b16 v10.h, v4.l
    same(got[:, 0], a << 16 | OLD & 0xFFFF)


def test_dpp_in_the_long_encoding(machine: Machine) -> None:
    a, b = values(np.float32, 1), values(np.float32, 2)
    words = [0xD503000A, 0x00020CFA, 0xFF016104]  # v_add_f32_e64_dpp v10, v4, v6 row_xmask:1
    with np.errstate(all="ignore"):
        same(run(machine, words, np.float32, a, b)[:, 0], a[LANE ^ 1] + b)


def test_a_literal_in_the_long_encoding(machine: Machine) -> None:
    a = np.linspace(-9, 9, LANES, dtype=np.float32)
    got = run(machine, [0xD613000A, 0x03FE0D04, 0x40490FDB], np.float32, a, np.zeros(LANES, np.float32))
    same(got[:, 0], np.full(LANES, np.uint32(0x40490FDB).view(np.float32)))


@pytest.mark.executes("v_dot4_i32_iu8")
def test_a_product_of_bytes_with_and_without_sign(machine: Machine) -> None:
    a, b, c = (values(np.uint32, seed) for seed in (1, 2, 3))
    got = run(machine, [0xCC16400A, 0x3C220D04], np.uint32, a, b, c)  # v_dot4_i32_iu8 neg_lo:[1,0,0]
    products = a.view(np.int8).reshape(LANES, 4).astype(np.int64) * b.view(np.uint8).reshape(LANES, 4)
    same(got[:, 0], (products.sum(1) + c.view(np.int32)).astype(np.uint32))


@pytest.mark.parametrize("words", [[0xBEFC0085, 0x7E14027C]], ids=["null"])
def test_null_takes_and_gives_nothing(machine: Machine, words: list[int]) -> None:
    same(run(machine, words, np.uint32)[:, 0], np.zeros(LANES))  # s_mov_b32 null, 5; v_mov_b32 v10, null


@pytest.mark.parametrize(
    ("word", "flags", "row"),
    [
        pytest.param(0xD65B000A, 0, 0, marks=pytest.mark.executes("v_permlane16_b32")),
        pytest.param(0xD65C000A, 0, 16, marks=pytest.mark.executes("v_permlanex16_b32")),
        (0xD65C080A, 1, 16),
        (0xD65C100A, 2, 16),
    ],
    ids=["permlane16", "permlanex16", "fetch inactive", "bound_ctrl"],
)
def test_lanes_of_a_row_are_chosen(machine: Machine, word: int, flags: int, row: int) -> None:
    """Where the first four lanes are not active; the places are 0xfedcba98 and 0x01234567, from literals."""
    a = values(np.uint32, 1)
    places = [int(digit, 16) for digit in reversed("0123456789abcdef")]
    words = [
        *(0xBE9400FF, 0x89ABCDEF, 0xBE9500FF, 0x01234567),  # s20, s21
        *(0xBEFE00FF, 0xFFFFFFF0),  # s_mov_b32 exec_lo
        *(word, 0x00542904, 0xBEFE00C1),  # v10, v4, s20, s21
    ]
    source = (LANE & 48 ^ row) + np.array(places)[LANE & 15]
    inactive = (source & 31) < 4
    found = np.where(inactive, a[source] if flags == 1 else 0 if flags == 2 else OLD, a[source])
    same(run(machine, words, np.uint32, a)[:, 0], np.where((LANE & 31) < 4, OLD, found))


def test_rdna_3_5_has_floats_in_scalar_registers(machine: Machine) -> None:
    words = [
        *(0xF4040200, 0xF8000000),  # s_load_b64 s[8:9], s[0:1], 0x0
        *(0xA014F6F0, 0xA194F414),  # s_add_f32 s20, 0.5, 4.0; s_max_f32 s20, s20, 2.0
        *(0x7E140214, 0x30020082, 0xBF89FC07),  # v_mov_b32 v10, s20; v_lshlrev_b32 v1, 2, v0; s_waitcnt lgkmcnt(0)
        *(0xDC6A0000, 0x00080A01, 0xBFB00000),  # global_store_b32 v1, v10, s[8:9]; s_endpgm
    ]
    out = np.zeros(32, np.float32)
    for target, known in (("gfx1151", True), ("gfx1100", False)):
        file = code_object(words, ("global_buffer",), target=target, wave=32)
        failed, message, after = machine.launch(file, out, block=32)
        assert (failed == 0) is known, message
        assert (after[0] == 4.5).all() == known
