"""Launches: memory, barriers, faults that name what was missed, and what the interpreter does not know."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests.isa_runtime.code import HEAD, TAIL, code_object
from tests.isa_runtime.instructions.words import Target
from tests.isa_runtime.machine import Machine

NOT_SUPPORTED, INVALID_IMAGE, ILLEGAL_ADDRESS, TIMEOUT, FAILURE = 801, 200, 700, 702, 719
SLOTS = np.zeros(64, np.uint64)
END = 0xBF810000
FIRST = 4096 + 256 + 4 * len(HEAD)
"""Where the first instruction behind the four loads is, in the object."""


def fault(machine: Machine, *words: int, **options: int) -> tuple[int, str]:
    """Code and message of a kernel that runs ``words`` after the four loads."""
    lds, scratch = options.pop("lds", 0), options.pop("scratch", 0)
    file = code_object([*HEAD, *words, *TAIL], lds=lds, scratch=scratch)
    failed, message, _ = machine.launch(file, SLOTS, SLOTS, SLOTS, SLOTS, **options)
    return failed, message


def test_an_instruction_that_is_not_known_is_named(machine: Machine) -> None:
    words = (0xD3C2000A, 0x042A0D04)  # v_mfma_f32_4x4x1_16b_f32
    said = f"kernel k: the interpreter does not know v_mfma_f32_4x4x1_16b_f32, at {FIRST:#x}"
    assert fault(machine, *words) == (NOT_SUPPORTED, said)


def test_one_that_is_not_executed_costs_nothing(machine: Machine) -> None:
    failed, message = fault(machine, 0xBF820002, 0xD3C2000A, 0x042A0D04)  # s_branch over it
    assert failed == 0, message


def test_a_word_that_is_no_instruction_is_not_executed(machine: Machine) -> None:
    failed, message = fault(machine, 0xFFFFFFFF)
    assert (failed, message) == (
        NOT_SUPPORTED,
        f"kernel k: the interpreter does not know the instruction word 0xffffffff, at {FIRST:#x}",
    )


def test_a_scalar_result_has_no_parts(machine: Machine) -> None:
    """v_readfirstlane_b32 s20, v4 with SDWA and dst_sel:BYTE_0, which no assembler writes."""
    failed, message = fault(machine, 0x7E2804F9, 0x00060004)
    assert (failed, message) == (
        NOT_SUPPORTED,
        f"kernel k: the interpreter does not know v_readfirstlane_b32, at {FIRST:#x}",
    )


def test_a_float_mode_that_flushes_is_not_known(machine: Machine) -> None:
    failed, message, _ = machine.launch(code_object([*HEAD, *TAIL], mode=0xC0), SLOTS, SLOTS, SLOTS, SLOTS)
    assert (failed, "float mode 0xc0" in message) == (NOT_SUPPORTED, True)


def test_an_address_past_an_allocation_is_named_with_its_argument(machine: Machine) -> None:
    file = code_object([*HEAD, *TAIL])
    failed, message, _ = machine.launch(file, SLOTS, SLOTS[:60], SLOTS, SLOTS)
    assert failed == ILLEGAL_ADDRESS
    assert "block (0,0,0), thread (60,0,0), at 0x1118: global_load_dwordx2 of 8 bytes" in message
    assert "0 bytes past the end of the 480-byte allocation of argument 1" in message


def test_an_address_at_the_end_of_all_is_no_address(machine: Machine) -> None:
    words = (0x7E0802C2, 0x7E0A02C1, 0xDC508000, 0x0A7F0004)  # v4 is -2, v5 is -1; global_load_dword v10, v[4:5], off
    failed, message = fault(machine, *words)
    assert (failed, "global_load_dword of 4 bytes" in message) == (ILLEGAL_ADDRESS, True)


def test_scalar_loads_are_checked_too(machine: Machine) -> None:
    words = (0xC0020200, 0x00001000, END)  # s_load_dword s8, s[0:1], 0x1000
    failed, message, _ = machine.launch(code_object(words), SLOTS, SLOTS, SLOTS, SLOTS)
    assert (failed, "s_load_dword of 4 bytes" in message) == (ILLEGAL_ADDRESS, True)


def test_shared_memory_ends_where_the_kernel_says(machine: Machine) -> None:
    slot = (0x7E080281, 0xD81A03FE, 0x00000604)  # v_mov_b32 v4, 1; ds_write_b32 v4, v6 offset:1022
    assert fault(machine, *slot, lds=1027)[0] == 0
    failed, message = fault(machine, *slot, lds=1026)
    assert failed == ILLEGAL_ADDRESS
    assert "ds_write_b32 of 4 bytes at offset 1023 of the block's 1026 bytes of shared memory" in message


def test_dynamic_shared_memory_comes_behind_the_static(machine: Machine) -> None:
    words = (0x7E080280, 0xD81A03FC, 0x00000604)  # at offset 1020
    assert fault(machine, *words, lds=512, shared=512)[0] == 0
    assert fault(machine, *words, lds=512, shared=511)[0] == ILLEGAL_ADDRESS


def test_cdna_4_has_more_shared_memory(machine: Machine) -> None:
    """160 KiB."""
    for target, most in (("gfx942", 64 * 1024), ("gfx950", 160 * 1024)):
        for lds in (most, most + 1):
            failed, message, _ = machine.launch(code_object([END], (), lds=lds, target=target))
            assert (failed == 0) is (lds == most), message


def test_scratch_memory_is_a_lanes_own_and_checked(machine: Machine) -> None:
    store = (0x7E080280, 0xDC706000, 0x007F0604)  # v_mov_b32 v4, 0; scratch_store_dword v4, v6, off
    assert fault(machine, *store, scratch=4)[0] == 0
    failed, message = fault(machine, *store, scratch=2)
    assert (failed, "of the thread's 2 bytes of scratch memory" in message) == (ILLEGAL_ADDRESS, True)


def test_offsets_of_scratch_memory_have_13_bits_and_its_data_accumulation_registers_too(machine: Machine) -> None:
    """v6 by way of a register that is spilled to an offset above 2047, loaded as a7, stored and loaded again."""
    words = [
        *(0xDC7048D8, 0x007F0600),  # scratch_store_dword off, v6, off offset:2264
        *(0xDC5048D8, 0x07FF0000, 0xBF8C0F70),  # scratch_load_dword a7, off, off offset:2264; s_waitcnt vmcnt(0)
        *(0xDC704004, 0x00FF0700),  # scratch_store_dword off, a7, off offset:4
        *(0xDC504004, 0x0A7F0000, 0xBF8C0F70),  # scratch_load_dword v10, off, off offset:4; s_waitcnt vmcnt(0)
    ]
    values = np.arange(64, dtype=np.uint64) + 7
    file = code_object([*HEAD, *words, *TAIL], scratch=2268)
    failed, message, after = machine.launch(file, SLOTS, values, SLOTS, SLOTS)
    assert (failed, after[3].tolist()) == (0, values.tolist()), message


def test_a_trap_is_a_fault_of_the_kernel(machine: Machine) -> None:
    failed, message = fault(machine, 0xBF920002)
    assert failed == FAILURE
    assert message == f"kernel k: block (0,0,0), thread (0,0,0), at {FIRST:#x}: executed a trap instruction"


def test_a_kernel_that_does_not_end_is_stopped(machine: Machine) -> None:
    failed, message = fault(machine, 0xBF82FFFF, timeout_ms=50)  # s_branch to itself
    assert (failed, "did not end in time" in message) == (TIMEOUT, True)


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffle:3"])
def test_waves_meet_at_a_barrier(machine: Machine, order: str) -> None:
    """Each thread of 256 writes its number to shared memory, and reads that of its counterpart in another wave."""
    words = [
        *(0xC00E0200, 0x00000000, 0x24020082),  # s_load_dwordx8 s[8:15]; v_lshlrev_b32 v1, 2, v0
        *(0xD81A0000, 0x00000001),  # ds_write_b32 v1, v0
        *(0xBF8CC07F, 0xBF8A0000),  # s_waitcnt; s_barrier
        *(0x2A0402FF, 0x000003FC),  # v_xor_b32 v2, 1020, v1
        *(0xD86C0000, 0x0A000002, 0xBF8CC07F),  # ds_read_b32 v10, v2; s_waitcnt lgkmcnt(0)
        *(0xDC708000, 0x000E0A01, END),  # global_store_dword v1, v10, s[14:15]
    ]
    out = np.zeros(256, np.uint32)
    failed, message, after = machine.launch(
        code_object(words, lds=1024), SLOTS, SLOTS, SLOTS, out, block=256, order=order
    )
    assert failed == 0, message
    assert np.array_equal(after[3], np.arange(256)[::-1])


def test_blocks_of_several_threads_add_atomically(machine: Machine) -> None:
    words = [
        *(0xC00E0200, 0x00000000, 0x7E020280, 0x7E080281, 0xBF8CC07F),  # v_mov_b32 v1, 0; v_mov_b32 v4, 1
        *(0xDD088000, 0x000E0401, END),  # global_atomic_add v1, v4, s[14:15]
    ]
    out = np.zeros(1, np.uint32)
    file = code_object(words)
    failed, message, after = machine.launch(file, SLOTS, SLOTS, SLOTS, out, grid=300, block=100, threads=2)
    assert failed == 0, message
    assert after[3][0] == 30000


def test_hidden_arguments_are_filled_in(machine: Machine) -> None:
    kinds = ("global_buffer", "hidden_block_count_x", "hidden_group_size_x", "hidden_dynamic_lds_size")
    words = [
        *(0xC00E0200, 0x00000000, 0x7E020280, 0xBF8CC07F),  # s[8:9] is the buffer
        *(0x7E08020A, 0x7E0A020C, 0x7E0C020E),  # v4, v5, v6 of s10, s12, s14
        *(0xDC788000, 0x00080401, END),  # global_store_dwordx3 v1, v[4:6], s[8:9]
    ]
    out = np.zeros(3, np.uint32)
    failed, message, after = machine.launch(code_object(words, kinds), out, grid=5, block=96, shared=32)
    assert failed == 0, message
    assert after[0].tolist() == [5, 96, 32]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda file: b"not code" + file, "is not an ELF file"),
        (lambda file: file.replace(b"k.kd\0", b"j.kd\0"), "has no descriptor of kernel k"),
        (lambda file: file[:18] + struct.pack("<H", 62) + file[20:], "is not for an AMD GPU"),
        (lambda file: file.replace(b"hsa--gfx942", b"hsa--gfx803"), "does not know the instructions of gfx803"),
    ],
    ids=["no ELF", "no descriptor", "x86", "target"],
)
def test_what_cannot_be_loaded_says_why(machine: Machine, damage: object, why: str) -> None:
    file = damage(code_object([*HEAD, *TAIL]))  # type: ignore[operator]
    failed, message, _ = machine.launch(file)
    assert failed in (INVALID_IMAGE, 209)
    assert why in message


@pytest.mark.parametrize(
    ("target", "capability"), [("gfx1100", (11, 0)), ("gfx1030", (10, 3)), ("gfx90a", (9, 0)), ("gfx942", (9, 4))]
)
def test_the_compute_capability_is_the_targets(machine: Machine, target: str, capability: tuple[int, int]) -> None:
    assert machine.capability(target) == capability


def test_printf_into_a_buffer_is_not_known(machine: Machine) -> None:
    """Newer device libraries can print so; a host call is what is served (test_ordinary_kernels.py)."""
    to = Target("gfx942")
    words = [*to.scalar_load("s_load_dwordx2", 8, 0, 0), *to.wait(), *to.vector(1, 128)]
    words += [*to.memory("GLOBAL", "global_load_dword", to=2, address=1, base=8), *to.end()]
    failed, message, _ = machine.launch(code_object(words, ("hidden_printf_buffer",)))
    assert (failed, "printf into a buffer" in message) == (NOT_SUPPORTED, True)
