"""Words of every opcode of a target's table in each of its encodings, and what llvm-mc prints of them as numbers."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import product

from tests.isa_runtime.opcodes import written

VECTOR, ACCUMULATION, NONE, LITERAL, VCC = 256, 512, 0xFFFF, 255, 106
OFF = -1
_NUMBERS = {
    "vcc": 106,
    "vcc_lo": 106,
    "vcc_hi": 107,
    "m0": 124,
    "exec": 126,
    "exec_lo": 126,
    "exec_hi": 127,
    "null": 254,
}
_NUMBERS |= {"off": OFF, "src_shared_base": 235, "src_scc": 253, "scc": 253, "0.15915494": 248}
_NUMBERS |= {"0.15915494309189532": 248, "0.15915494309189535": 248}
_FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
_ONE = 0x12345678
_OUTPUT = {"mul:2": 1, "mul:4": 2, "div:2": 3}
_LINE = re.compile(r"^\t(\w+)\s*(.*?)\s*(?://|;) encoding: \[([0-9a-fx,]+)\]", re.MULTILINE)
_SUFFIX = re.compile(r"(_e64_dpp|_e32|_e64|_dpp|_sdwa)$")
_MODIFIER = re.compile(r" (\w+)(?::(\[[^\]]*\]|\S+))?(?= |$)")


def candidates(target: str, encoding: str, opcode: int) -> list[tuple[int, ...]]:
    """Words that may be an instruction, in the forms of the encoding; what is none, llvm-mc refuses."""
    cdna, gfx12 = target.startswith("gfx9"), target.startswith("gfx12")
    three = target.startswith(("gfx11", "gfx12"))
    null = 124 if three else 125
    found: list[tuple[int, ...]]
    short = {
        "SOP1": 0xBE800020 | 16 << 16 | opcode << 8,
        "SOP2": 0x80000020 | opcode << 23 | 16 << 16 | 48 << 8,
        "SOPK": 0xB0000123 | opcode << 23 | 16 << 16,
        "SOPC": 0xBF000020 | opcode << 16 | 48 << 8,
        "SOPP": 0xBF800000 | opcode << 16 | 5,
        "VOP1": 0x7E000000 | 64 << 17 | opcode << 9,
        "VOP2": opcode << 25 | 64 << 17 | 40 << 9,
        "VOPC": 0x7C000000 | opcode << 17 | 40 << 9,
    }
    if encoding in ("VOP1", "VOP2", "VOPC"):
        base = short[encoding]
        plain = [(base | 0x108,), (base | 0x108, _ONE), (base | 32,), (base | 242,), (base | LITERAL, _ONE)]
        if cdna and (encoding, opcode) == ("VOP1", 82):  # v_accvgpr_mov_b32 of a constant, on which llvm-mc 19 crashes
            return plain[:1]
        plain.append((base & ~(255 << 17) | 16 << 17 | 0x108,))  # v_readfirstlane's scalar
        plain.append((base & ~(255 << 17),))  # v_nop
        moved = [(base | 250, 8 | word) for word in (0xFF00B100, 0x5A091100, 0xFF5A0000)]
        parts = [0x06060600, 0x05041500, 0x061E0600, 0x16061600, 0x06860600, 0x86060600, 0x06068600, 0x06062600]
        return plain + moved + [(base | 249, 8 | word) for word in parts]
    if encoding in short:
        base = short[encoding]
        zero_destination = base & ~(127 << 16) if encoding in ("SOP1", "SOPK") else base
        last = [base & ~0xFFFF] if encoding == "SOPP" else [base & ~255]
        last += [zero_destination & ~255 | 0xC1, zero_destination & ~255 | 125] if gfx12 else []
        return [(base,), (base, _ONE), (base & ~255 | LITERAL, _ONE), (zero_destination, _ONE), *((x,) for x in last)]
    if encoding == "VOP3":
        base, second = (0xD0000000 if cdna else 0xD4000000) | opcode << 16, 0x108 | 0x128 << 9
        firsts = (64, 16, 64 | 20 << 8, 16 | 20 << 8, 64 | 2 << 8, 64 | 1 << 11, 64 | 8 << 11, 64 | 1 << 15, 126, 0)
        seconds = [second | third << 18 for third in (0x150, 48, 0, 106)] + [0x108, 32 | 48 << 9, 0x108 | 32 << 9, 0]
        seconds += [
            second | 0x150 << 18 | 5 << 29,
            second | 1 << 29,
            second | 2 << 27,
            0x108 | 1 << 29,
            0x108 | 3 << 27,
        ]
        found: list[tuple[int, ...]] = [
            (base | first, word) for first, word in product(firsts, (seconds[0], seconds[1], seconds[2], seconds[4]))
        ]
        found += [(base | 64, word) for word in seconds]
        if cdna:
            return found
        longer = [(base | 64, second & ~511 | LITERAL | third << 18, _ONE) for third in (0, 0x150)]
        return found + longer + [(base | 64, second & ~511 | 250 | third << 18, 0xFF00B108) for third in (0, 0x150)]
    if encoding == "VOP3P":
        base = (0xD3800000 if cdna else 0xCC000000) | opcode << 16 | 64
        seconds = [0x108 | 0x128 << 9 | third << 18 for third in (0, 0x150, 128)] + [0x108]
        firsts = (0, 1 << 14, 3 << 8, 3 << 11, 1 << 15, 6 << 11 | 1 << 14)
        highs = (0x18000000, 0x08000000, 0, 0x78000000)
        found = [(base | first, second | 0x18000000) for first, second in product(firsts, seconds)]
        return found + [(base | 1 << 14, second | high) for second, high in product(seconds, highs)]
    if encoding == "SMEM":
        if cdna:
            first = 0xC0000000 | opcode << 18 | 2 | 16 << 6
            return [
                (first | 1 << 17, 0x30),
                (first, 20),
                (first | 1 << 17 | 1 << 14, 0x30 | 20 << 25),
                (first, 0),
                (first & ~0x1FC0 | 1 << 17, 0x30),
                (first & ~0x1FFF, 0),
                (first & ~3, 0),
            ]
        first = (0xF4000000 | opcode << 13 if gfx12 else 0xF4000000 | opcode << 18) | 2 | 16 << 6
        found = [(first, null << 25 | 0x30), (first, 20 << 25), (first & ~0x1FFF, null << 25)]
        return [*found, (first & ~0x1FFF, 0), (first & ~3, 0)]
    if encoding == "DS":
        first = 0xD8000000 | opcode << (17 if cdna else 18) | 0x0410
        seconds = (0x40502808, 0x40002808, 0x00502808, 0x00002808, 0x40000008, 0x40000000, 0x00002800, 8, 0)
        return [*((first, second) for second in seconds), (first & ~0xFFFF, 0)]
    if encoding in ("FLAT", "GLOBAL", "SCRATCH"):
        if gfx12:
            first = {"FLAT": 0xEC000000, "SCRATCH": 0xED000000, "GLOBAL": 0xEE000000}[encoding] | opcode << 14
            seconds = [64, 40 << 23, 64 | 40 << 23, 64 | 40 << 23 | 1 << 20, 1 << 17 | 64, 1 << 17 | 40 << 23, 0]
            return [
                (first | base, second, third)
                for base, second, third in product((null, 20), seconds, (8 | 0x10 << 8, 8 | 0xFFFFF0 << 8, 0))
            ]
        segment = {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}[encoding] << (16 if three else 14)
        first = 0xDC000000 | opcode << 18 | segment
        returns, own = 1 << (14 if three else 16), 1 << 13 if cdna else 0
        bases = (0, 127) if cdna else (0, 124) if three else (125,)
        offsets = (0x10, 0x7F0 if encoding == "FLAT" else 0xFF0)
        found = []
        for base, data, address in product((*bases, 20), (64 << 24, 40 << 8, 64 << 24 | 40 << 8, 0), (8, 0)):
            offset = offsets[base == 20 or data == 0]
            for flags in (0, returns, own, own | returns) if own and encoding == "SCRATCH" else (0, returns):
                found.append((first | offset | flags, data | base << 16 | address))
        found.append((first, 64 << 24 | bases[-1] << 16 | 8 | 1 << 23))
        return found
    return _buffers(opcode, gfx12, three, 124 if cdna else null)


def _buffers(opcode: int, gfx12: bool, three: bool, last: int) -> list[tuple[int, ...]]:
    """Of MUBUF, and of RDNA 4's VBUFFER: v64 and v8, s[16:19], and every way to an address.

    ``last`` is a scalar offset: null, or m0 where there is no null.
    """
    forms = product(range(4), (20, last, 132), (0, 0xFF0), (0, 1))
    if gfx12:
        return [
            *((0xC4000000 | opcode << 14 | last, 0, 0),),
            *(
                (
                    0xC4000000 | opcode << 14 | scalar,
                    1 << 23 | parts << 30 | returns << 20 | 16 << 9 | 64,
                    offset << 8 | 8,
                )
                for parts, scalar, offset, returns in forms
            ),
        ]
    first = 0xE0000000 | opcode << 18
    places = 22 if three else 12
    found = [(first, 0), (first, last << 24), (first, 0x84500840), (first, 0x84D00840)]
    for parts, scalar, offset, returns in forms:
        flags = offset | returns << 14 | (0 if three else parts << places)
        found.append((first | flags, scalar << 24 | 4 << 16 | 64 << 8 | 8 | (parts << places if three else 0)))
    return found


@dataclass(frozen=True)
class Printed:
    """An instruction as llvm-mc prints it: operands as numbers (``OFF`` for none), with signs and absolute values."""

    name: str
    text: str
    words: bytes
    operands: tuple[int, ...]
    neg: int
    absolute: int
    modifiers: dict[str, str]


def printed(target: str, assembler: str) -> list[Printed]:
    """Every instruction among the candidates, in one call of ``assembler``."""
    asked = [
        "[" + ",".join(f"{byte:#04x}" for word in words for byte in word.to_bytes(4, "little")) + "]"
        for encoding, opcode, _ in written(target)
        for words in candidates(target, encoding, opcode)
    ]
    command = [assembler, "-disassemble", "-arch=amdgcn", f"-mcpu={target}", "-show-encoding"]
    done = subprocess.run(command, input="\n".join(asked), capture_output=True, text=True, check=False)
    found = {row.words: row for row in map(_parsed, _LINE.findall(done.stdout))}
    given = {bytes.fromhex(text[1:-1].replace("0x", "").replace(",", "")) for text in asked}
    begun = {words[:size] for words in given for size in (4, 8, 12)}
    return [row for words, row in found.items() if words in begun]  # it writes some otherwise than it reads them


def _parsed(found: tuple[str, str, str]) -> Printed:
    name, rest, encoding = found
    rest = re.sub(r"/\*.*?\*/", "", rest)
    parts = re.split(r", (?![^\[(]*[\])])", rest) if rest else []
    modifiers = {}
    if parts:
        parts[-1], modifiers = _without_modifiers(parts[-1])
    operands, neg, absolute = [], 0, 0
    for part in parts:
        operand = part
        if operand.startswith(("-v", "-s", "-|", "-a", "-m", "-e", "-t")) or operand.startswith("neg("):
            neg |= 1 << len(operands)
            operand = operand[4:-1] if operand.startswith("neg(") else operand[1:]
        if operand.startswith(("|", "abs(")):
            absolute |= 1 << len(operands)
            operand = operand[4:-1] if operand.startswith("abs(") else operand[1:-1]
        if operand.startswith("sext("):
            neg |= 0 if name.endswith("_sdwa") else 1 << len(operands)
            operand = operand[5:-1]
        operands.append(number(operand))
    words = bytes(int(byte, 16) for byte in encoding.split(","))
    return Printed(_SUFFIX.sub("", name), f"{name} {rest}", words, tuple(operands), neg, absolute, modifiers)


def _without_modifiers(part: str) -> tuple[str, dict[str, str]]:
    """The last operand, and what stands behind it: an instruction without operands has only that."""
    operand, _, rest = part.partition(" ")
    if re.fullmatch(r"(offset|op_sel|gds|sc0|glc|slc|dlc|nt|sc1)\S*", operand):
        operand, rest = "", part
    return operand, {key: value for key, value in _MODIFIER.findall(" " + rest)}


@cache
def number(text: str) -> int:
    """An operand as ours are numbered; a constant that is none of the inline ones is ``LITERAL``; -2 for others."""
    if text in _NUMBERS:
        return _NUMBERS[text]
    if register := re.fullmatch(r"([vsa]|ttmp)\[?(\d+)(?::\d+\])?(\.[lh])?", text):
        high = 128 if register[3] == ".h" else 0
        return {"v": VECTOR, "a": ACCUMULATION, "s": 0, "ttmp": 108}[register[1]] + int(register[2]) + high
    if re.fullmatch(r"-?\d+", text) and -16 <= int(text) <= 64:
        return 128 + int(text) if int(text) >= 0 else 192 - int(text)
    if re.fullmatch(r"-?\d\.\d", text) and float(text) in _FLOATS:
        return 240 + _FLOATS.index(float(text))
    return LITERAL if re.fullmatch(r"-?(0x[0-9a-f]+|\d+(\.\d+)?)", text) else -2
