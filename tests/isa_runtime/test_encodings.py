"""Every opcode of the tables in the forms of its encodings: what the decoder makes of it, and what llvm-mc prints."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from conformance.runtimes.isa.kind import SAME, TARGETS
from tests.isa_runtime.encodings import NONE, OFF, VCC, Printed, printed
from tests.isa_runtime.machine import ENCODINGS, Machine
from tests.isa_runtime.opcodes import TABLE, table, table_text, written

ASSEMBLER = next((name for name in ("llvm-mc-19", "llvm-mc") if shutil.which(name)), "")
CLAMP, RETURNS = 4, 16
NOP = bytes.fromhex("000080bf")
"""s_nop, which fills the slots of 16 bytes."""
OTHERWISE = (
    "s_set_gpr_idx_on",
    "s_sendmsg_rtn_",
    "s_movrels_",
    "v_accvgpr_",
    "v_interp_",
    "v_permlane16",
    "v_permlanex16",
    "tbuffer_",
    "buffer_load_lds_",
)
"""Operands that are numbers, accumulation registers that only the instruction's name tells, op_sel of no halves, and
buffers with a format or loaded into LDS."""
INDEXED = ("v_smfmac", "v_swmmac")
"""Sparse matrices, whose last operand is an index."""


@dataclass(frozen=True)
class Decoded:
    """A line of ``hipisaDecode``."""

    words: int
    encoding: str
    name: str
    dst: int
    sdst: int
    sources: tuple[int, ...]
    constant: int
    neg: int
    absolute: int
    op_sel: int
    op_sel_hi: int
    neg_hi: int
    omod: int
    flags: int

    @classmethod
    def of(cls, line: list[str]) -> Decoded:
        fields = [int(field) for field in line[4:17]]
        return cls(int(line[1]), ENCODINGS[int(line[2])], line[3], *fields[:2], tuple(fields[2:5]), *fields[5:])


def orders(got: Decoded) -> Iterator[tuple[int, ...]]:
    """The ways in which an instruction of this encoding lists its operands; what is unused stands last."""
    none = [NONE] if got.dst == NONE else [got.dst]
    if got.encoding in ("DS", "FLAT", "GLOBAL", "SCRATCH"):
        address, data, other = got.sources
        memory = got.encoding != "DS"
        yield from ((got.dst, address, data, other), (address, data, other), (got.dst, address, other))
        yield from ((data, other), (got.dst, other), (got.dst,)) if memory else ((data,), (got.dst,))
        return
    heads = [[], none, [got.sdst], [*none, got.sdst]]
    for head in heads:
        yield (*head, *got.sources)
        yield (*head, *got.sources[:2], VCC)
        yield (*head, *got.sources[:1], VCC)


def same(ours: int, theirs: int) -> bool:
    return ours == theirs or (ours == NONE and theirs == OFF)


def difference(got: Decoded, said: Printed) -> str | None:
    """What the decoder has otherwise, or ``None``."""
    if got.name != said.name:
        return f"is {got.name}"
    if got.name.startswith(OTHERWISE) or "lds" in said.modifiers:  # to LDS: is not known
        return None
    if 4 * got.words != len(said.words):
        return f"has {got.words} words"
    if got.encoding in ("SOPP", "SOPK", "SMEM"):
        return _scalar_difference(got, said)
    if got.encoding == "MUBUF":
        return _buffer_difference(got, said)
    count = 3 if got.name.startswith(INDEXED) else len(said.operands)
    found = [order for order in orders(got) if all(map(same, order, said.operands[:count]))]
    if count and not found:
        return f"has the operands {got.dst}, {got.sdst}, {got.sources} for {said.operands}"
    return _modifier_difference(got, said) or _offset_difference(got, said)


def _scalar_difference(got: Decoded, said: Printed) -> str | None:
    registers = [operand for operand in said.operands if 0 <= operand < 128]
    missing = [register for register in registers if register not in (got.dst, *got.sources)]
    return f"lacks the register {missing[0]}" if missing else None


def _buffer_difference(got: Decoded, said: Printed) -> str | None:
    address, data, resource = got.sources
    found = (data, address, resource, got.sdst)
    if not all(map(same, found, said.operands)):
        return f"has the operands {found} for {said.operands}"
    parts = ("offen" in said.modifiers) | ("idxen" in said.modifiers) << 1
    offset = int(said.modifiers.get("offset", "0"))
    if said.operands and (got.op_sel, got.constant) != (parts, offset):
        return f"has the address {got.op_sel:#b} and {got.constant:#x} for {parts:#b} and {offset:#x}"
    returns = said.modifiers.keys() & {"glc", "sc0"} or "RETURN" in said.modifiers.get("th", "")
    differs = "atomic" in got.name and bool(got.flags & RETURNS) != bool(returns)
    return "returns otherwise" if differs else None


def _modifier_difference(got: Decoded, said: Printed) -> str | None:
    if not got.encoding.startswith("VOP"):
        return None
    first = _first_source(got, said)
    for kind, ours, theirs in (("neg", got.neg, said.neg), ("abs", got.absolute, said.absolute)):
        shown = theirs or "_f" in got.name  # of integers the bits mean nothing
        used = (1 << len(said.operands) - first) - 1 if theirs else 1  # the first is a float
        if got.encoding != "VOP3P" and shown and ours & used != theirs >> first:
            return f"has {kind} {ours:#b} for {theirs >> first:#b}"
    if ("clamp" in said.modifiers) != bool(got.flags & CLAMP):
        return "has another clamp"
    wanted = next((value for key, value in (("2", 1), ("4", 2)) if said.modifiers.get("mul") == key), 0)
    if got.omod != (3 if said.modifiers.get("div") == "2" else wanted):
        return f"has omod {got.omod}"
    for key, ours in (
        ("op_sel", got.op_sel),
        ("neg_lo", got.neg),
        ("neg_hi", got.neg_hi),
        ("op_sel_hi", got.op_sel_hi),
    ):
        if key in said.modifiers:
            bits = [int(bit) for bit in re.findall(r"\d", said.modifiers[key])]
            theirs = sum(bit << place for place, bit in enumerate(bits))
            if key == "op_sel" and got.encoding == "VOP3" and len(bits) < 4 and bits[-1]:
                theirs = theirs - (1 << (len(bits) - 1)) + 8
            if ours & ((1 << len(bits)) - 1 | (8 if key == "op_sel" else 0)) != theirs:
                return f"has {key} {ours:#b} for {theirs:#b}"
    return None


def _first_source(got: Decoded, said: Printed) -> int:
    """Which operand is the first source."""
    places = [place for place, operand in enumerate(said.operands) if operand == got.sources[0]]
    return next((place for place in places if place), places[0] if places else 0)


def _offset_difference(got: Decoded, said: Printed) -> str | None:
    if got.encoding not in ("DS", "FLAT", "GLOBAL", "SCRATCH"):
        return None
    if "offset0" in said.modifiers or "offset1" in said.modifiers:
        wanted = int(said.modifiers.get("offset0", "0")) | int(said.modifiers.get("offset1", "0")) << 8
    elif re.fullmatch(r"-?\d+", said.modifiers.get("offset", "0")):
        wanted = int(said.modifiers.get("offset", "0")) & 0xFFFFFFFF
    else:
        return None  # swizzle(...)
    if got.constant != wanted:
        return f"has the offset {got.constant:#x} for {wanted:#x}"
    returns = "atomic" in got.name and len(said.operands) == (3 if got.encoding == "FLAT" else 4)
    return "does not return" if returns and not got.flags & RETURNS else None


FMA = Decoded(2, "VOP3", "v_fma_f32", 320, VCC, (264, 296, 0), 0, 0b101, 0b10, 0, 0, 0, 0, 0)
SAID = Printed("v_fma_f32", "v_fma_f32 v64, -v8, |v40|, -s0", bytes(8), (320, 264, 296, 0), 0b1010, 0b100, {})


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"name": "v_mad_f32"},
        {"words": 1},
        {"dst": 321},
        {"sources": (296, 264, 0)},
        {"neg": 0b100},
        {"absolute": 0},
        {"omod": 1},
        {"flags": CLAMP},
    ],
    ids=str,
)
def test_a_field_that_differs_is_seen(wrong: dict[str, Any]) -> None:
    assert (difference(replace(FMA, **wrong), SAID) is not None) is bool(wrong)


@pytest.mark.nightly("asks llvm-mc for every instruction of every target")
@pytest.mark.skipif(not ASSEMBLER, reason="there is no llvm-mc, which is part of LLVM's tools")
@pytest.mark.parametrize("target", [target for target in TARGETS if target != "gfx950"])  # which LLVM 19 does not know
def test_the_decoder_reads_what_llvm_writes(machine: Machine, target: str) -> None:
    said = printed(target, ASSEMBLER)
    code = b"".join(row.words + NOP * (4 - len(row.words) // 4) for row in said)
    lines = {int(line[0]): line for line in machine.decoded(target, code)}
    wrong = []
    for place, row in enumerate(said):
        found = difference(Decoded.of(lines[16 * place]), row)
        wrong += [f"{row.text} [{row.words.hex(' ', 4)}] {found}"] if found else []
    missing = {name for _, _, name in written(target)} - {row.name for row in said}
    assert (wrong[:200], missing) == ([], set())


@pytest.mark.slow("asks llvm-mc for every instruction of every target")
@pytest.mark.skipif(ASSEMBLER != "llvm-mc-19", reason="there is no llvm-mc-19, of which the table is made")
def test_the_table_is_what_llvm_says() -> None:
    pytest.importorskip("ziglang", reason="there is no newer LLVM, which knows gfx950")
    assert TABLE.read_text(encoding="utf-8") == table_text()


@pytest.mark.nightly("llvm-mc disassembles every opcode of two targets")
@pytest.mark.parametrize("target", SAME)
@pytest.mark.skipif(ASSEMBLER != "llvm-mc-19", reason="there is no llvm-mc-19, of which the table is made")
def test_a_target_that_stands_for_another_one_has_its_instructions(target: str) -> None:
    assert table(target) == table(SAME[target])
