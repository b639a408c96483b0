"""Code objects for gfx942 made by hand: no compiler, no assembler. Words are as llvm-mc 19 writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgpack

from tests.isa_runtime import opcodes

HEAD = (
    *(0xC00E0200, 0x00000000),  # s_load_dwordx8 s[8:15], s[0:1], 0x0
    *(0x24020083, 0xBF8CC07F),  # v_lshlrev_b32 v1, 3, v0; s_waitcnt lgkmcnt(0)
    *(0xDC548000, 0x04080001),  # global_load_dwordx2 v[4:5], v1, s[8:9]
    *(0xDC548000, 0x060A0001),  # global_load_dwordx2 v[6:7], v1, s[10:11]
    *(0xDC548000, 0x080C0001),  # global_load_dwordx2 v[8:9], v1, s[12:13]
    *(0xDC548000, 0x0A0E0001),  # global_load_dwordx2 v[10:11], v1, s[14:15]
    0xBF8C0F70,  # s_waitcnt vmcnt(0)
)
"""Loads a pair of registers from each of four buffers, by thread: v[4:5], v[6:7], v[8:9], v[10:11]."""

STORE = (0xBF8C0070, 0xDC748000, 0x000E0A01, 0xBF810000)
"""s_waitcnt vmcnt(0) lgkmcnt(0); global_store_dwordx2 v1, v[10:11], s[14:15]; s_endpgm"""

WAIT = (0xBF80000F, 0xBF800003)
"""s_nop 15; s_nop 3: the wait states that any instruction asks for"""

TAIL = (*WAIT, *STORE)

FLAG_OF_VCC = (*WAIT, 0xD100000A, 0x01A90280)
"""v_cndmask_b32 v10, 0, 1, vcc"""

FLAG_OF_S20 = (*WAIT, 0xD100000A, 0x00510280)
"""v_cndmask_b32 v10, 0, 1, s[20:21]"""

A, B, C, OUT = 4, 6, 8, 10
"""The vector registers of the operands and the result."""

VECTOR = 256
VCC = 106


@cache
def table(target: str = "gfx942") -> dict[tuple[str, str], int]:
    """Opcodes by encoding and mnemonic."""
    return {(encoding, name): number for encoding, number, name in opcodes.written(target)}


def vop3(
    name: str,
    *sources: int,
    out: int = OUT,
    neg: int = 0,
    absolute: int = 0,
    sdst: int | None = None,
    target: str = "gfx942",
) -> list[int]:
    """An instruction of CDNA in the encoding VOP3; sources are operand numbers, vector registers from ``VECTOR`` on."""
    first = 0xD0000000 | table(target)["VOP3", name] << 16 | out | (absolute << 8 if sdst is None else sdst << 8)
    second = neg << 29
    for place, source in enumerate(sources):
        second |= source << 9 * place
    return [first, second]


def code_object(
    words: Sequence[int],
    arguments: Sequence[str] = ("global_buffer",) * 4,
    lds: int = 0,
    scratch: int = 0,
    name: str = "k",
    target: str = "gfx942",
    mode: int = 0xF0,
    nan_mode: int = 1 << 21 | 1 << 23,
    wave: int = 64,
    scratch_registers: bool = False,
    functions: Sequence[int] = (),
) -> bytes:
    """A code object with one kernel, which gets its argument segment's address in s[0:1], the block's x in s2, and its
    thread's number in v0.

    With ``scratch_registers`` it gets a buffer of scratch memory in s[0:3], the arguments in s[4:5], the address of
    scratch memory in s[6:7], the block's x in s8 and the wave's offset in scratch memory in s9. Symbols say that
    ``functions`` begin at these words.
    """
    rows: list[dict[str, Any]] = [
        {".offset": 8 * place, ".size": 8, ".value_kind": kind} for place, kind in enumerate(arguments)
    ]
    kernel = {".name": name, ".args": rows, ".max_flat_workgroup_size": 1024, ".kernarg_segment_size": 8 * len(rows)}
    kernel |= {".vgpr_count": 32, ".sgpr_count": 32, ".group_segment_fixed_size": lds, ".wavefront_size": 64}
    kernel |= {".private_segment_fixed_size": scratch}
    note = msgpack.packb({"amdhsa.target": f"amdgcn-amd-amdhsa--{target}", "amdhsa.kernels": [kernel]})
    owner = b"AMDGPU\0\0"
    note = struct.pack("<III", 7, len(note), 32) + owner + note.ljust(-(-len(note) // 4) * 4, b"\0")
    text = struct.pack(f"<{len(words)}I", *words)
    header, place = 64 + 2 * 56, 4096
    descriptor_at, text_at = place, place + 256
    vgprs, users = 32, 8 if scratch_registers else 2
    rsrc1 = (vgprs // 8 - 1) | mode << 12 | (0 if target.startswith("gfx12") else nan_mode)
    rsrc2 = users << 1 | 1 << 7 | scratch_registers
    properties = 8 | (1 << 10 if wave == 32 else 0) | (1 | 1 << 5 if scratch_registers else 0)
    descriptor = struct.pack(
        "<IIIIq20xIIIHH4x", lds, scratch, 8 * len(rows), 0, text_at - descriptor_at, 0, rsrc1, rsrc2, properties, 0
    )
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x11, 0, 1, descriptor_at, 64)
    symbols += b"".join(struct.pack("<IBBHQQ", 0, 0x12, 0, 1, text_at + 4 * word, 0) for word in functions)
    strings = b"\0" + name.encode() + b".kd\0"
    image = descriptor.ljust(256, b"\0") + text
    after = place + len(image)
    note_at, symbols_at = after, after + len(note)
    strings_at = symbols_at + len(symbols)
    sections_at = strings_at + len(strings)
    sections = bytes(64)
    for kind, flags, address, offset, size, link, entry in (
        (1, 6, text_at, text_at, len(text), 0, 0),
        (11, 2, 0, symbols_at, len(symbols), 3, 24),
        (3, 2, 0, strings_at, len(strings), 0, 0),
    ):
        sections += struct.pack("<IIQQQQIIQQ", 0, kind, flags, address, offset, size, link, 1, 4, entry)
    ident = b"\x7fELF" + bytes((2, 1, 1, 64, 3)) + bytes(7)
    elf = ident + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 64, sections_at, 0x54C, 64, 56, 2, 64, 4, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 5, place, place, place, len(image), len(image), 4096)
    elf += struct.pack("<IIQQQQQQ", 4, 4, note_at, 0, 0, len(note), len(note), 4)
    assert len(elf) == header
    return elf.ljust(place, b"\0") + image + note + symbols + strings + sections
