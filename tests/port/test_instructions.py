"""Where instructions begin, against llvm-mc's encodings; nothing is executed."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess

import pytest

from conformance.port.instructions import generation, instructions

_COMMON = """
s_mov_b32 s0, 0x12345678
s_add_u32 s0, s1, 0x12345678
s_movk_i32 s0, 5
s_cmp_eq_u32 s0, 0x12345678
s_endpgm
s_load_dwordx2 s[0:1], s[2:3], 0x8
v_mov_b32 v0, v1
v_mov_b32 v0, 0x12345678
v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_and_b32 v0, 0x12345678, v1
v_fma_f32 v0, v1, v2, v3
v_fma_mixlo_f16 v0, v1, v2, 0
global_load_dword v0, v[2:3], off
ds_read_b32 v0, v1
"""
_CASES = {
    "gfx906": "v_madak_f32 v0, v1, v2, 0x12345678\nv_add_u32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:BYTE_0\n"
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x12345678",
    "gfx942": "v_fmamk_f32 v0, v1, 0x12345678, v2\nv_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v1, a[0:3]",
    "gfx1030": "v_fma_f32 v0, v1, v2, 0x12345678\nv_fmaak_f32 v0, v1, v2, 0x12345678\n"
    "image_sample v[0:3], [v0, v2, v4], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_3D\n"
    "v_mov_b32_dpp v0, v1 dpp8:[0,1,2,3,4,5,6,7]\ns_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x12345678",
    "gfx1100": "v_dual_fmamk_f32 v0, v1, 0x12345678, v3 :: v_dual_mov_b32 v5, v6\n"
    "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v4\n"
    "v_add_f32_e64_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf\nlds_direct_load v0",
    "gfx1201": "s_fmamk_f32 s0, s1, 0x12345678, s2\ns_mov_b64 s[0:1], 0x12345678\n"
    "image_sample v[0:3], [v0, v2, v4], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_3D",
}
"""By target: encodings that the others do not have."""


@pytest.mark.parametrize("target", _CASES)
def test_instructions_are_as_long_as_llvm_makes_them(target: str) -> None:
    names = [f"llvm-mc-{version}" for version in range(30, 17, -1)]
    assembler = next(filter(None, map(shutil.which, names)), None)
    if assembler is None:
        pytest.skip("no llvm-mc-18 or newer on PATH")
    gen = generation(target)
    assert gen is not None
    done = subprocess.run(
        [assembler, "-arch=amdgcn", f"-mcpu={target}", "-show-encoding"],
        input=_COMMON + _CASES[target],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    encodings = [
        bytes(int(byte, 16) for byte in row.split(","))
        for row in re.findall(r"encoding: \[([0-9a-fx,]+)\]", done.stdout)
    ]
    assert len(encodings) >= len(_COMMON.split("\n")) - 2
    found = [struct.pack(f"<{len(words)}I", *words) for _, words in instructions(b"".join(encodings), gen)]
    assert found == encodings


@pytest.mark.parametrize(
    ("target", "expected"),
    [("gfx90a:xnack-", 9), ("gfx942", 9), ("gfx1030", 10), ("gfx11-generic", 11), ("gfx1201", 12), ("gfx803", None)],
)
def test_the_generation_is_in_the_name(target: str, expected: int | None) -> None:
    assert generation(target) == expected


def test_code_that_is_cut_short_ends_with_what_is_there() -> None:
    cut = struct.pack("<I", 0xD3A10000)  # the first word of two
    assert list(instructions(cut, 9)) == [(0, (0xD3A10000,))]
