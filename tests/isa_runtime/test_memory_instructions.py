"""Addresses: generic pointers, unaligned ones, those of lanes that are not active; jumps; atomics that return."""

from __future__ import annotations

import numpy as np
import pytest

from tests.isa_runtime.code import HEAD, TAIL, code_object
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_vector_instructions import LANES, run, same, slots, values

LANE = np.arange(LANES)


def test_a_generic_pointer_reaches_shared_memory(machine: Machine) -> None:
    words = [
        *(0xBE9401EB, 0x7E1A0215, 0x7E180284),  # s[20:21] is src_shared_base; v13 is s21, v12 is 4
        *(0xDC700000, 0x0000040C),  # flat_store_dword v[12:13], v4
        *(0xD86C0000, 0x0A00000C),  # ds_read_b32 v10, v12
    ]
    a = np.full(LANES, 77, np.uint32)
    given = [slots(a), *(np.zeros(LANES, np.uint64) for _ in range(3))]
    failed, message, after = machine.launch(code_object([*HEAD, *words, *TAIL], lds=8), *given)
    assert failed == 0, message
    same(after[3].view(np.uint32)[::2], a)


def test_shared_memory_and_accumulation_registers(machine: Machine) -> None:
    words = [
        *(0x24180082, 0xD3D94005, 0x18000104),  # v_lshlrev_b32 v12, 2, v0; v_accvgpr_write_b32 a5, v4
        *(0xDA1A0004, 0x0000050C, 0xDA6C0004, 0x0700000C),  # ds_write_b32 v12, a5 offset:4; ds_read_b32 a7
        *(0xBF8CC07F, 0xD3D8400A, 0x18000107),  # s_waitcnt lgkmcnt(0); v_accvgpr_read_b32 v10, a7
    ]
    a = np.arange(LANES, dtype=np.uint32)
    given = [slots(a), *(np.zeros(LANES, np.uint64) for _ in range(3))]
    failed, message, after = machine.launch(code_object([*HEAD, *words, *TAIL], lds=4 * LANES + 4), *given)
    assert failed == 0, message
    same(after[3].view(np.uint32)[::2], a)


def test_code_may_jump_to_an_address(machine: Machine) -> None:
    words = [
        *(0xBE941C00, 0x80149014, 0x82158015, 0xBE801D14),  # s_getpc_b64 s[20:21]; plus 16; s_setpc_b64
        *(0x7E140287, 0x7E160287),  # v_mov_b32 v10, 7 is jumped over; v_mov_b32 v11, 7
    ]
    got = run(machine, words, np.uint32)
    same(got, np.full(LANES, 0x11111111))


def test_loads_need_not_be_aligned_and_only_active_lanes_have_addresses(machine: Machine) -> None:
    offsets = np.where(LANE < 8, LANE, 0xFFFFFFF).astype(np.uint32)
    words = [
        *(0xBEFE01FF, 0x000000FF),  # s_mov_b64 exec, 0xff
        *(0xDC508001, 0x0A0A0004),  # global_load_dword v10, v4, s[10:11] offset:1
        0xBEFE01C1,
    ]
    content = np.arange(8 * LANES, dtype=np.uint8)
    got = run(machine, words, np.uint32, offsets, content.view(np.uint64))
    expected = [int.from_bytes(content[1 + lane : 5 + lane].tobytes(), "little") for lane in range(8)]
    same(got, np.array(expected + [0x11111111] * 56))


@pytest.mark.parametrize("lane", [0, 40, 63])
@pytest.mark.parametrize(
    "words",
    [
        pytest.param((0xDC508000, 0x0A0A0004), id="global_load_dword v10, v4, s[10:11]"),
        pytest.param((0xDC708000, 0x000A0604), id="global_store_dword v4, v6, s[10:11]"),
        pytest.param((0xD86C0000, 0x0A000004), id="ds_read_b32 v10, v4"),
        pytest.param((0xD81A0000, 0x00000604), id="ds_write_b32 v4, v6"),
        pytest.param((0xD86E0001, 0x0A000004), id="ds_read2_b32 v[10:11], v4 offset0:1"),
        pytest.param((0xD81C0100, 0x00080604), id="ds_write2_b32 v4, v6, v8 offset1:1"),
    ],
)
def test_one_lane_outside_is_found_among_all(machine: Machine, words: tuple[int, ...], lane: int) -> None:
    """Its word begins where the memory ends: 512 bytes."""
    offsets = (4 * LANE).astype(np.uint32)
    zeros = np.zeros(LANES, np.uint64)
    for last, why in ((504, ""), (512, f"thread ({lane},0,0)")):
        offsets[lane] = last
        object_ = code_object([*HEAD, *words, *TAIL], lds=512)
        failed, message, _ = machine.launch(object_, slots(offsets), zeros, zeros, zeros)
        assert bool(failed) == bool(why), message
        assert why in message


def test_a_returning_comparing_swap_of_64_bits(machine: Machine) -> None:
    """The new value comes first, what is expected behind it; one lane alone finds that."""
    words = [0x7E060280, 0xDD858000, 0x0A0E0403]  # v3 is 0; global_atomic_cmpswap_x2 v[10:11], v3, v[4:7], s[14:15] sc0
    new = LANE.astype(np.uint64) + 100
    expected = np.where(LANE == 0, np.uint64(0x1111111111111111), np.uint64(5))
    got = run(machine, words, np.uint64, new, expected)
    assert got[0] == 0x1111111111111111
    assert set(got[1:].tolist()) == {100}


def test_registers_above_127_are_not_halves(machine: Machine) -> None:
    """As on RDNA 3, where v131 in a 16-bit operand is the high half of v3."""
    halves = values(np.float16, 1)
    a = halves.view(np.uint16).astype(np.uint32) | 0x3C000000
    same(run(machine, [0x7F060304, 0x7E141783], np.float32, a), halves.astype(np.float32))
