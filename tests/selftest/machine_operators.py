"""Changes of single instructions of AMD machine code, of the same length each, as rows of data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tests.isa_runtime.opcodes import written

NOP = 0xBF800000
"""s_nop 0, on every target."""

Field = tuple[int, int, int]
"""A field of an instruction: its word (-1: the last), its lowest bit and its width."""

_SOURCES: dict[str, Field] = {"src0": (0, 0, 9), "src1": (0, 9, 8)}
_LONG: dict[str, Field] = {"dst": (0, 0, 8), "src0": (1, 0, 9), "src1": (1, 9, 9), "src2": (1, 18, 9)}
_LONG |= {"neg": (1, 29, 3)}
_MEMORY: dict[str, Field] = {"op": (0, 18, 7), "offset": (0, 0, 13), "addr": (1, 0, 8), "data": (1, 8, 8)}
FIELDS: dict[str, dict[str, Field]] = {
    "SOP1": {"op": (0, 8, 8), "src0": (0, 0, 8), "dst": (0, 16, 7)},
    "SOP2": {"op": (0, 23, 7), "src0": (0, 0, 8), "src1": (0, 8, 8), "dst": (0, 16, 7)},
    "SOPK": {"op": (0, 23, 5), "imm": (0, 0, 16), "dst": (0, 16, 7)},
    "SOPC": {"op": (0, 16, 7), "src0": (0, 0, 8), "src1": (0, 8, 8)},
    "SOPP": {"op": (0, 16, 7), "imm": (0, 0, 16), "vmcnt": (0, 10, 6), "lgkmcnt": (0, 4, 6)},
    "SMEM": {"op": (0, 18, 8), "offset": (1, 0, 21)},
    "VOP1": {"op": (0, 9, 8), "src0": (0, 0, 9), "dst": (0, 17, 8)},
    "VOP2": {"op": (0, 25, 6), **_SOURCES, "dst": (0, 17, 8)},
    "VOPC": {"op": (0, 17, 8), **_SOURCES},
    "VOP3": {"op": (0, 16, 10), **_LONG, "abs": (0, 8, 3), "op_sel": (0, 11, 4)},
    "VOP3P": {"op": (0, 16, 7), **_LONG, "op_sel": (0, 11, 3)},
    "DS": {"op": (0, 18, 8), "offset": (0, 0, 16), "addr": (1, 0, 8), "data": (1, 8, 8), "dst": (1, 24, 8)},
    **{name: {**_MEMORY, "dst": (1, 24, 8)} for name in ("FLAT", "GLOBAL", "SCRATCH")},
    "VOPD": {"op": (0, 22, 4), "op_y": (0, 17, 5), "src1": (0, 9, 8), "src0_y": (1, 0, 9)},
}
_CDNA: dict[str, dict[str, Field]] = {
    "DS": {"op": (0, 17, 8)},
    "SOPP": {"vmcnt": (0, 0, 4), "lgkmcnt": (0, 8, 4)},  # of vmcnt the low bits
}
MOVED: dict[str, Field] = {"ctrl": (1, 8, 9), "row_mask": (1, 28, 4)}
"""In the word of DPP, which a first operand with number 250 asks for."""
PART: dict[str, Field] = {"part": (1, 16, 3)}
"""In the word of SDWA, which 249 asks for: the part of the first operand."""
LITERAL: dict[str, Field] = {"literal": (-1, 0, 32)}

_VGPR, _SGPR, _INTEGERS, _FLOATS = (256, 510), (0, 98), (128, 191), (240, 247)
_ALL = (0, 1 << 32)
_MEMORIES = ("FLAT", "GLOBAL", "SCRATCH", "DS", "SMEM")
_SHORT, _VECTOR = ("VOP1", "VOP2", "VOPC"), ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P")
_SIZES = {"dwordx4": 16, "b128": 16, "dwordx3": 12, "b96": 12, "dwordx2": 8, "b64": 8, "dword": 4, "b32": 4}
_SIZES |= {"ushort": 2, "sshort": 2, "short": 2, "b16": 2, "u16": 2, "i16": 2, "ubyte": 1, "sbyte": 1, "byte": 1}
_SIZES |= {"b8": 1, "u8": 1, "i8": 1}


@dataclass(frozen=True)
class Operator:
    """In instructions of ``encodings`` with mnemonics ``names``, a change of ``field`` where its value is ``within``:
    ``how`` is to ``add`` or ``xor`` the number ``by``, to ``set`` it, to add that many bytes of an ``element`` that the
    instruction accesses, or to put ``nop`` in the place of all."""

    group: str
    names: str
    encodings: Sequence[str]
    field: str
    how: str
    by: int = 0
    within: tuple[int, int] = _ALL


@dataclass(frozen=True)
class Renamed:
    """In mnemonics of ``encodings``, the words of one for those of the other, where there is such an instruction."""

    group: str
    old: str
    new: str
    encodings: Sequence[str]


OPERATORS: tuple[Operator, ...] = (
    Operator("wait", "s_waitcnt.*", ("SOPP", "SOPK"), "", "nop"),
    Operator("wait", "s_waitcnt", ("SOPP",), "vmcnt", "set", 63),
    Operator("wait", "s_waitcnt", ("SOPP",), "lgkmcnt", "set", 63),
    Operator("wait", "s_waitcnt", ("SOPP",), "vmcnt", "add", 1, (0, 14)),
    Operator("wait", "s_waitcnt", ("SOPP",), "lgkmcnt", "add", 1, (0, 14)),
    Operator("wait states", "s_nop", ("SOPP",), "imm", "set", 0, (1, 15)),
    Operator("barrier", "s_barrier", ("SOPP",), "", "nop"),
    Operator("mask", "s_\\w+_saveexec_b64", ("SOP1",), "src0", "set", 126, (0, 125)),  # exec & exec
    Operator("mask", "s_\\w+_saveexec_b32", ("SOP1",), "src0", "set", 126, (0, 125)),
    Operator("mask", "s_mov_b(32|64)", ("SOP1",), "dst", "nop", 0, (126, 127)),
    Operator("mask", "s_(and|or|xor|and\\w*n\\w+)_b(32|64)", ("SOP2",), "dst", "nop", 0, (126, 127)),
    Operator("mask", "v_cndmask_b(16|32)", ("VOP3",), "src2", "add", 2, _SGPR),
    Operator("lane", "ds_b?permute_b32", ("DS",), "offset", "add", 4),
    Operator("lane", "ds_swizzle_b32", ("DS",), "offset", "xor", 1 << 14),  # of lanes 16 away
    Operator("lane", "v_\\w+", ("DPP",), "ctrl", "xor", 1),
    Operator("lane", "v_\\w+", ("DPP",), "row_mask", "xor", 2),
    Operator("lane", "v_(readlane|writelane)_b32|v_permlane\\w+", ("VOP3",), "src1", "add", 1, (0, 190)),
    Operator("lane", "v_permlane\\w+", ("VOP3",), "src2", "add", 1, (0, 190)),
    Operator("offset", "(global|flat|scratch|ds)_(load|store|read|write|atomic)_.*", _MEMORIES, "offset", "element", 1),
    Operator("offset", "(global|scratch|ds)_(load|store|read|write)_.*", _MEMORIES, "offset", "element", -1),
    Operator("offset", "ds_(load|store|read|write)_?2.*", ("DS",), "offset", "add", 1),
    Operator("offset", "ds_(load|store|read|write)_?2.*", ("DS",), "offset", "add", 1 << 8),
    Operator("offset", "s_load_\\w+", ("SMEM",), "offset", "add", 4),
    Operator("offset", "s_load_\\w+", ("SMEM",), "offset", "add", -4, (4, 1 << 20)),
    Operator("sign", "v_\\w+_f(16|32|64)", ("VOP3",), "neg", "xor", 1),
    Operator("sign", "v_\\w+_f(16|32|64)", ("VOP3",), "neg", "xor", 2),
    Operator("sign", "v_(?!cmp|div_scale|fma_mix)\\w+_f(16|32|64)", ("VOP3",), "abs", "xor", 1),
    Operator("sign", "v_pk_\\w+_f(16|32)", ("VOP3P",), "neg", "xor", 1),
    Operator("half", "v_\\w+", ("VOP3P",), "op_sel", "xor", 1),
    Operator("half", "v_\\w+", ("SDWA",), "part", "xor", 1),
    *(
        Operator("constant", "[sv]_.*", ("SOP1", "SOP2", "SOPC", *_VECTOR), field, how, by, within)
        for field in ("src0", "src1", "src2")
        for how, by, within in (("add", 1, _INTEGERS), ("xor", 1, _FLOATS))
    ),
    Operator("constant", "[sv]_\\w+_[ui](16|32|64)|[sv]_\\w+_b(32|64)", ("LITERAL",), "literal", "add", 1),
    Operator("constant", "s_(movk|addk|mulk|cmpk)\\w+", ("SOPK",), "imm", "add", 1),
    *(Operator("register", "v_.*", _VECTOR, field, "add", 1, _VGPR) for field in ("src0", "src1", "src2")),
    Operator("register", "v_.*", ("VOP2", "VOPC", "VOPD"), "src1", "add", 1, (0, 254)),
    Operator("register", "v_.*", ("VOPD",), "src0_y", "add", 1, _VGPR),
    Operator("register", "v_(?!cmp|read).*", ("VOP1", "VOP2", "VOP3", "VOP3P"), "dst", "add", 1, (0, 254)),
    *(Operator("register", "s_.*", ("SOP1", "SOP2", "SOPC"), f, "add", 1, _SGPR) for f in ("src0", "src1")),
    *(Operator("register", "v_.*", _VECTOR, f, "add", 1, _SGPR) for f in ("src0",)),
    Operator("register", "(global|ds|scratch)_.*", _MEMORIES, "addr", "add", 1, (0, 254)),
    Operator("register", "(global|ds|scratch)_(store|write)_.*", _MEMORIES, "data", "add", 1, (0, 254)),
    Operator("register", "(global|ds|scratch)_(load|read)_.*", _MEMORIES, "dst", "add", 1, (0, 254)),
    Operator("arithmetic", "v_dual", ("VOPD",), "op", "xor", 1, (4, 5)),  # the sum and the difference of floats
    Operator("arithmetic", "v_dual", ("VOPD",), "op", "xor", 1, (10, 11)),  # the maximum and the minimum
    Operator("arithmetic", "v_dual", ("VOPD",), "op_y", "xor", 1, (4, 5)),
    Operator("arithmetic", "v_dual", ("VOPD",), "op_y", "xor", 1, (10, 11)),
)

_ALU = ("SOP1", "SOP2", "VOP1", "VOP2", "VOP3", "VOP3P")
_COMPARES = ("SOPC", "SOPK", "VOPC", "VOP3")


def _both(group: str, encodings: Sequence[str], *pairs: str) -> Iterator[Renamed]:
    for pair in pairs:
        one, other = pair.split()
        yield from (Renamed(group, one, other, encodings), Renamed(group, other, one, encodings))


RENAMED: tuple[Renamed, ...] = (
    Renamed("mask", "and_saveexec", "andn2_saveexec", ("SOP1",)),
    Renamed("mask", "and_saveexec", "and_not1_saveexec", ("SOP1",)),
    Renamed("mask", "or_saveexec", "and_saveexec", ("SOP1",)),
    Renamed("mask", "cmpx", "cmp", ("VOPC",)),
    *_both("lane", ("VOP3",), "mbcnt_lo mbcnt_hi", "permlane16 permlanex16"),
    *_both("lane", ("DS",), "bpermute permute"),
    *_both("width", _MEMORIES, "ubyte sbyte", "u8 i8", "short byte", "ushort ubyte", "u16 u8", "b16 b8"),
    *(
        Renamed("width", old, new, _MEMORIES)
        for old, new in (("dwordx4", "dwordx3"), ("dwordx2", "dword"), ("b128", "b96"), ("b64", "b32"))
    ),
    *_both("compare", _COMPARES, "lt le", "gt ge", "eq ne", "eq lg", "eq neq", "nlt nle", "ngt nge", "o u"),
    *_both("branch", ("SOPP",), "scc0 scc1", "vccz vccnz", "execz execnz"),
    *_both("arithmetic", _ALU, "add sub", "addc subb", "min max", "lshlrev lshrrev", "lshl lshr", "and or", "or xor"),
    *_both("arithmetic", _ALU, "subrev sub", "mul_lo mul_hi", "ashrrev lshrrev", "ashr lshr", "min3 max3"),
    *_both("arithmetic", _ALU, "add_co_ci sub_co_ci"),
    *_both("arithmetic", _MEMORIES, "add sub", "umax umin", "smax smin", "max min"),
)


@dataclass(frozen=True)
class Instruction:
    """One of a kernel: where it is in the code object's memory, and its words."""

    at: int
    encoding: str
    name: str
    words: tuple[int, ...]


