"""The isa runtime's table ``opcodes.inc``, derived from llvm-mc: ``python -m tests.isa_runtime.opcodes``.

For each encoding every opcode is written as words and disassembled; what comes out as an instruction is in the table:
a row for an encoding and a mnemonic, with its opcode on each target. Nothing of the project needs llvm-mc but this.

Of a target that llvm-mc 19 does not know, the assembler of a newer LLVM (the one in ziglang) says which instructions of
an older target it has with the same opcode, and what the opcodes of some new ones are.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from conformance.files import PACKAGE
from conformance.runtimes.isa.kind import TARGETS

TABLE = PACKAGE / "runtimes" / "isa" / "runtime" / "opcodes.inc"

_THREE, _TWO, _ONE = 0x04120D04, 0x00020D04, 0x00000104
"""The second word of VOP3: v4, v6, v4, or fewer."""
_VECTOR = 0x104
_LITERAL = 0x3F800000
_Row = tuple[tuple[int, ...], int, int, tuple[int, ...]]
_WRITTEN = re.compile(r'\{(\w+), "(\w+)", \{([-\d, ]+)\}\},')

_CDNA: dict[str, _Row] = {
    "SOP1": ((0xBE840004, 0xBE840000, 0xBE800004), 8, 0x100, (_LITERAL,)),
    "SOP2": ((0x80040604,), 23, 0x60, (_LITERAL,)),
    "SOPK": ((0xB07C0001, 0xB07D0001, 0xB0040001, 0xB0000001), 23, 0x1D, (_LITERAL,)),
    "SOPC": ((0xBF000604,), 16, 0x80, (_LITERAL,)),
    "SOPP": ((0xBF800000,), 16, 0x80, (_LITERAL,)),
    "SMEM": ((0xC0000000, 0xC0020001), 18, 0x100, (0,)),
    "VOP1": ((0x7E000000, 0x7E040000 | _VECTOR), 9, 0x100, (_LITERAL,)),
    "VOP2": ((0x00040C00 | _VECTOR,), 25, 0x3E, (_LITERAL,)),
    "VOPC": ((0x7C000C00 | _VECTOR,), 17, 0x100, (_LITERAL,)),
    "VOP3": ((0xD0000002,), 16, 0x380, (_THREE, _TWO, _ONE)),
    "VOP3P": ((0xD3800002, 0xD3804002), 16, 0x80, (_THREE, _TWO, _ONE, _ONE | 0x18000000)),
    "DS": ((0xD8000000,), 17, 0x100, (0x02060604, 0x02000604, 0x00060604, 0x00000604, 0x02000004, 0x02000000, 0)),
    "FLAT": ((0xDC000000,), 18, 0x80, (0x02000604, 0x00000604, 0x02000004)),
    "GLOBAL": ((0xDC008000,), 18, 0x80, (0x027F0604, 0x007F0604, 0x027F0004)),
    "SCRATCH": ((0xDC004000, 0xDC006000), 18, 0x80, (0x027F0604, 0x007F0604, 0x027F0004)),
    "MUBUF": ((0xE0000000,), 18, 0x80, (0x80000204, 0)),
}
"""By encoding of Vega and CDNA: first words with opcode 0, where the opcode is, how many there are, second words."""

_SCALAR_AND_SHORT = ("SOP1", "SOP2", "SOPK", "SOPC", "SOPP", "VOP1", "VOP2", "VOPC")
_RDNA3: dict[str, _Row] = {
    **{name: _CDNA[name] for name in _SCALAR_AND_SHORT},
    "SMEM": ((0xF4000000, 0xF4000001), 18, 0x100, (0xF8000000, 0)),
    "VOP3": ((0xD4000002, 0xD4006A02, 0xD400007E), 16, 0x400, (_THREE, _TWO, _ONE)),
    "VOP3P": ((0xCC000002, 0xCC004002), 16, 0x80, (_THREE, _THREE | 0x18000000, _TWO, _TWO | 0x18000000)),
    "DS": ((0xD8000000,), 18, 0x100, (0x02060604, 0x02000604, 0x00060604, 0x00000604, 0x02000004, 0x02000000, 0)),
    "FLAT": ((0xDC000000,), 18, 0x80, (0x027C0604, 0x007C0604, 0x027C0004)),
    "GLOBAL": ((0xDC020000,), 18, 0x80, (0x027C0604, 0x007C0604, 0x027C0004)),
    "SCRATCH": ((0xDC010000,), 18, 0x80, (0x02FC0604, 0x00FC0604, 0x02FC0004)),
    "MUBUF": ((0xE0000000,), 18, 0x100, (0x80000204, 0, 0x7C000000)),
}
"""Likewise for RDNA 3."""

_RDNA2: dict[str, _Row] = {
    **_RDNA3,
    "SMEM": ((0xF4000000, 0xF4000001), 18, 0x100, (0xFA000000, 0)),
    "FLAT": ((0xDC000000,), 18, 0x80, (0x027D0604, 0x007D0604, 0x027D0004)),
    "GLOBAL": ((0xDC008000,), 18, 0x80, (0x027D0604, 0x007D0604, 0x027D0004)),
    "SCRATCH": ((0xDC004000,), 18, 0x80, (0x027D0604, 0x007D0604, 0x027D0004)),
    "MUBUF": ((0xE0000000,), 18, 0x80, (0x80000204, 0)),
}
"""Likewise for RDNA 1 and 2."""


_RDNA4: dict[str, _Row] = {
    **{name: _RDNA3[name] for name in (*_SCALAR_AND_SHORT, "VOP3", "VOP3P", "DS")},
    "SMEM": ((0xF4000000, 0xF4000001), 13, 0x40, (0xF8000000, 0)),
    "FLAT": ((0xEC00007C,), 14, 0x100, (0x00000002, 0x03000000, 0x03100002, 0)),
    "GLOBAL": ((0xEE00007C,), 14, 0x100, (0x00000002, 0x03000000, 0x03100002, 0)),
    "SCRATCH": ((0xED00007C,), 14, 0x100, (0x00020002, 0x03020000, 0)),
    "MUBUF": ((0xC400007C,), 14, 0x100, (0x40800802, 0)),
}
"""Likewise for RDNA 4, whose memory instructions have a third word."""

_LATER = {"gfx950": "gfx942"}
"""Targets that llvm-mc 19 does not know, by the one whose instructions they are asked for."""

_NEW = {
    "gfx950": {
        "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], v[0:3]": "VOP3P",
        "v_mfma_f32_32x32x16_f16 v[0:15], v[16:19], v[20:23], v[0:15]": "VOP3P",
        "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]": "VOP3P",
        "v_mfma_f32_32x32x16_bf16 v[0:15], v[16:19], v[20:23], v[0:15]": "VOP3P",
        "v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], v[0:3]": "VOP3P",
        "v_mfma_i32_32x32x32_i8 v[0:15], v[16:19], v[20:23], v[0:15]": "VOP3P",
        "v_prng_b32 v1, v2": "VOP1",
        "v_permlane16_swap_b32 v1, v2": "VOP1",
        "v_permlane32_swap_b32 v1, v2": "VOP1",
        "v_bitop3_b32 v1, v2, v3, v4 bitop3:1": "VOP3",
        "v_bitop3_b16 v1, v2, v3, v4 bitop3:1": "VOP3",
        "v_cvt_pk_bf16_f32 v1, v2, v3": "VOP3",
        "v_cvt_pk_f16_f32 v1, v2, v3": "VOP3",
        "v_minimum3_f32 v1, v2, v3, v4": "VOP3",
        "v_maximum3_f32 v1, v2, v3, v4": "VOP3",
        "v_ashr_pk_i8_i32 v1, v2, v3, v4": "VOP3",
        "v_ashr_pk_u8_i32 v1, v2, v3, v4": "VOP3",
        "v_pk_minimum3_f16 v1, v2, v3, v4": "VOP3P",
        "v_pk_maximum3_f16 v1, v2, v3, v4": "VOP3P",
    }
}
"""Instructions that only the later target has, and their encodings."""

_THIRD = {"FLAT": (4, 0), "GLOBAL": (4, 0), "SCRATCH": (4, 0), "MUBUF": (4, 0)}


def _rows(target: str) -> dict[str, _Row]:
    if target.startswith("gfx12"):
        return _RDNA4
    return _RDNA3 if target.startswith("gfx11") else _RDNA2 if target.startswith("gfx10") else _CDNA


_SUFFIX = re.compile(r"_(e32|e64)$")
_LINE = re.compile(r"^\s+(\S+)(.*?)\s*(?://|;) encoding: \[([0-9a-fx,]+)\]", re.MULTILINE)
_WRONG = re.compile(r"\.s:(\d+):\d+: error")


def table(target: str, assembler: str = "llvm-mc-19") -> list[tuple[str, int, str]]:
    """The rows for ``target``, in the order of encodings and opcodes; raises ``OSError`` without an assembler."""
    if target in _LATER:
        return _later(target, assembler)
    return [(*row, _SUFFIX.sub("", text.split()[0])) for row, (text, _) in _disassembled(target, assembler).items()]


def _disassembled(target: str, assembler: str) -> dict[tuple[str, int], tuple[str, int]]:
    """An instruction with its first word by encoding and opcode, in their order."""
    asked = {
        _text(first | opcode << shift, second, *third): (encoding, opcode)
        for encoding, (firsts, shift, count, seconds) in _rows(target).items()
        for opcode in range(count)
        for first in firsts
        for second in reversed(seconds)
        for third in _thirds(target, encoding)
    }
    # In brackets, so that what is not an instruction costs no other.
    done = subprocess.run(
        [assembler, "-disassemble", "-arch=amdgcn", f"-mcpu={target}", "-show-encoding"],
        input="\n".join(f"[{text}]" for text in asked),
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[tuple[str, int], tuple[str, int]] = {}
    short = {text[:19]: row for text, row in asked.items()}
    for mnemonic, operands, text in _LINE.findall(done.stdout):
        row = asked.get(text) or short.get(text)
        if row is not None:
            first = int.from_bytes(bytes(int(byte, 16) for byte in text.split(",")[:4]), "little")
            found[row] = (mnemonic + operands, first)
    return {row: found[row] for row in dict.fromkeys(asked.values()) if row in found}


def _later(target: str, assembler: str) -> list[tuple[str, int, str]]:
    """The rows of ``_LATER`` that are those of ``target`` too, and the new ones."""
    encodings = _rows(target)
    known = _disassembled(_LATER[target], assembler)
    words = _assembled(target, [_valid(text) for text, _ in known.values()])
    rows = []
    for ((encoding, opcode), (text, first)), word in zip(known.items(), words, strict=True):
        _, shift, count, _ = encodings[encoding]
        if word is not None and not (word ^ first) & (0xFC000000 | _field(count) << shift):
            rows.append((encoding, opcode, _SUFFIX.sub("", text.split()[0])))
    for (text, encoding), word in zip(_NEW[target].items(), _assembled(target, list(_NEW[target])), strict=True):
        _, shift, count, _ = encodings[encoding]
        if word is None:
            raise ValueError(f"the assembler does not know {text} of {target}")
        rows.append((encoding, word >> shift & _field(count), text.split()[0]))
    return rows


def _field(count: int) -> int:
    """The bits of an opcode of ``count``."""
    return (1 << (count - 1).bit_length()) - 1


def _valid(text: str) -> str:
    """An instruction as an assembler takes it: scalar operands where they must be, and no overlapping registers."""
    text = re.sub(r"v(\[\d+:\d+\])/\*.*?\*/", r"s\1", text)
    text = re.sub(r"v\d+/\*.*?\*/", "s4", text)
    text = re.sub(r" (abid:\d+|op_sel_hi:\S+)", "", text)
    if text.startswith("v_mfma"):
        text = re.sub(r", v\[4:(\d+)\]$", lambda last: f", v[64:{60 + int(last[1])}]", text)
    return text


def _assembled(target: str, lines: list[str]) -> list[int | None]:
    """The first word of each instruction; ``None`` for those that the assembler refuses."""
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "a.s"), Path(folder, "a.o")

        def assemble(texts: list[str]) -> str:
            source.write_text("".join(f"{text}\n.fill 16 - ((. - .text) & 15), 1, 0\n" for text in texts))
            command = [sys.executable, "-m", "ziglang", "cc", "-target", "amdgcn-amdhsa", f"-mcpu={target}", "-c"]
            done = subprocess.run(
                [*command, source.name, "-o", built.name], cwd=folder, capture_output=True, text=True, check=False
            )
            return done.stderr

        refused = {(int(line) - 1) // 2 for line in _WRONG.findall(assemble(lines))}
        taken = [number for number in range(len(lines)) if number not in refused]
        assemble([lines[number] for number in taken])
        text = _section(built.read_bytes(), b".text")
    words: list[int | None] = [None] * len(lines)
    for place, number in enumerate(taken):
        words[number] = int.from_bytes(text[16 * place : 16 * place + 4], "little")
    return words


def _section(file: bytes, name: bytes) -> bytes:
    """The content of a section of an ELF file."""
    table_at, (size, count, names) = struct.unpack_from("<Q", file, 40)[0], struct.unpack_from("<HHH", file, 58)
    headers = [struct.unpack_from("<II16xQQ", file, table_at + size * number) for number in range(count)]
    for at, _, offset, length in headers:
        if file[headers[names][2] + at :].split(b"\0", 1)[0] == name:
            return file[offset : offset + length]
    raise ValueError(f"the assembler wrote no {name.decode()}")


def _thirds(target: str, encoding: str) -> list[tuple[int, ...]]:
    """The third words to try, none for most encodings."""
    return [(word,) for word in _THIRD[encoding]] if target.startswith("gfx12") and encoding in _THIRD else [()]


def _text(*words: int) -> str:
    return ",".join(f"{byte:#04x}" for word in words for byte in word.to_bytes(4, "little"))


def table_text() -> str:
    """What ``TABLE`` has to hold; raises ``OSError`` without an assembler."""
    columns: dict[tuple[str, str, int], dict[str, int]] = {}
    for target in TARGETS:
        again: Counter[tuple[str, str]] = Counter()
        for encoding, opcode, mnemonic in table(target):
            columns.setdefault((encoding, mnemonic, again[encoding, mnemonic]), {})[target] = opcode
            again[encoding, mnemonic] += 1
    lines = [
        f'{{{encoding}, "{mnemonic}", {{{", ".join(str(found.get(target, -1)) for target in TARGETS)}}}}},\n'
        for (encoding, mnemonic, _), found in sorted(columns.items(), key=lambda row: list(_CDNA).index(row[0][0]))
    ]
    head = "// Made by tests/isa_runtime/opcodes.py. Encoding, mnemonic, and the opcode on each target, or -1:\n"
    return "".join([head, f"// {', '.join(TARGETS)}\n", *lines])


def written(target: str) -> list[tuple[str, int, str]]:
    """The rows of ``TABLE`` for ``target``: encoding, opcode, mnemonic."""
    column = TARGETS.index(target)
    rows = _WRITTEN.findall(TABLE.read_text(encoding="utf-8"))
    found = [(encoding, int(opcodes.split(", ")[column]), mnemonic) for encoding, mnemonic, opcodes in rows]
    return [row for row in found if row[1] >= 0]


if __name__ == "__main__":
    TABLE.write_text(table_text(), encoding="utf-8")
