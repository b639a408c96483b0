"""Instructions of the vector unit against numpy, on a target of every generation that has them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from tests.isa_runtime.instructions import compares, conversions, floats, integers, packed
from tests.isa_runtime.instructions.vector import Row, difference, results
from tests.isa_runtime.instructions.words import GENERATIONS, Target
from tests.isa_runtime.machine import Machine

ROWS = {part.__name__.rpartition(".")[2]: part.rows() for part in (integers, floats, conversions, packed, compares)}


def given(generation: int, rows: list[Row]) -> list[tuple[str, str, Row]]:
    """The rows' instructions that a generation has, with the target that executes each."""
    found = []
    for row in rows:
        for name in row.names.split():
            has = (t for t in GENERATIONS[generation] if any(Target(t).has(e, name) for e in ("VOP3", "VOP3P", "VOP2")))
            found += [(target, name, row) for target in has][:1]
    return found


EXECUTES = frozenset(name for rows in ROWS.values() for g in GENERATIONS for _, name, _ in given(g, rows))


def alike(entry: tuple[str, str, Row]) -> Any:
    """Instructions with the same target and operands share a launch."""
    target, _, row = entry
    return target, str(row.sources), str(row.domain)


@pytest.mark.slow("compiles for AMD targets and interprets the code")
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("kind", ROWS)
def test_instructions_do_what_numpy_does(machine: Machine, kind: str, generation: int) -> None:
    wrong = []
    for (target, *_), group in groupby(sorted(given(generation, ROWS[kind]), key=alike), key=alike):
        entries = [(name, row) for _, name, row in group]
        for (name, row), got in zip(entries, results(machine, Target(target), entries), strict=True):
            found = difference(Target(target), row, got)
            if found:
                wrong.append(f"{target} {name} ({row.form}) {found}")
    assert not wrong, "\n".join(wrong)
