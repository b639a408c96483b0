"""What an emulator of these kernels gets wrong first, where no other test here has it."""

from __future__ import annotations

import numpy as np

from tests.isa_runtime.code import HEAD, TAIL, code_object
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import END, SLOTS
from tests.isa_runtime.test_rdna import run as run_rdna
from tests.isa_runtime.test_vector_instructions import LANES, run, same, slots, values

LANE = np.arange(LANES)
OLD = 0x11111111


def test_packed_halves_are_fused_and_rounded_once(machine: Machine) -> None:
    """1 + 3/2 f16 ulp, less a little that an f32 cannot hold: an f32 would be halfway, and rounded to even."""
    a, b, c = np.float16(2**-5 * (1 + 2**-8)), np.float16(2**-6 * (1 - 2**-8)), np.float16(1 + 2**-10)
    words = [0xD38E400A, 0x1C220D04]  # v_pk_fma_f16 v10, v4, v6, v8
    given = [np.full(LANES * 2, value, np.float16).view(np.uint32) for value in (a, b, c)]
    same(run(machine, words, np.uint32, *given), given[2])


def test_lanes_that_are_not_active_need_no_address_in_shared_memory(machine: Machine) -> None:
    words = [
        *(0xD81A0000, 0x00000604, 0xBF8CC07F),  # ds_write_b32 v4, v6, by eight lanes
        *(0xD86C0000, 0x0A000004, 0xBF8CC07F),  # ds_read_b32 v10, v4
    ]
    offsets = np.where(LANE < 8, 4 * LANE, 0xFFFFFFF).astype(np.uint32)
    a = values(np.uint32, 3)
    file = code_object([*HEAD, 0xBEFE01FF, 0xFF, *words, 0xBEFE01C1, *TAIL], lds=32)
    out = np.full(LANES, OLD << 32 | OLD, np.uint64)
    failed, message, after = machine.launch(file, slots(offsets), slots(a), SLOTS, out)
    assert failed == 0, message
    same(after[3].view(np.uint32)[::2], np.where(LANE < 8, a, OLD).astype(np.uint32))


def test_scratch_memory_is_of_one_wave(machine: Machine) -> None:
    """Four waves store their threads' numbers at the same offset, meet, and load them."""
    words = [
        *(0xC00E0200, 0x00000000),  # s_load_dwordx8 s[8:15], s[0:1], 0x0
        *(0xDC704000, 0x007F0000, 0xBF8A0000),  # scratch_store_dword off, v0, off; s_barrier
        *(0xDC504000, 0x027F0000, 0xBF8C0F70),  # scratch_load_dword v2, off, off; s_waitcnt vmcnt(0)
        *(0x24020082, 0xBF8CC07F, 0xDC708000, 0x000E0201, END),  # global_store_dword v1, v2, s[14:15]
    ]
    out = np.zeros(256, np.uint32)
    failed, message, after = machine.launch(code_object(words, scratch=4), SLOTS, SLOTS, SLOTS, out, block=256)
    assert failed == 0, message
    assert np.array_equal(after[3], np.arange(256))


def test_a_generic_pointer_reaches_scratch_memory(machine: Machine) -> None:
    words = [
        *(0xBE9401ED, 0x7E1A0215, 0x7E180284),  # s[20:21] is src_private_base; v13 is s21, v12 is 4
        *(0xDC700000, 0x0000040C, 0xBF8C0070),  # flat_store_dword v[12:13], v4; s_waitcnt
        *(0xDC504004, 0x0A7F0000),  # scratch_load_dword v10, off, off offset:4
    ]
    a = values(np.uint32, 1)
    file = code_object([*HEAD, *words, *TAIL], scratch=8)
    failed, message, after = machine.launch(file, slots(a), SLOTS, SLOTS, SLOTS)
    assert failed == 0, message
    same(after[3].view(np.uint32)[::2], a)


def test_lanes_of_a_row_are_chosen_by_a_literal(machine: Machine) -> None:
    a = values(np.uint32, 1)
    words = [0xBE9500FF, 0x01234567, 0xD65C000A, 0x0055FF04, 0x89ABCDEF]  # v_permlanex16_b32 v10, v4, 0x89abcdef, s21
    same(run_rdna(machine, words, np.uint32, a)[:, 0], a[LANE ^ 31])


def test_caches_of_rdna_4_are_written_back_and_invalidated(machine: Machine) -> None:
    words = [
        *(0xF4002200, 0xF8000000, 0xBFC70000, 0x30020082),  # s_load_b64 s[8:9], s[0:1], 0x0; v_lshlrev_b32 v1, 2, v0
        *(0xEE068008, 0x00000000, 0x00000001),  # global_store_b32 v1, v0, s[8:9]
        *(0xEE0B007C, 0x000C0000, 0x00000000, 0xBFC10000),  # global_wb scope:SCOPE_SYS; s_wait_storecnt 0
        *(0xEE0AC07C, 0x000C0000, 0x00000000, 0xBFC00000),  # global_inv scope:SCOPE_SYS; s_wait_loadcnt 0
        *(0xEE050008, 0x00000004, 0x00000001, 0xBFC00000),  # global_load_b32 v4, v1, s[8:9]
        *(0x4A080904, 0xEE068008, 0x02000000, 0x00000001, 0xBFB00000),  # v_add_nc_u32 v4, v4, v4, stored
    ]
    file = code_object(words, ("global_buffer",), target="gfx1201", wave=32)
    failed, message, after = machine.launch(file, np.zeros(32, np.uint32), block=32)
    assert failed == 0, message
    assert np.array_equal(after[0], 2 * np.arange(32))
