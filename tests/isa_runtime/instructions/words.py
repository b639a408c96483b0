"""Words of instructions for any target, without an assembler: the opcodes are those of the target's table."""

from __future__ import annotations

from dataclasses import dataclass

from tests.isa_runtime.code import VECTOR, table

OLD = 0x11111111
"""What registers hold that an instruction should write."""
VCC, EXEC, LITERAL = 106, 126, 255
ZERO, ONE, MINUS_ONE = 128, 129, 193
NOTHING = 1000
"""As an operand: none."""


@dataclass(frozen=True)
class Target:
    """A target's encodings; ``wave`` is the size of its waves here."""

    name: str

    @property
    def generation(self) -> int:
        """Of the instruction set: 9 (Vega, CDNA) to 12 (RDNA 4)."""
        return int(self.name[3:-2])

    @property
    def wave(self) -> int:
        return 64 if self.generation == 9 else 32

    @property
    def null(self) -> int:
        return 124 if self.generation > 10 else 125

    def has(self, encoding: str, name: str) -> bool:
        return (encoding, name) in table(self.name)

    def opcode(self, encoding: str, *names: str) -> int:
        """Of the first of ``names`` that the target has."""
        return next(table(self.name)[encoding, name] for name in names if self.has(encoding, name))

    def sop1(self, name: str, to: int, source: int, *literal: int) -> list[int]:
        return [0xBE800000 | to << 16 | self.opcode("SOP1", name) << 8 | source, *literal]

    def sop2(self, name: str, to: int, first: int, second: int, *literal: int) -> list[int]:
        return [0x80000000 | self.opcode("SOP2", name) << 23 | to << 16 | second << 8 | first, *literal]

    def sopk(self, name: str, to: int, value: int) -> list[int]:
        return [0xB0000000 | self.opcode("SOPK", name) << 23 | to << 16 | value & 0xFFFF]

    def sopc(self, name: str, first: int, second: int) -> list[int]:
        return [0xBF000000 | self.opcode("SOPC", name) << 16 | second << 8 | first]

    def sopp(self, name: str, value: int = 0) -> list[int]:
        return [0xBF800000 | self.opcode("SOPP", name) << 16 | value & 0xFFFF]

    def vop1(self, name: str, to: int, source: int, *literal: int) -> list[int]:
        return [0x7E000000 | to << 17 | self.opcode("VOP1", name) << 9 | source, *literal]

    def vop2(self, to: int, source: int, register: int, *literal: int, names: tuple[str, ...]) -> list[int]:
        return [self.opcode("VOP2", *names) << 25 | to << 17 | register << 9 | source, *literal]

    def vop3(self, name: str, *sources: int, out: int = 10, modifiers: int = 0, neg: int = 0) -> list[int]:
        """``modifiers`` are bits 8 and up of the first word: absolute values, op_sel, or a mask's destination."""
        base = 0xD0000000 if self.generation == 9 else 0xD4000000
        second = sum(source << 9 * place for place, source in enumerate(sources))
        return [base | self.opcode("VOP3", name) << 16 | modifiers << 8 | out, second | neg << 29]

    def vop3p(
        self, name: str, *sources: int, op_sel: int = 0, op_sel_hi: int = 7, neg: int = 0, out: int = 10
    ) -> list[int]:
        base = 0xD3800000 if self.generation == 9 else 0xCC000000
        second = sum(source << 9 * place for place, source in enumerate(sources))
        first = base | self.opcode("VOP3P", name) << 16 | (op_sel_hi >> 2) << 14 | op_sel << 11 | out
        return [first, second | (op_sel_hi & 3) << 27 | neg << 29]

    def scalar_load(self, name: str, to: int, base: int, offset: int = 0, register: int | None = None) -> list[int]:
        opcode = self.opcode("SMEM", name)
        if self.generation == 9:
            flags = 1 << 17 | (0 if register is None else 1 << 14)
            return [0xC0000000 | opcode << 18 | flags | to << 6 | base >> 1, (register or 0) << 25 | offset]
        at = self.null if register is None else register
        return [0xF4000000 | opcode << (13 if self.generation == 12 else 18) | to << 6 | base >> 1, at << 25 | offset]

    def memory(
        self,
        encoding: str,
        name: str,
        *,
        to: int = 0,
        data: int = 0,
        address: int | None = None,
        base: int | None = None,
        offset: int = 0,
        returns: bool = False,
    ) -> list[int]:
        """A load, store or atomic operation with FLAT, GLOBAL or SCRATCH."""
        opcode, own = self.opcode(encoding, name), address is not None
        segment = ("FLAT", "SCRATCH", "GLOBAL").index(encoding)
        if self.generation == 12:
            first = 0xEC000000 | segment << 24 | opcode << 14 | (self.null if base is None else base)
            flags = (1 << 17 if own and segment == 1 else 0) | (1 << 20 if returns else 0)
            return [first, data << 23 | flags | to, offset << 8 | (address or 0)]
        first = 0xDC000000 | opcode << 18 | segment << (16 if self.generation == 11 else 14) | offset
        first |= (1 << (14 if self.generation == 11 else 16)) if returns else 0
        second = to << 24 | data << 8 | (address or 0)
        if self.name in ("gfx942", "gfx950") and segment == 1 and own:
            first |= 1 << 13
        if self.generation == 11 and segment == 1 and own:
            second |= 1 << 23
        none = 127 if self.generation == 9 else self.null
        return [first, second | (0 if segment == 0 else none if base is None else base) << 16]

    def buffer(
        self,
        name: str,
        data: int,
        resource: int,
        *,
        offsets: int | None = None,
        index: int | None = None,
        scalar: int = ZERO,
        offset: int = 0,
        returns: bool = False,
    ) -> list[int]:
        """A load, store or atomic operation with MUBUF; ``index`` is the register before ``offsets`` if both are given.

        ``scalar`` is a scalar register or a constant, which RDNA 4 has not: it is null there.
        """
        opcode, address = self.opcode("MUBUF", name), offsets if index is None else index
        parts = (offsets is not None) | (index is not None) << 1
        if self.generation == 12:
            first = 0xC4000000 | opcode << 14 | (self.null if scalar == ZERO else scalar)
            return [first, parts << 30 | returns << 20 | resource << 9 | data, offset << 8 | (address or 0)]
        first = 0xE0000000 | opcode << 18 | returns << 14 | offset | (parts << 12 if self.generation < 11 else 0)
        second = scalar << 24 | resource >> 2 << 16 | data << 8 | (address or 0)
        return [first, second | (parts << 22 if self.generation == 11 else 0)]

    @property
    def raw(self) -> int:
        """The last word of a resource whose records are bytes."""
        return 4 << 15 if self.generation == 9 else 20 << 12 | 3 << 28

    def lds(
        self, name: str, *, to: int = 0, address: int = 0, data: tuple[int, ...] = (), offset: int = 0
    ) -> list[int]:
        first = 0xD8000000 | self.opcode("DS", name) << (17 if self.generation == 9 else 18) | offset
        return [first, to << 24 | sum(register << 8 * (place + 1) for place, register in enumerate(data)) | address]

    def scalar(self, to: int, value: int) -> list[int]:
        """Sets a scalar register."""
        return self.sop1("s_mov_b32", to, LITERAL, value)

    def vector(self, to: int, source: int) -> list[int]:
        """Sets a vector register to an operand."""
        return self.vop1("v_mov_b32", to, source)

    def add(self, register: int, value: int) -> list[int]:
        """Adds to a vector register."""
        return self.vop2(register, LITERAL, register, value, names=("v_add_nc_u32", "v_add_u32"))

    def shifted(self, to: int, count: int, register: int) -> list[int]:
        return self.vop2(to, ZERO + count, register, names=("v_lshlrev_b32",))

    def wait(self) -> list[int]:
        """For everything that is in flight."""
        if self.generation < 12:
            return self.sopp("s_waitcnt")
        return [*self.sopp("s_wait_loadcnt_dscnt"), *self.sopp("s_wait_kmcnt"), *self.sopp("s_wait_storecnt_dscnt")]

    def settle(self) -> list[int]:
        """The wait states that any instruction asks for."""
        return [*self.sopp("s_nop", 15), *self.sopp("s_nop", 3)]

    def everybody(self) -> list[int]:
        """Sets EXEC to all lanes."""
        return self.sop1("s_mov_b64", EXEC, MINUS_ONE)

    def flag(self, to: int, mask: int) -> list[int]:
        """A vector register of 1 for the lanes of a mask in scalar registers, and 0."""
        return self.vop3("v_cndmask_b32", ZERO, ONE, mask, out=to)

    def end(self) -> list[int]:
        return self.sopp("s_endpgm")

    def move(self, words: int) -> tuple[str, str]:
        """The mnemonics that load and store so many words to global memory."""
        old, new = {1: ("dword", "b32"), 2: ("dwordx2", "b64"), 4: ("dwordx4", "b128")}[words]
        suffix = new if self.generation > 10 else old
        return f"global_load_{suffix}", f"global_store_{suffix}"


GENERATIONS = {
    9: ("gfx942", "gfx90a", "gfx950", "gfx906"),
    10: ("gfx1030",),
    11: ("gfx1151", "gfx1100"),
    12: ("gfx1201",),
}
"""Targets by generation; the first that has an instruction executes it."""


def v(register: int) -> int:
    return VECTOR + register