@dataclass(frozen=True)
class Mutant:
    """``words`` in the place of those of an instruction; ``change`` says what is different."""

    target: str
    kernel: str
    group: str
    instruction: Instruction
    change: str
    words: tuple[int, ...]

    @property
    def id(self) -> str:
        return f"{self.target} {self.kernel}+{self.instruction.at:#x}: {self.group}: {self.change}"


def get(words: Sequence[int], field: Field) -> int:
    word, low, width = field
    return words[word] >> low & ((1 << width) - 1)


def put(words: Sequence[int], field: Field, value: int) -> tuple[int, ...]:
    word, low, width = field
    mask, found = ((1 << width) - 1) << low, list(words)
    found[word] = found[word] & ~mask | value << low & mask
    return tuple(found)


@cache
def _opcodes(target: str) -> dict[tuple[str, str], int]:
    return {(encoding, name): number for encoding, number, name in written(target)}


def _extra(instruction: Instruction) -> dict[str, dict[str, Field]]:
    """What stands behind the first words: DPP, SDWA or a literal."""
    if len(instruction.words) == 1 or instruction.encoding not in (*_SHORT, "SOP1", "SOP2", "SOPC"):
        return {}
    source = get(instruction.words, FIELDS[instruction.encoding]["src0"])
    kind = {250: "DPP", 249: "SDWA"}.get(source, "LITERAL") if instruction.encoding in _SHORT else "LITERAL"
    return {kind: {"DPP": MOVED, "SDWA": PART, "LITERAL": LITERAL}[kind]}


