"""Instructions of the vector unit, many in one launch: their results over 512 lanes, by instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.isa_runtime.code import code_object
from tests.isa_runtime.instructions.words import OLD, VCC, ZERO, Target, v
from tests.isa_runtime.machine import Machine

Array = NDArray[Any]
LANES = 512
MASK = 0x9E3779B9
"""In each half of VCC: the carries, conditions and scales that an instruction takes."""
CONSTANT = 0x4049_4248
"""The literal of an instruction that has one, as f32 and as a pair of f16 a plain number."""
REST = 0x5A5A5A5A
"""What is above an operand of less than 64 bits in its registers."""
A, B, C, OUT = 4, 6, 8, 10
LANE = np.arange(LANES)
TAKEN = (np.uint64(MASK) >> (LANE % 32).astype(np.uint64) & np.uint64(1)).astype(bool)
"""The bit of ``MASK`` that each lane has."""

SPECIAL_BITS = {
    np.float16: (
        *(0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBE00),
        *(0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x6801, 0x3555),
    ),
    np.float32: (
        *(0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBFC00000),
        *(0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x4F000000, 0x3EAAAAAB),
    ),
    np.float64: (
        *(0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, 0x3FF << 52, 0xBFF8 << 48),
        *((0x7FF << 52) - 1, (0xFFF << 52) - 1, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0x7FF << 52) + 1),
        *(0x41E << 52, 0x3FD5555555555555),
    ),
}
"""Zeros, subnormal numbers and the least normal one, 1, -1.5, the largest, infinities, NaNs, a signalling one."""


def special(kind: Any) -> Array:
    if kind in SPECIAL_BITS:
        return np.array(SPECIAL_BITS[kind], f"u{np.dtype(kind).itemsize}").view(kind)
    bits = 8 * np.dtype(kind).itemsize
    ends = [0, 1, 2, 3, 31, 32, 33, 63, 1 << 15, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, (1 << bits) - 31]
    return np.array([*ends, 0xFF80, 0x7F80, 0xAAAA], np.uint64).astype(f"u{bits // 8}").view(kind)


def operands(kinds: tuple[Any, ...]) -> list[Array]:
    """Every pair of special values, with a third, then random bits; floats of these are near each other."""
    found = []
    for place, kind in enumerate(kinds):
        random = np.random.default_rng(place + 1)
        few = special(kind)
        order = (LANE // 16, LANE, LANE // 16 + 3 * LANE)[place] % 16
        some = random.integers(0, 256, LANES * np.dtype(kind).itemsize, np.uint8).view(kind)
        if kind in SPECIAL_BITS:
            near = np.ldexp(random.uniform(-1, 1, LANES), random.integers(-9, 9, LANES)).astype(kind)
            some = np.where(LANE % 4 == 3, some, near)
        found.append(np.where(LANE < 256, few[order], some).astype(kind))
    return found


@dataclass(frozen=True)
class Row:
    """An instruction, in all its spellings, and what numpy says of it.

    ``result`` is a numpy type, ``bool`` for a bit of each lane in a mask. On CDNA a result of 16 bits leaves the other
    half of its register alone if it ``keeps`` that; on RDNA it always does. ``domain`` makes of any operands those that
    the documents define. ``form`` says where operands and results are (``FORMS``).
    """

    names: str
    result: Any
    sources: tuple[Any, ...]
    function: Callable[..., Array]
    form: str = "plain"
    keeps: bool = False
    domain: Callable[[list[Array]], list[Array]] | None = None

    def given(self) -> list[Array]:
        found = operands(self.sources)
        return self.domain(found) if self.domain else found


Form = Callable[[Target, str, tuple[int, ...]], list[int]]
MASK_TO = 20
"""The scalar registers of a mask that an instruction writes."""


def _flag(target: Target) -> list[int]:
    return [*target.settle(), *target.flag(OUT, MASK_TO)]


def _plain(target: Target, name: str, sources: tuple[int, ...]) -> list[int]:
    if target.has("VOP3P", name):
        return target.vop3p(name, *sources)
    return target.vop3(name, *sources)


def _mask(target: Target, name: str, sources: tuple[int, ...]) -> list[int]:
    return [*target.vop3(name, *sources, out=MASK_TO), *_flag(target)]


def _carry(target: Target, name: str, sources: tuple[int, ...]) -> list[int]:
    return [*target.vop3(name, *sources, modifiers=MASK_TO), *_flag(target)]


def _carry_in(target: Target, name: str, sources: tuple[int, ...]) -> list[int]:
    return target.vop3(name, *sources, VCC, modifiers=MASK_TO)


def _to_exec(target: Target, name: str, sources: tuple[int, ...]) -> list[int]:
    clear, then = target.vector(OUT, ZERO), target.vector(OUT, ZERO + 1)
    return [*clear, *target.vop3(name, *sources, out=MASK_TO), *then, *target.everybody()]


def _accumulates(target: Target, name: str, sources: tuple[int, ...]) -> list[int]:
    before = [*target.vector(OUT, v(C)), *target.vector(OUT + 1, v(C + 1))]
    if target.has("VOP3", name):
        return [*before, *target.vop3(name, *sources[:2])]
    return [*before, *target.vop2(OUT, sources[0], sources[1] - v(0), names=(name,))]


FORMS: dict[str, Form] = {
    "plain": _plain,
    "mask": _mask,
    "carry": _carry,
    "value and carry": lambda target, name, sources: target.vop3(name, *sources, modifiers=MASK_TO),
    "carry in": _carry_in,
    "carry in and out": lambda target, name, sources: [*_carry_in(target, name, sources), *_flag(target)],
    "condition": lambda target, name, sources: target.vop3(name, *sources, VCC),
    "exec": _to_exec,
    "accumulates": _accumulates,
    "literal": lambda target, name, sources: target.vop2(OUT, sources[0], B, CONSTANT, names=(name,)),
    "floats": lambda target, name, sources: target.vop3p(name, *sources, op_sel_hi=0),
    "high halves": lambda target, name, sources: target.vop3p(name, *sources, op_sel=7),
    "crossed": lambda target, name, sources: target.vop3p(name, *sources, op_sel=5, op_sel_hi=2, neg=2),
}


def results(machine: Machine, target: Target, rows: list[tuple[str, Row]]) -> NDArray[np.uint64]:
    """v[10:11] of each lane after each instruction; the rows have the same sources."""
    load, store = target.move(2)
    words = [*target.scalar_load("s_load_b256" if target.generation > 10 else "s_load_dwordx8", 8, 0)]
    words += [
        *target.shifted(1, 3, 0),
        *target.scalar(16, OLD),
        *target.scalar(VCC, MASK),
        *target.scalar(VCC + 1, MASK),
    ]
    words += target.wait()
    for register, base in ((A, 8), (B, 10), (C, 12)):
        words += target.memory("GLOBAL", load, to=register, address=1, base=base)
    words += target.wait()
    for name, row in rows:
        words += [*target.vector(OUT, 16), *target.vector(OUT + 1, 16)]
        sources = tuple(v(register) for register in (A, B, C)[: len(row.sources)])
        words += [*FORMS[row.form](target, name, sources), *target.settle()]
        words += [*target.memory("GLOBAL", store, data=OUT, address=1, base=14), *target.add(1, 8 * LANES)]
        words += target.settle()
    file = code_object([*words, *target.end()], target=target.name, wave=target.wave)
    given = [padded(array) for array in rows[0][1].given()]
    given += [np.zeros(LANES, np.uint64)] * (3 - len(given))
    out = np.zeros((len(rows), LANES), np.uint64)
    failed, message, after = machine.launch(file, *given, out, block=LANES)
    assert failed == 0, f"{target.name}: {message}"
    return after[3]


def padded(array: Array) -> NDArray[np.uint64]:
    """In the low bytes of 8-byte slots; the rest must not matter."""
    whole = np.full((LANES, 8), REST & 0xFF, np.uint8)
    whole[:, : array.itemsize] = array.view(np.uint8).reshape(LANES, -1)
    return whole.view(np.uint64).ravel()


def equal(found: Array, expected: Array) -> Array:
    """Bit by bit, but for the payload of a NaN."""
    bits = f"u{expected.itemsize}"
    right = found.view(bits) == expected.view(bits)
    return right | np.isnan(found) & np.isnan(expected) if expected.dtype.kind == "f" else right


def difference(target: Target, row: Row, got: NDArray[np.uint64]) -> str | None:
    """The first lane whose result is not numpy's, or ``None``."""
    sources = row.given()
    with np.errstate(all="ignore"):
        expected = np.asarray(row.function(*sources))
    kind = np.uint32 if row.result is bool else row.result
    expected = expected.astype(kind)
    size = expected.itemsize
    found = np.ascontiguousarray(got).view(kind).reshape(LANES, -1)[:, 0]
    right = equal(found, expected)
    above = got >> np.uint64(16) & np.uint64(0xFFFF) if size == 2 else got >> np.uint64(32)
    clears = size == 2 and not (row.keeps or target.generation > 9)
    before = REST if row.form == "accumulates" else OLD
    if size < 8 and row.result is not bool:
        right &= above == (0 if clears else before & (0xFFFF if size == 2 else 0xFFFFFFFF))
    if right.all():
        return None
    lane = int(np.flatnonzero(~right)[0])
    return f"of {[array[lane] for array in sources]} is {found[lane]!r} ({int(got[lane]):#x}), not {expected[lane]!r}"
