"""Registers that are used before the s_waitcnt that the load into them needs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.isa_runtime.code import HEAD, TAIL, code_object
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import END, FAILURE, SLOTS

NOT_WAITED = HEAD[:-1]
"""Four loads into v[4:5], v[6:7], v[8:9] and v[10:11] of two words each, in flight."""
FIRST = 0x1110
"""Where the first of them is, in the object."""
READS_V4, READS_V6 = 0x7E280304, 0x7E280306
"""v_mov_b32 v20, v4 or v6"""
LDS_READ = (0xD81A0000, 0x00000101, 0xBF8CC07F, 0xD86C0000, 0x04000001)
"""ds_write_b32 v1, v1; s_waitcnt lgkmcnt(0); ds_read_b32 v4, v1"""
RETURNS = (0x7E060280, 0xDD098000, 0x140E0403)
"""v_mov_b32 v3, 0; global_atomic_add v20, v3, v4, s[14:15] sc0"""


def message(machine: Machine, *words: int, lds: int = 0, head: tuple[int, ...] = NOT_WAITED) -> str:
    """What the launch says, empty where it passes."""
    file = code_object([*head, *words, *TAIL], lds=lds)
    failed, said, _ = machine.launch(file, SLOTS, SLOTS, SLOTS, SLOTS)
    assert failed in (0, FAILURE)
    return re.sub(r"^kernel k: block \(0,0,0\), thread \(0,0,0\), at 0x[0-9a-f]+: ", "", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((READS_V4,), f"v4 read by v_mov_b32 before s_waitcnt vmcnt(3) for the global_load_dwordx2 at {FIRST:#x}"),
        ((READS_V6,), f"v6 read by v_mov_b32 before s_waitcnt vmcnt(2) for the global_load_dwordx2 at {FIRST + 8:#x}"),
        ((0xBF8C0F73, READS_V4), ""),  # s_waitcnt vmcnt(3)
        ((0xBF8C0F73, READS_V6), "v6 read by v_mov_b32 before s_waitcnt vmcnt(2)"),
        ((0x7E080280,), "v4 written by v_mov_b32 before s_waitcnt vmcnt(3)"),
        ((0xDC748000, 0x000E0401), "v4 read by global_store_dwordx2 before s_waitcnt vmcnt(3)"),
        ((0xDC508000, 0x147F0004), "v4 read by global_load_dword before s_waitcnt vmcnt(3)"),  # its address
        (
            (0xBF8C0070, *RETURNS, 0x7E2A0314),
            "v20 read by v_mov_b32 before s_waitcnt vmcnt(0) for the global_atomic_add",
        ),
    ],
    ids=["first", "second", "waited", "waited too little", "written", "stored", "address", "atomic"],
)
def test_vector_memory_answers_in_order(machine: Machine, words: tuple[int, ...], said: str) -> None:
    found = message(machine, *words)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_lds_is_waited_for(machine: Machine) -> None:
    assert message(machine, *LDS_READ, READS_V4, lds=1024, head=HEAD).startswith(
        "v4 read by v_mov_b32 before s_waitcnt lgkmcnt(0) for the ds_read_b32"
    )
    assert message(machine, *LDS_READ, 0xBF8CC07F, READS_V4, lds=1024, head=HEAD) == ""


def test_scalar_memory_answers_in_any_order(machine: Machine) -> None:
    """Two loads, and a wait for one of them, which may be either."""
    loads = (0xC0020500, 0x00000000, 0xC0020540, 0x00000008)  # s_load_dword s20 and s21
    reads = 0xBE960014  # s_mov_b32 s22, s20
    assert message(machine, *loads, 0xBF8CC17F, reads, head=HEAD).startswith(
        "s20 read by s_mov_b32 before s_waitcnt lgkmcnt(0) for the s_load_dword"
    )
    assert message(machine, *loads, 0xBF8CC07F, reads, head=HEAD) == ""


@pytest.mark.parametrize(
    ("target", "words", "said"),
    [
        ("gfx1201", (0xF4002200, 0xF8000000, 0xBE940008), "before s_wait_kmcnt 0 for the s_load_b64"),
        ("gfx1201", (0xF4002200, 0xF8000000, 0xBFC70000, 0xBE940008), ""),
        ("gfx1100", (0xF4040200, 0xF8000000, 0xBE940008), "before s_waitcnt lgkmcnt(0) for the s_load_b64"),
        ("gfx1100", (0xF4040200, 0xF8000000, 0xBF89FC07, 0xBE940008), ""),
    ],
)
def test_rdna_has_counters_of_its_own(machine: Machine, target: str, words: tuple[int, ...], said: str) -> None:
    file = code_object([*words, 0xBFB00000], ("global_buffer",), target=target, wave=32)
    _, found, _ = machine.launch(file, np.zeros(64, np.uint32), block=32)
    assert said in found
    assert bool(found) == bool(said)


def test_what_is_never_used_needs_no_wait(machine: Machine) -> None:
    failed, said, _ = machine.launch(code_object([*NOT_WAITED, END]), SLOTS, SLOTS, SLOTS, SLOTS)
    assert failed == 0, said