@cache
def _applying(name: str) -> tuple[Operator, ...]:
    return tuple(row for row in OPERATORS if re.fullmatch(row.names, name))


@cache
def _others(encoding: str, name: str, target: str) -> tuple[tuple[str, str, int], ...]:
    """Group, mnemonic and opcode of what ``RENAMED`` makes of a mnemonic."""
    found = []
    for row in RENAMED:
        other = re.sub(rf"(?<=_){row.old}(?=_|$)", row.new, name, count=1)
        number = _opcodes(target).get((encoding, other))
        if encoding in row.encodings and other != name and number is not None:
            found.append((row.group, other, number))
    return tuple(found)


def _size(name: str) -> int:
    return next((_SIZES[word] for word in reversed(name.split("_")) if word in _SIZES), 4)


def _changed(row: Operator, name: str, field: Field, value: int) -> int:
    by = row.by
    new = {"add": value + by, "xor": value ^ by, "set": by, "element": value + by * _size(name)}[row.how]
    return new & ((1 << field[2]) - 1)


def mutants_of(target: str, kernel: str, instruction: Instruction) -> Iterator[Mutant]:
    """Every mutant of an instruction, whether a processor could decode it or not; none twice."""
    encoding, name, words = instruction.encoding, instruction.name, instruction.words
    fields = {encoding: {**FIELDS.get(encoding, {}), **(_CDNA.get(encoding, {}) if target.startswith("gfx9") else {})}}
    fields |= _extra(instruction)
    seen = {words}
    found = []
    for row in _applying(name):
        place = next((fields[one] for one in row.encodings if one in fields), {})
        if row.field not in place and (row.how != "nop" or row.field or not place):
            continue
        value = get(words, place[row.field]) if row.field else 0
        if not row.within[0] <= value <= row.within[1]:
            continue
        if row.how == "nop":
            found.append((row.group, f"{name} -> s_nop", (NOP,) * len(words)))
            continue
        new = _changed(row, name, place[row.field], value)
        found.append((row.group, f"{name}: {row.field} {value:#x} -> {new:#x}", put(words, place[row.field], new)))
    for group, other, number in _others(encoding, name, target):
        found.append((group, f"{name} -> {other}", put(words, fields[encoding]["op"], number)))
    for group, change, new_words in found:
        if new_words not in seen:
            seen.add(new_words)
            yield Mutant(target, kernel, group, instruction, change, new_words)
