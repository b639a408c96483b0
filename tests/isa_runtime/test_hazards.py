"""Instructions that come too soon after another: the wait states that the documents leave to software."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import AmdError
from conformance.toolchains.targets import target as target_of
from tests.isa_runtime.code import HEAD, code_object
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import END, FAILURE, SLOTS

NOP, OTHER_VECTOR = 0xBF800000, 0x7E060280
"""s_nop 0; v_mov_b32 v3, 0"""
BEFORE = (0x7E280208, 0xBF80000F, 0xBF800003)
"""v_mov_b32 v20, s8, and more wait states than any instruction needs after it"""
ZERO_OFFSET = (0x7E280280, *BEFORE[1:])
"""The same with 0."""

NO_RECORDS = (0xBE940008, 0xBE950009, 0xBE960080, 0xBE9700FF, 0x00020000)
"""A buffer of which nothing is in range, in s[20:23]: s_mov_b32 of s8, s9, 0 and 0x20000."""

PAIRS = [
    # v_mov_b32 v4, v6; v_mov_b32_dpp v10, v4 quad_perm:[1,0,3,2]
    ("gfx906", (0x7E080306,), (0x7E1402FA, 0xFF00B104), 2, "v4"),
    # v_cmpx_eq_u32 vcc, v4, v4; v_mov_b32_dpp v10, v20 quad_perm:[1,0,3,2]
    ("gfx90a", (0x7DB40904,), (0x7E1402FA, 0xFF00B114), 5, "exec"),
    # v_readfirstlane_b32 s20, v4; v_readlane_b32 s21, v6, s20
    ("gfx942", (0x7E280504,), (0xD2890015, 0x00002906), 4, "s20"),
    # v_readfirstlane_b32 s8, v20; global_load_dword v21, v1, s[8:9]
    ("gfx906", (0x7E100514,), (0xDC508000, 0x15080001), 5, "s8"),
    # v_readfirstlane_b32 s22, v1; buffer_load_dword v21, v1, s[20:23], 0 offen
    ("gfx906", (*NO_RECORDS, 0x7E2C0501), (0xE0501000, 0x80051501), 5, "s22"),
    # v_readfirstlane_b32 s24, v1; buffer_load_dword v21, v1, s[20:23], s24 offen
    ("gfx90a", (*NO_RECORDS, 0x7E300501), (0xE0501000, 0x18051501), 5, "s24"),
    # buffer_store_dwordx4 v[4:7], v1, s[20:23], 0 offen; v_mov_b32 v6, 0
    ("gfx942", (*NO_RECORDS, 0xE07C1000, 0x80050401), (0x7E0C0280,), 2, "v6"),
    # v_cmp_eq_u32 vcc, v4, v4; v_div_fmas_f32 v10, v4, v6, v8
    ("gfx906", (0x7D940904,), (0xD1E2000A, 0x04220D04), 4, "vcc"),
    # s_setreg_b32 hwreg(20), s8; s_setreg_b32 hwreg(20), s8
    ("gfx906", (0xB908F814,), (0xB908F814,), 2, "a hardware register"),
    # s_mov_b32 m0, 0; s_sendmsg sendmsg(MSG_INTERRUPT)
    ("gfx906", (0xBEFC0080,), (0xBF900001,), 1, "m0"),
    # global_store_dwordx4 v20, v[4:7], s[14:15]; v_mov_b32 v6, 0
    ("gfx906", (0xDC7C8000, 0x000E0414), (0x7E0C0280,), 1, "v6"),
    # global_store_dwordx4 v20, v[4:7], s[14:15]; v_mov_b32 v6, 0
    ("gfx942", (0xDC7C8000, 0x000E0414), (0x7E0C0280,), 2, "v6"),
    # v_rcp_f32 v10, v4; v_add_f32 v10, v10, v4
    ("gfx942", (0x7E144504,), (0x0214090A,), 1, "v10"),
    # v_mov_b32_sdwa v10, v4 dst_sel:WORD_1; v_add_f32 v11, v10, v4
    ("gfx942", (0x7E1402F9, 0x00041504), (0x0216090A,), 1, "v10"),
    # v_cmp_eq_u32 vcc, v4, v4; v_cndmask_b32 v10, v4, v6, vcc
    ("gfx942", (0x7D940904,), (0x00140D04,), 2, "vcc"),
    # v_cmp_eq_u32 s[0:1], v4, v4; v_cndmask_b32 v10, v4, v6, s[0:1]
    ("gfx942", (0xD0CA0000, 0x00020904), (0xD100000A, 0x00020D04), 2, "s0"),
    # v_readfirstlane_b32 s0, v4; v_add_f32 v10, v4, s0, of two words
    ("gfx942", (0x7E000504,), (0xD101000A, 0x00000104), 2, "s0"),
    # v_mov_b32 v4, v6; v_readlane_b32 s20, v4, 0
    ("gfx942", (0x7E080306,), (0xD2890014, 0x00010104), 1, "v4"),
    # v_cmpx_eq_u32 vcc, v4, v4; v_readfirstlane_b32 s20, v6
    ("gfx942", (0x7DB40904,), (0x7E280506,), 4, "exec"),
    # v_mov_b32 v4, v6; v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]
    ("gfx942", (0x7E080306,), (0xD3CD0014, 0x04520D04), 2, "v4"),
    # v_mov_b32 v5, v6; v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]
    ("gfx942", (0x7E0A0306,), (0xD3CD0014, 0x04520D04), 2, "v5"),
    # v_cmpx_eq_u32 vcc, v4, v4; v_mfma_f32_16x16x16f16 v[20:23], v[4:5], v[6:7], v[20:23]
    ("gfx90a", (0x7DB40904,), (0xD3CD0014, 0x04520D04), 4, "exec"),
    # v_dot4_i32_i8 v10, v4, v6, v8; v_add_u32 v11, v10, v4
    ("gfx942", (0xD3A8400A, 0x1C220D04), (0x6816090A,), 3, "v10"),
    # s_mov_b64 exec, 0; v_dot4c_i32_i8 v8, v4, v6; ds_write2_b32 v20, v6, v8 offset1:1
    ("gfx942", (0xBEFE0180, 0x72100D04), (0xD81C0100, 0x00080614), 3, "v8"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]; v_add_f32 v10, v21, v4
    ("gfx942", (0xD3CD0014, 0x04520D04), (0x02140915,), 7, "v21"),
    # v_mfma_f32_32x32x8_f16 v[12:27], v[4:5], v[6:7], v[12:27]; v_add_f32 v10, v27, v4
    ("gfx942", (0xD3CC000C, 0x04320D04), (0x0214091B,), 11, "v27"),
    # v_mfma_f32_16x16x4_f32 v[20:23], v4, v6, v[20:23]; v_add_f32 v10, v20, v4
    ("gfx942", (0xD3C50014, 0x04520D04), (0x02140914,), 10, "v20"),
    # v_mfma_f32_16x16x16f16 v[20:23], v[4:5], v[6:7], v[20:23]; v_add_f32 v10, v20, v4
    ("gfx90a", (0xD3CD0014, 0x04520D04), (0x02140914,), 11, "v20"),
    # v_mfma_f32_32x32x8f16 v[12:27], v[4:5], v[6:7], v[12:27]; global_store_dword v20, v12, s[14:15]
    ("gfx90a", (0xD3CC000C, 0x04320D04), (0xDC708000, 0x000E0C14), 19, "v20"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]; v_mov_b32 v21, 0
    ("gfx942", (0xD3CD0014, 0x04520D04), (0x7E2A0280,), 7, "v21"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[24:27]; v_mov_b32 v25, 0
    ("gfx942", (0xD3CD0014, 0x04620D04), (0x7E320280,), 3, "v25"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]; v_mfma_f32_16x16x16_f16 v[24:27], v[20:21], v[6:7], v[
    ("gfx942", (0xD3CD0014, 0x04520D04), (0xD3CD0018, 0x04620D14), 7, "v20"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]; v_mfma_f32_16x16x16_f16 v[22:25], v[4:5], v[6:7], v[22
    ("gfx942", (0xD3CD0014, 0x04520D04), (0xD3CD0016, 0x045A0D04), 5, "v22"),
    # v_exp_f32 v10, v4; v_add_f32 v10, v10, v4
    ("gfx1100", (0x7E144B04,), (0x0614090A,), 6, "v10"),
    # v_wmma_f32_16x16x16_f16 v[8:15], v[16:19], v[20:23], v[8:15]; v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[20:23],
    ("gfx1201", (0xCC404008, 0x1C222910), (0xCC404018, 0x1C622908), 1, "v8"),
]
"""Target, an instruction, another, the wait states that have to be between them, and the register: llvm-mc 19 writes
the words, and clang 19 as many s_nop."""

BUILT = """
#include <hip/hip_runtime.h>
typedef float v4f __attribute__((ext_vector_type(4)));
typedef _Float16 v4h __attribute__((ext_vector_type(4)));
extern "C" __global__ void k(float *a, double *d, v4h *h, v4f *m, int *n) {
  const int i = threadIdx.x;
  int x = n[i] * 3;
  x += __builtin_amdgcn_update_dpp(x, x, 0xb1, 0xf, 0xf, false);
  x += __builtin_amdgcn_readlane(x, __builtin_amdgcn_readfirstlane(x) & 31);
  a[i] = a[i] / (1.0f + __expf(a[i])) + __shfl_xor(a[i], 1);
  d[i] = d[i] / (d[i] + 3.0);
  n[i] = n[__builtin_amdgcn_readfirstlane(x) & 7] + x;
#if defined(__gfx90a__) || defined(__gfx942__)
  v4f c = m[i];
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(h[i], h[i], c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_16x16x4f32(c[0], c[1], c, 0, 0, 0);
  m[i] = c + c;
#endif
}
"""


def said_of(machine: Machine, target: str, words: tuple[int, ...], functions: tuple[int, ...] = ()) -> str:
    """What the launch says; empty where it passes."""
    vega = target.startswith("gfx9")
    if vega:
        before = ZERO_OFFSET if words[0] == 0xDC7C8000 or 0xDC708000 in words else BEFORE
        words = (*HEAD, *before, *words, END)
    else:
        words = (*words, 0xBFB00000)
    file = code_object(words, target=target, wave=64 if vega else 32, functions=functions)
    failed, message, _ = machine.launch(file, SLOTS, SLOTS, SLOTS, SLOTS)
    assert failed in (0, FAILURE), message
    return message


@pytest.mark.parametrize(("target", "first", "second", "needed", "register"), PAIRS)
def test_too_few_wait_states_are_a_fault(
    machine: Machine, target: str, first: tuple[int, ...], second: tuple[int, ...], needed: int, register: str
) -> None:
    filler = NOP if target.startswith("gfx9") else OTHER_VECTOR
    assert said_of(machine, target, (*first, *[filler] * needed, *second)) == ""
    message = said_of(machine, target, (*first, *[filler] * (needed - 1), *second))
    unit = "wait state" if target.startswith("gfx9") else "VALU instruction"
    counted = f"{needed - 1} {unit}{'' if needed == 2 else 's'}"
    assert re.search(
        rf" comes {counted} after the \w+ at 0x1\w+, and {needed} are needed where .* {register} and ", message
    )


@pytest.mark.parametrize("functions", [(), (64,)], ids=["in a function", "where one begins"])
def test_a_function_begins_where_a_symbol_says_so(machine: Machine, functions: tuple[int, ...]) -> None:
    """v_cmp_eq_u32 vcc, v4, v4; s_nop 0; v_cndmask_b32 v10, v4, v6, vcc at 256 bytes, where another one may begin."""
    before = (NOP,) * (64 - len(HEAD) - len(BEFORE) - 2)
    message = said_of(machine, "gfx942", (*before, 0x7D940904, NOP, 0x00140D04), functions)
    assert bool(message) is (not functions)


def test_a_wide_store_to_a_buffer_with_a_scalar_offset_leaves_time(machine: Machine) -> None:
    """buffer_store_dwordx4 v[4:7], v1, s[20:23], s22 offen; v_mov_b32 v6, 0"""
    assert said_of(machine, "gfx942", (*NO_RECORDS, 0xE07C1000, 0x16050401, 0x7E0C0280)) == ""


def test_one_nop_may_be_several_wait_states(machine: Machine) -> None:
    (target, first, second, _, _), *_ = PAIRS
    assert said_of(machine, target, (*first, NOP | 1, *second)) == ""


def test_what_waits_for_all_vector_instructions_is_enough(machine: Machine) -> None:
    assert said_of(machine, "gfx1100", (0x7E144B04, 0xBF880FFF, 0x0614090A)) == ""  # s_waitcnt_depctr 0xfff


def test_a_move_of_two_at_a_time_reads_one_operand(machine: Machine) -> None:
    """v_rcp_f32 v0, v4; v_dual_mov_b32 v11, 0 :: v_dual_lshlrev_b32 v4, 7, v8, in which a field that is 0 is no v0."""
    assert said_of(machine, "gfx1100", (0x7E005504, 0xCA220080, 0x0B041087)) == ""


@pytest.mark.parametrize(
    "access",
    [
        # ds_read2_b32 v[10:11], v20 offset1:1
        (0xD86E0100, 0x0A000014),
        # scratch_load_dwordx2 v[10:11], off, off
        (0xDC544000, 0x0A7F0000),
        # global_load_dword v10, v20, s[14:15]
        (0xDC508000, 0x0A0E0014),
        # ds_write_b32 v20, v6
        (0xD81A0000, 0x00000614),
    ],
    ids=["ds_read2_b32", "scratch_load_dwordx2", "global_load_dword", "ds_write_b32"],
)
def test_an_access_to_memory_reads_no_register_for_operands_that_it_does_not_have(
    machine: Machine, access: tuple[int, int]
) -> None:
    """Their fields are 0, as for v0: s_mov_b64 exec, 0; v_dot4c_i32_i8 v0, v4, v6 before them."""
    assert said_of(machine, "gfx942", (0xBEFE0180, 0x72000D04, *access)) == ""


@pytest.mark.parametrize("between", [0xBE940080, 0x7E280280], ids=["s_mov_b32 s20, 0", "v_mov_b32 v20, 0"])
def test_a_register_that_is_written_again_is_as_it_was_written_last(machine: Machine, between: int) -> None:
    """v_readfirstlane_b32 s20, v4; s_mov_b32 s20, 0; v_readlane_b32 s21, v6, s20"""
    found = said_of(machine, "gfx942", (0x7E280504, between, 0xD2890015, 0x00002906))
    assert bool(found) is (between == 0x7E280280)


def test_where_code_jumps_to_nothing_is_said_of_what_stands_before(machine: Machine) -> None:
    """s_branch over v_mov_b32 v4, v6 to v_mov_b32_dpp v10, v4, which has to be executed behind it to be too soon."""
    words = (0xBF820001, 0x7E080306, 0x7E1402FA, 0xFF00B104)
    assert said_of(machine, "gfx906", words) == ""


@pytest.mark.slow("compiles for AMD targets and looks through the code")
@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx1100", "gfx1201"])
def test_what_the_compiler_makes_has_no_hazards(machine: Machine, tmp_path: Path, target: str) -> None:
    try:
        toolchain = find_toolchain([target_of(target)], HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    (tmp_path / "k.hip").write_text(BUILT)
    toolchain.compile(tmp_path / "k.hip", target_of(target), tmp_path / "code")
    code = (tmp_path / "code").read_bytes()
    assert machine.hazards(code) == 0
    kinds = (np.float32, np.float64, np.uint64, np.uint64, np.int32)
    failed, message, _ = machine.launch(code, *(np.ones(128, kind) for kind in kinds))
    assert failed == 0, message
