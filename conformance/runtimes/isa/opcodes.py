"""The tables ``runtime/opcodes_*.inc``, derived from llvm-mc: ``python -m conformance.runtimes.isa.opcodes``.

For each encoding every opcode is written as words and disassembled; what comes out as an instruction is a row of the
table: encoding, opcode, mnemonic. Nothing of the project needs llvm-mc but this.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

_THREE, _TWO, _ONE = 0x04120D04, 0x00020D04, 0x00000104
"""The second word of VOP3: v4, v6, v4, or fewer."""
_VECTOR = 0x104
_LITERAL = 0x3F800000
_Row = tuple[tuple[int, ...], int, int, tuple[int, ...]]

_CDNA: dict[str, _Row] = {
    "SOP1": ((0xBE840004, 0xBE840000, 0xBE800004), 8, 0x100, (_LITERAL,)),
    "SOP2": ((0x80040604,), 23, 0x60, (_LITERAL,)),
    "SOPK": ((0xB0040001,), 23, 0x1A, (_LITERAL,)),
    "SOPC": ((0xBF000604,), 16, 0x80, (_LITERAL,)),
    "SOPP": ((0xBF800000,), 16, 0x80, (_LITERAL,)),
    "SMEM": ((0xC0020001,), 18, 0x100, (0,)),
    "VOP1": ((0x7E040000 | _VECTOR,), 9, 0x100, (_LITERAL,)),
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
    "SMEM": ((0xF4000001,), 18, 0x100, (0xF8000000,)),
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
    "SMEM": ((0xF4000001,), 18, 0x100, (0xFA000000,)),
    "FLAT": ((0xDC000000,), 18, 0x80, (0x027D0604, 0x007D0604, 0x027D0004)),
    "GLOBAL": ((0xDC008000,), 18, 0x80, (0x027D0604, 0x007D0604, 0x027D0004)),
    "SCRATCH": ((0xDC004000,), 18, 0x80, (0x027D0604, 0x007D0604, 0x027D0004)),
    "MUBUF": ((0xE0000000,), 18, 0x80, (0x80000204, 0)),
}
"""Likewise for RDNA 1 and 2."""


_RDNA4: dict[str, _Row] = {
    **{name: _RDNA3[name] for name in (*_SCALAR_AND_SHORT, "VOP3", "VOP3P", "DS")},
    "SMEM": ((0xF4000001,), 13, 0x40, (0xF8000000,)),
    "FLAT": ((0xEC00007C,), 14, 0x100, (0x00000002, 0x03000000, 0x03100002, 0)),
    "GLOBAL": ((0xEE00007C,), 14, 0x100, (0x00000002, 0x03000000, 0x03100002, 0)),
    "SCRATCH": ((0xED00007C,), 14, 0x100, (0x00020002, 0x03020000, 0)),
}
"""Likewise for RDNA 4, whose memory instructions have a third word."""

_THIRD = {"FLAT": (4, 0), "GLOBAL": (4, 0), "SCRATCH": (4, 0)}


def _rows(target: str) -> dict[str, _Row]:
    if target.startswith("gfx12"):
        return _RDNA4
    return _RDNA3 if target.startswith("gfx11") else _RDNA2 if target.startswith("gfx10") else _CDNA


_SUFFIX = re.compile(r"_(e32|e64)$")
_LINE = re.compile(r"^\s+(\S+).*encoding: \[([0-9a-fx,]+)\]", re.MULTILINE)


def table(target: str, assembler: str = "llvm-mc-19") -> list[tuple[str, int, str]]:
    """The rows for ``target``, in the order of encodings and opcodes; raises ``OSError`` without an assembler."""
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
    found: dict[tuple[str, int], str] = {}
    short = {text[:19]: row for text, row in asked.items()}
    for mnemonic, text in _LINE.findall(done.stdout):
        row = asked.get(text) or short.get(text)
        if row is not None:
            found[row] = _SUFFIX.sub("", mnemonic)
    return [(*row, found[row]) for row in dict.fromkeys(asked.values()) if row in found]


def _thirds(target: str, encoding: str) -> list[tuple[int, ...]]:
    """The third words to try, none for most encodings."""
    return [(word,) for word in _THIRD[encoding]] if target.startswith("gfx12") and encoding in _THIRD else [()]


def _text(*words: int) -> str:
    return ",".join(f"{byte:#04x}" for word in words for byte in word.to_bytes(4, "little"))


def main() -> None:
    """Write the table of each target that is named, by default those in the folder."""
    for target in sys.argv[1:] or ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201"]:
        rows = table(target)
        lines = [f'{{Encoding::{encoding}, {opcode}, "{mnemonic}"}},' for encoding, opcode, mnemonic in rows]
        head = f"// Made by conformance/runtimes/isa/opcodes.py from llvm-mc for {target}.\n"
        (HERE / "runtime" / f"opcodes_{target}.inc").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
