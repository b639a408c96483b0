"""What launches are counted as: kernels made by hand, whose instructions, lines of memory and conflicts are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.runtimes.kind import LaunchCounts
from tests.isa_runtime.code import HEAD, STORE, code_object
from tests.isa_runtime.machine import Machine
from tests.sites.__main__ import read_sites

SLOTS = np.zeros(1 << 13, np.uint64)
ARGUMENTS = HEAD[:2]
"""s_load_dwordx8 s[8:15], s[0:1], 0x0: the addresses of four buffers"""
ARRIVED = (0xBF8CC07F,)
"""s_waitcnt lgkmcnt(0)"""
COPY = (0xDC508000, 0x04080001, 0xBF8C0F70, 0xDC708000, 0x000E0401, 0xBF810000)
"""global_load_dword v4, v1, s[8:9]; s_waitcnt vmcnt(0); global_store_dword v1, v4, s[14:15]; s_endpgm"""
READ_LDS = {4: (0xD86C0000, 0x04000001), 8: (0xD8EC0000, 0x04000001), 16: (0xD9FE0000, 0x04000001)}
"""ds_read_b32, ds_read_b64 and ds_read_b128 into v4 and those after it, from v1; by bytes"""


def shifted(bits: int) -> tuple[int, ...]:
    """v_lshlrev_b32 v1, bits, v0: a thread's address."""
    return (0x24020080 + bits,)


def counted(machine: Machine, *words: int, block: int = 64, grid: int = 1, lds: int = 0) -> LaunchCounts:
    machine.watch(counts="1")
    failed, message, _ = machine.launch(code_object(words, lds=lds), *[SLOTS] * 4, block=block, grid=grid)
    assert not failed, message
    return LaunchCounts.of(machine.watch(counts="0"))


def test_a_coalesced_copy_moves_what_it_asks_for(machine: Machine) -> None:
    found = counted(machine, *ARGUMENTS, *shifted(2), *ARRIVED, *COPY, block=128, grid=3)
    assert (found.launches, found.waves) == (1, 6)
    assert (found.vector, found.scalar, found.scalar_memory, found.memory, found.control) == (6, 0, 6, 12, 18)
    assert (found.lds, found.matrix, found.instructions) == (0, 0, 42)
    assert (found.accesses, found.asked, found.moved) == (12, 12 * 256, 12 * 256)
    assert (found.lanes_active, found.lanes) == (6 * 64, 6 * 64)


def test_a_copy_with_stride_32_moves_a_line_for_each_lane(machine: Machine) -> None:
    found = counted(machine, *ARGUMENTS, *shifted(7), *ARRIVED, *COPY)
    assert (found.accesses, found.asked, found.moved) == (2, 2 * 256, 2 * 64 * 128)


def test_bytes_that_several_lanes_ask_for_count_once(machine: Machine) -> None:
    found = counted(machine, *ARGUMENTS, 0x7E020280, *ARRIVED, *COPY)  # v_mov_b32 v1, 0
    assert (found.asked, found.moved) == (2 * 4, 2 * 128)


def test_lanes_that_are_off_are_not_active(machine: Machine) -> None:
    half_off = (0xBEFF0080,)  # s_mov_b32 exec_hi, 0
    found = counted(machine, *ARGUMENTS, *half_off, *shifted(2), *ARRIVED, *COPY)
    assert (found.lanes_active, found.lanes, found.scalar) == (32, 64, 1)
    assert (found.asked, found.moved) == (2 * 128, 2 * 128)


@pytest.mark.parametrize(("records", "asked", "moved"), [(1 << 16, 256, 256), (64, 64, 128), (0, 0, 0)])
def test_a_buffer_is_global_memory_as_far_as_its_range_goes(
    machine: Machine, records: int, asked: int, moved: int
) -> None:
    resource = (0xBE940008, 0xBE950009, 0xBE9600FF, records, 0xBE9700FF, 0x00020000)  # s[20:23]
    load = (0xE0501000, 0x80050401, 0xBF810000)  # buffer_load_dword v4, v1, s[20:23], 0 offen; s_endpgm
    found = counted(machine, *ARGUMENTS, *shifted(2), *ARRIVED, *resource, *load)
    assert (found.memory, found.accesses, found.asked, found.moved) == (1, bool(records), asked, moved)


