"""Every instruction that the interpreter gives a meaning is executed by a test of what it does."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import tests.isa_runtime as here
from conformance.runtimes.isa.kind import TARGETS
from tests.isa_runtime.known_page import PAGE, with_table
from tests.isa_runtime.machine import Machine

NOT_EXECUTED: dict[str, str] = {}
"""Instructions that no test executes, and why not."""


def modules() -> Iterator[Any]:
    for module in pkgutil.iter_modules(here.__path__):
        if module.name.startswith("test_") and module.name != __name__.rpartition(".")[2]:
            yield importlib.import_module(f"{here.__name__}.{module.name}")


def claims(function: Any) -> Iterator[tuple[str, list[Any]]]:
    """The instructions that a test's marks name, each with the targets that the test is given."""
    marks = list(getattr(function, "pytestmark", []))
    given = [mark for mark in marks if mark.name == "parametrize"]
    targets = [value for mark in given if mark.args[0] == "target" for value in mark.args[1]]
    sets = [value for mark in given for value in mark.args[1] if hasattr(value, "marks")]
    for mark in [*marks, *(mark for value in sets for mark in value.marks)]:
        if mark.name == "executes":
            yield from ((name, targets) for name in mark.args)


def executed(known: dict[str, set[str]]) -> set[str]:
    """By the rows of a module's ``EXECUTES`` and the marks of its tests, which hold them to it (conftest.py)."""
    found: set[str] = set()
    for module in modules():
        found |= getattr(module, "EXECUTES", frozenset())
        for function in vars(module).values():
            for name, targets in claims(function):
                if not targets or any(name in known[getattr(target, "name", target)] for target in targets):
                    found.add(name)
    return found


@pytest.fixture(scope="module")
def known(machine: Machine) -> dict[str, set[str]]:
    """The mnemonics that have a meaning, by target."""
    return {target: {name for _, _, name in machine.meanings(target)} for target in TARGETS}


def test_every_instruction_that_has_a_meaning_is_executed(known: dict[str, set[str]]) -> None:
    names = set().union(*known.values())
    assert len(names) > 1000
    assert names - executed(known) == NOT_EXECUTED.keys()


def test_nothing_is_executed_that_has_no_meaning(known: dict[str, set[str]]) -> None:
    """A row or mark that names an instruction no target knows tests nothing."""
    assert executed(known) - set().union(*known.values()) == set()


def test_the_table_of_what_is_known_is_up_to_date(machine: Machine) -> None:
    text = PAGE.read_text(encoding="utf-8")
    written = "`python -m tests.isa_runtime.known_page` writes it"
    assert text == with_table(text, machine.meanings), f"the table of docs/runtimes.md is out of date; {written}"
