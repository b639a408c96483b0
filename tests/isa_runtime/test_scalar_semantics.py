"""Instructions of the scalar unit against numpy, on a target of every generation that has them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from tests.isa_runtime.instructions import scalars
from tests.isa_runtime.instructions.scalar import CONSTANTS, Entry, Row, difference, encoding, results
from tests.isa_runtime.instructions.words import GENERATIONS, Target
from tests.isa_runtime.machine import Machine

ROWS = {"integers": scalars.integers(), "floats": scalars.floats()}


def given(generation: int, rows: list[Row]) -> list[tuple[str, Entry]]:
    """The rows' instructions that a generation has, with the target that executes each."""
    found = []
    for row in rows:
        for name in row.names.split():
            for target in [t for t in GENERATIONS[generation] if encoding(Target(t), name)][:1]:
                constants = CONSTANTS if encoding(Target(target), name) == "SOPK" else (0,)
                found += [(target, (name, row, constant)) for constant in constants]
    return found


EXECUTES = frozenset(entry[0] for rows in ROWS.values() for g in GENERATIONS for _, entry in given(g, rows))


def alike(entry: tuple[str, Entry]) -> Any:
    """Instructions with the same target and operands share a launch."""
    target, (_, row, _) = entry
    return target, str((row.sources, row.reads))


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.slow("interprets every scalar instruction")
def test_instructions_do_what_numpy_does(machine: Machine, kind: str, generation: int) -> None:
    wrong = []
    for (target, *_), group in groupby(sorted(given(generation, ROWS[kind]), key=alike), key=alike):
        entries = [entry for _, entry in group]
        for (name, row, constant), *got in zip(entries, *results(machine, Target(target), entries), strict=True):
            found = difference(Target(target), row, constant, *got)
            if found:
                wrong.append(f"{target} {name}{' to EXEC' if row.to_exec else ''} of {found}")
    assert not wrong, "\n".join(wrong)
