"""Instructions of the scalar unit, many in one launch: what they write over 512 sets of operands, each a block's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.isa_runtime.code import code_object
from tests.isa_runtime.instructions.vector import CONSTANT, LANES, REST, Array, equal, operands
from tests.isa_runtime.instructions.words import EXEC, OLD, ONE, ZERO, Target
from tests.isa_runtime.machine import Machine

CASES = LANES
A, B, C, SCC_IN, TO, SCC_OUT, EXEC_OUT, SAVED = 20, 22, 24, 26, 28, 30, 34, 16
CONSTANTS = (0, 5, -7, 0x7FFF, -0x8000)
"""What instructions with a constant of 16 bits have in it."""


@dataclass(frozen=True)
class Case:
    """The operands of all cases. ``d`` is what the destination held, ``k`` the instruction's constant."""

    a: Any
    b: Any
    d: Any
    exec: Any
    scc: Any
    k: int


Value = Callable[[Case], Array]
Scc = Callable[[Case, Array], Array]


def kept(case: Case, result: Array) -> Array:
    """SCC is as it was."""
    return np.asarray(case.scc)


def not_zero(case: Case, result: Array) -> Array:
    return result != 0


@dataclass(frozen=True)
class Row:
    """An instruction, in all its spellings, and what numpy says of its result and of SCC after it.

    The result has the type ``result``; ``None`` is for none. It is EXEC with ``to_exec``; with ``reads`` the
    destination is an operand too, of that type.
    """

    names: str
    result: Any
    sources: tuple[Any, ...]
    function: Value
    scc: Scc = kept
    reads: Any = None
    to_exec: bool = False
    literal: bool = False


def encoding(target: Target, name: str) -> str | None:
    return next((e for e in ("SOP1", "SOP2", "SOPC", "SOPK", "VOP3") if target.has(e, name)), None)


def instruction(target: Target, name: str, row: Row, constant: int) -> list[int]:
    which, literal = encoding(target, name), [CONSTANT] if row.literal else []
    if which == "SOP1":
        return target.sop1(name, TO, A)
    if which == "SOP2":
        return target.sop2(name, TO, A, B, *literal)
    if which == "SOPC":
        return target.sopc(name, A, B)
    if which == "VOP3":
        return [*target.settle(), *target.vop3(name, A, out=TO), *target.settle()]
    return target.sopk(name, TO, constant)


Entry = tuple[str, Row, int]
"""A mnemonic, its row, and the constant of 16 bits that it has."""


def case_of(row: Row, constant: int) -> Case:
    given = operands((*row.sources, np.uint64, np.uint64)[:2])
    kind = row.reads or np.uint64
    (before,) = operands((kind,))
    if row.reads is None:
        before = np.full(CASES, OLD << 32 | OLD, np.uint64)
    mask = np.roll(operands((np.uint64,))[0], 5)
    return Case(given[0], given[1], before, mask, np.arange(CASES) // 3 % 2 == 1, constant)


def padded(array: Array) -> NDArray[np.uint64]:
    whole = np.full((CASES, 8), REST & 0xFF, np.uint8)
    whole[:, : array.itemsize] = array.view(np.uint8).reshape(CASES, -1)
    return whole.view(np.uint64).ravel()


def results(machine: Machine, target: Target, entries: list[Entry]) -> tuple[NDArray[np.uint64], Array]:
    """The result and SCC of each case after each instruction; the rows have the same operands."""
    case = case_of(*entries[0][1:])
    masks = case.exec if target.wave == 64 else case.exec & np.uint64(0xFFFFFFFF)
    given = np.stack([padded(case.a), padded(case.b), masks, case.scc.astype(np.uint64)], axis=1)
    before = padded(case.d)
    loads = ("s_load_b64", "s_load_b256") if target.generation > 10 else ("s_load_dwordx2", "s_load_dwordx8")
    block = 117 if target.generation == 12 else 2
    words = [*target.scalar_load("s_load_b128" if target.generation > 10 else "s_load_dwordx4", 8, 0)]
    words += [*target.scalar_load(loads[0], 12, 0, 16), *target.sop2("s_lshl_b32", 3, block, ZERO + 5)]
    words += [*target.sop2("s_lshl_b32", 4, block, ZERO + 3), *target.wait()]
    words += [*target.scalar_load(loads[1], A, 8, register=3), *target.scalar_load(loads[0], SAVED, 10, register=4)]
    words += [*target.vector(1, 4), *target.shifted(1, 1, 1), *target.wait()]
    store = "global_store_b128" if target.generation > 10 else "global_store_dwordx4"
    for name, row, constant in entries:
        words += [*target.sop1("s_mov_b64", TO, SAVED), *target.sop1("s_mov_b64", EXEC, C)]
        words += target.sopc("s_cmp_lg_u32", SCC_IN, ZERO)
        words += instruction(target, name, row, constant)
        words += [*target.sop2("s_cselect_b32", SCC_OUT, ONE, ZERO), *target.sop1("s_mov_b64", EXEC_OUT, EXEC)]
        words += target.sop1("s_mov_b64", EXEC, ONE)
        kept_in = EXEC_OUT if row.to_exec else TO
        for register, source in enumerate((kept_in, kept_in + 1, SCC_OUT, ZERO), 10):
            words += target.vector(register, source)
        words += [*target.memory("GLOBAL", store, data=10, address=1, base=12), *target.settle()]
        words += target.add(1, 16 * CASES)
    file = code_object([*words, *target.end()], ("global_buffer",) * 3, target=target.name, wave=target.wave)
    out = np.zeros((len(entries), CASES, 2), np.uint64)
    failed, message, after = machine.launch(file, given, before, out, grid=CASES, block=target.wave)
    assert failed == 0, f"{target.name}: {message}"
    return after[2][:, :, 0], after[2][:, :, 1] != 0


def difference(target: Target, row: Row, constant: int, got: NDArray[np.uint64], scc: Array) -> str | None:
    """The first case whose result or SCC is not numpy's, or ``None``; NaN equals NaN."""
    case = case_of(row, constant)
    if target.wave == 32:
        case = Case(case.a, case.b, case.d, case.exec & np.uint64(0xFFFFFFFF), case.scc, constant)
    with np.errstate(all="ignore"):
        result = np.asarray(row.function(case))
    expected, kind = result.astype(row.result or np.uint64), row.result or np.uint64
    with np.errstate(all="ignore"):
        wanted_scc = np.broadcast_to(row.scc(case, result), CASES)
    found = np.ascontiguousarray(got).view(kind).reshape(CASES, -1)[:, 0]
    right = equal(found, expected)
    if expected.itemsize == 4 and not row.to_exec:
        right &= got >> np.uint64(32) == padded(case.d) >> np.uint64(32)
    right &= scc == wanted_scc
    if right.all():
        return None
    n = int(np.flatnonzero(~right)[0])
    given = f"a {case.a[n]!r}, b {case.b[n]!r}, d {case.d[n]!r}, exec {case.exec[n]:#x}, SCC {case.scc[n]}, k {case.k}"
    return f"{given}: {found[n]!r}, SCC {scc[n]}, not {expected[n]!r}, SCC {wanted_scc[n]}"