@pytest.mark.parametrize(
    ("size", "shift", "conflicts"),
    [
        (4, 2, 0),  # each lane a bank of its own, in two groups of 32
        (4, 7, 2 * 31),  # 32 lanes at one bank
        (4, 3, 2),  # two lanes at each second bank
        (8, 3, 0),  # four groups of 16
        (8, 4, 4),
        (16, 4, 0),  # eight groups of 8, not all of neighbours
        (16, 5, 8),
    ],
)
def test_lanes_that_need_different_words_of_a_bank_conflict(
    machine: Machine, size: int, shift: int, conflicts: int
) -> None:
    found = counted(machine, *shifted(shift), *READ_LDS[size], *ARRIVED, 0xBF810000, lds=1 << 13)
    assert (found.lds, found.lds_accesses, found.bank_conflicts) == (1, 1, conflicts)


def test_one_word_for_all_lanes_is_no_conflict(machine: Machine) -> None:
    found = counted(machine, 0x7E020280, *READ_LDS[4], *ARRIVED, 0xBF810000, lds=1 << 13)
    assert (found.lds_accesses, found.bank_conflicts) == (1, 0)


def test_two_places_of_an_instruction_are_two_accesses(machine: Machine) -> None:
    both = (0xD86E2000, 0x04000001)  # ds_read2_b32 v[4:5], v1 offset1:32
    found = counted(machine, *shifted(7), *both, *ARRIVED, 0xBF810000, lds=1 << 14)
    assert (found.lds, found.lds_accesses, found.bank_conflicts) == (1, 2, 2 * 2 * 31)


def test_nothing_is_counted_unless_it_is_asked_for(machine: Machine) -> None:
    machine.watch(counts="0")
    machine.launch(code_object([*HEAD, *STORE]), *[SLOTS] * 4)
    assert not any(machine.watch(counts="0"))


def test_sites_are_what_control_can_come_to(machine: Machine, tmp_path: Path) -> None:
    """Two vector instructions are jumped over, one stands where nothing leads, and the padding counts for nothing."""
    over = (0xBF068080, 0xBF850002, 0x7E280304, 0x7E2A0304)  # s_cmp_eq_u32 0, 0; s_cbranch_scc1 2; two v_mov_b32
    never = (0xBF820001, 0x7E280304)  # s_branch 1; v_mov_b32
    padding = (0xBF800000, 0xBF9F0000)
    words = [*HEAD, *over, *never, *STORE, *padding]
    machine.watch(sites=str(tmp_path))
    machine.launch(code_object(words), *[SLOTS] * 4)
    machine.watch(sites="")
    found = read_sites(tmp_path, "k")
    assert len(found) == 8 + 5 + 3
    assert [site.offset for site in found if not site.reached] == [0x113C, 0x1140]
    machine.launch(code_object(words), *[SLOTS] * 4)
    assert read_sites(tmp_path, "other") == []


def test_sites_of_several_processes_add_up(machine: Machine, tmp_path: Path) -> None:
    """A block of one wave jumps over what a later process executes: s_cbranch by the number of the block."""
    words = [0xBF068002, 0xBF850001, 0x7E280300, 0xBF810000]  # s_cmp_eq_u32 s2, 0; s_cbranch_scc1 1; v_mov_b32
    for grid, executed in ((1, 3), (2, 4)):
        machine.watch(sites=str(tmp_path))
        machine.launch(code_object(words, ()), grid=grid)
        found = read_sites(tmp_path, "k")
        assert (len(found), sum(site.reached for site in found)) == (4, executed)
        machine.close()
