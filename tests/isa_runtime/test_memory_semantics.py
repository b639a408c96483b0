"""Loads, stores and atomic operations in every kind of memory, on a target of every generation that has them."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from tests.isa_runtime.instructions import atomics
from tests.isa_runtime.instructions.memory import (
    SPACES,
    Atomic,
    Transfer,
    Words,
    changed,
    loaded,
    offset_of,
    stored,
    transfers,
)
from tests.isa_runtime.instructions.vector import LANES, equal, operands
from tests.isa_runtime.instructions.words import GENERATIONS, OLD, Target
from tests.isa_runtime.machine import Machine

LANE = np.arange(LANES)
RANDOM = np.random.default_rng(7).integers(0, 1 << 32, (LANES, 16), np.uint32)
ATOMICS = atomics.rows()
TARGETS = {generation: Target(names[0]) for generation, names in GENERATIONS.items()}


def operations(generation: int, space: str) -> list[tuple[str, str, Atomic]]:
    """The generation's atomic operations, with the target that executes each."""
    found = []
    for row in ATOMICS:
        for name in row.spelled(space):
            found += [(t, name, row) for t in GENERATIONS[generation] if Target(t).has(space, name)][:1]
    return found


EXECUTES = frozenset(
    name
    for generation, target in TARGETS.items()
    for space in SPACES
    for name in (
        *(name for action in ("load", "store") for name, _ in transfers(target, space, action)),
        *(name for _, name, _ in operations(generation, space)),
    )
)


def start(target: Target, space: str) -> np.ndarray:
    """Where in its row each lane's access is."""
    return 16 * (LANE % 2) + offset_of(target, space)


def registers(target: Target, space: str, row: Transfer) -> Words:
    """What a load leaves in four registers."""
    size = np.dtype(row.kind).itemsize
    at = start(target, space)[:, None] + np.arange(row.count * size)
    values = np.take_along_axis(RANDOM.view(np.uint8), at, axis=1).view(row.kind).astype(np.int64).astype(np.uint32)
    found = np.full((LANES, 4), OLD, np.uint32)
    found[:, : row.count] = values
    if row.half:
        kept = 0 if target.name == "gfx942" else OLD  # registers with ECC have zeros in the other half
        low = values & 0xFFFF | kept & 0xFFFF0000
        found[:, :1] = low if row.half == "low" else values << 16 | kept & 0xFFFF
    return found


def memory(target: Target, space: str, row: Transfer) -> Words:
    """What a store leaves in a row that was ``OLD``."""
    found = np.full((LANES, 16), OLD, np.uint32).view(np.uint8)
    size = np.dtype(row.kind).itemsize * row.count
    data = RANDOM[:, :4] >> (16 if row.half == "high" else 0)
    at = start(target, space)[:, None] + np.arange(size)
    np.put_along_axis(found, at, np.ascontiguousarray(data).view(np.uint8)[:, :size], axis=1)
    return found.view(np.uint32)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_loads_leave_what_is_in_memory(machine: Machine, generation: int, space: str) -> None:
    target = TARGETS[generation]
    found = loaded(machine, target, space, RANDOM)
    assert len(found) >= 14
    assert [name for name, (row, got) in found.items() if not np.array_equal(got, registers(target, space, row))] == []


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_stores_change_their_bytes_alone(machine: Machine, generation: int, space: str) -> None:
    target = TARGETS[generation]
    found = stored(machine, target, space, np.ascontiguousarray(RANDOM[:, :4]))
    assert len(found) >= 8
    assert [name for name, (row, got) in found.items() if not np.array_equal(got, memory(target, space, row))] == []


@pytest.mark.parametrize("returns", [False, True], ids=["", "returning"])
@pytest.mark.parametrize("space", ["GLOBAL", "FLAT", "DS", "MUBUF"])
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.slow("interprets every atomic instruction")
def test_atomic_operations_change_memory(machine: Machine, generation: int, space: str, returns: bool) -> None:
    """What they return is what was there; some of the comparing ones find what they expect."""
    wrong = []
    rows = [row for row in operations(generation, space) if space != "DS" or ("_rtn_" in row[1]) is returns]
    for (name, kind), group in groupby(sorted(rows, key=key), key=key):
        entries = [(mnemonic, row) for _, mnemonic, row in group]
        before, data, expected = given(entries[0][1].kind, "pk" in kind)
        content = np.full((LANES, 16), OLD, np.uint32)
        content[:, :4] = np.tile(before.view(np.uint32).reshape(LANES, -1), 4)[:, :4]
        both = np.concatenate([a.view(np.uint32).reshape(LANES, -1) for a in (data, expected, data, expected)], axis=1)
        after = changed(machine, Target(name), space, entries, returns, content, np.ascontiguousarray(both[:, :4]))
        for (mnemonic, row), got in zip(entries, after, strict=True):
            size = before.itemsize // 4
            with np.errstate(all="ignore"):
                new = row.function(before, data, expected).astype(before.dtype)
            old = before.view(np.uint32).reshape(LANES, size) if returns else np.full((LANES, size), OLD, np.uint32)
            in_memory = np.ascontiguousarray(got[:, 2 : 2 + size]).view(before.dtype).ravel()
            right = equal(in_memory, new) & (got[:, :size] == old).all(axis=1)
            right &= (got[:, size:2] == OLD).all(axis=1)
            wrong += [f"{name} {mnemonic} in lanes {np.flatnonzero(~right)[:4]}"] if not right.all() else []
    assert not wrong, "\n".join(wrong)


def key(entry: tuple[str, str, Atomic]) -> tuple[str, str]:
    """Operations with the same target and operands share a launch."""
    target, name, row = entry
    return target, f"{row.kind} pk" if "pk" in name else str(row.kind)


def given(kind: type, packed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is in memory, the operand, and what a comparing swap expects."""
    before, data, expected = operands((kind,) * 3)
    if packed:
        halves = np.random.default_rng(3).normal(size=(2, LANES, 2)).astype(np.float16)
        before, data = (np.ascontiguousarray(half).view(np.uint32).ravel() for half in halves)
    return before, data, np.where(LANE % 2 == 0, before, expected).astype(before.dtype)
