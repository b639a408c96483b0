"""Products that lose the sign of zero in AMD machine code.

LLVM, up to 22 at least, makes ``v_fma_mixlo_f16 d, a, b, 0`` of a float product that is rounded to f16: one
instruction for two, but -0 + +0 is +0 (``LLVM_ISSUE``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from conformance.port.code_objects import DAMAGE, CodeObject, functions
from conformance.port.instructions import generation, instructions
from conformance.port.line_tables import LineTable, read_line_table

LLVM_ISSUE = "llvm-project pull request 214544"

_PREFIX = {9: 0xD3800000, 10: 0xCC000000, 11: 0xCC000000, 12: 0xCC000000}
"""VOP3P with opcode 0."""
_OPCODES = {0x21: "v_fma_mixlo_f16", 0x22: "v_fma_mixhi_f16"}
_OPCODE_BITS = 0xFFFF0000
_DIV_FIXUP = {9: (0xD1EF0000, 0xD2070000), 10: (0xD75F0000,), 11: (0xD6540000,), 12: (0xD6540000,)}
"""v_div_fixup_f16, which gives the quotient that it is handed its sign back: LLVM's division of halves."""
_ZERO = 128
_NEGATED = 1 << 31


@dataclass(frozen=True)
class LostSign:
    """The instructions in one function, or in one of its source lines, that round the sum of a product and +0 to f16.

    ``place`` is ``FILE:LINE`` where the code object has a line table.
    """

    function: str
    mnemonic: str
    count: int
    place: str | None

    @property
    def message(self) -> str:
        """The finding's sentence."""
        times = "" if self.count == 1 else f" ({self.count} times)"
        return (
            f"rounds a product to f16 by {self.mnemonic} with the addend +0{times}, which loses the sign of zero: "
            f"-0 + +0 is +0; that instruction is the compiler's choice ({LLVM_ISSUE}) and no error of the port; "
            'where the sign matters, asm("" : "+v"(x)) hides the product x from the compiler'
        )


def lost_signs(code: CodeObject) -> list[LostSign]:
    """The places in ``code`` that lose the sign of zero, by function and line, in the order of the code.

    A square has no sign to lose, and a quotient gets its sign back; both are left out. For a target whose encodings are
    not known here nothing is reported.
    """
    gen = generation(code.target)
    if gen is None or not code.elf:
        return []
    try:
        elf = ELFFile(BytesIO(code.elf))
        lines = None
        counts: dict[tuple[str, str, str | None], int] = {}
        for function, address, mnemonic in _found(elf, gen):
            lines = lines or read_line_table(code.elf)
            key = (function, mnemonic, _place(lines, address))
            counts[key] = counts.get(key, 0) + 1
    except DAMAGE:
        return []
    return [LostSign(function, mnemonic, count, place) for (function, mnemonic, place), count in counts.items()]


def _found(elf: ELFFile, gen: int) -> Iterator[tuple[str, int, str]]:
    """Function, address and mnemonic of each such instruction."""
    names = {_PREFIX[gen] | opcode << 16: name for opcode, name in _OPCODES.items()}
    for name, address, body in functions(elf):
        words = np.frombuffer(body, "<u4", len(body) // 4)
        if not np.isin(words & _OPCODE_BITS, list(names)).any():
            continue  # nearly all functions: their instructions need not be decoded
        held: dict[int, tuple[str, int, str]] = {}  # by the register that the product is written to
        for offset, instruction in instructions(body, gen):
            kind = instruction[0] & _OPCODE_BITS
            if len(instruction) < 2:
                continue
            register = instruction[0] & 0xFF
            if kind in names:
                if register in held:
                    yield held.pop(register)
                if _adds_zero(instruction[0], instruction[1]):
                    held[register] = (name, address + offset, names[kind])
            elif kind in _DIV_FIXUP[gen]:
                held.pop((instruction[1] & 0x1FF) - 256, None)
        yield from held.values()


def _adds_zero(first: int, second: int) -> bool:
    square = (second & 0x1FF) == (second >> 9 & 0x1FF) and (second >> 29 & 1) == (second >> 30 & 1)
    halves = ((first >> 11 & 1) == (first >> 12 & 1)) and ((second >> 27 & 1) == (second >> 28 & 1))
    return (second >> 18 & 0x1FF) == _ZERO and not second & _NEGATED and not (square and halves)


def _place(table: LineTable, address: int) -> str | None:
    """The port's own line that the instruction at ``address`` comes from, its file relative to the current folder where
    it lies in that."""
    found = table.own(address)
    if found is None:
        return None
    path, here = Path(found[0]), Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{found[1]}"
