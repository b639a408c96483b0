"""A sample of the catalogue, and what holds its data together; ``make selftest`` tries all of it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from tests.selftest.alone import tried
from tests.selftest.campaign import Run
from tests.selftest.catalogue import (
    alone,
    bug_classes,
    is_equivalent_launch,
    known_of,
    of_bug_classes,
    sampled,
    sources,
)
from tests.selftest.given import outputs_of
from tests.selftest.schemata import Edit, edited
from tests.selftest.sites import changes
from tests.selftest.variants import judged, variants

CLASSES = Path(__file__).parents[2] / "specs" / "bug-classes.md"
SAMPLED = ("ours/sort", "ours/fill", "ours/affine", "ours/moe")
SURVIVE = (
    "ours/moe.hip:138: variable: num_experts -> size_k",  # allocates more than is needed
)
"""Of the sample, which has other mutants than the whole catalogue."""
OWN = re.compile(r"include/(bitonic|expert_offsets|grouped_\w+)\.h|\w+\.hip")


def test_a_change_stands_next_to_the_original() -> None:
    text = b"void f() { x = a + b; }"
    found = {(change.operator, change.new) for change in changes(text)}
    assert {("arithmetic", "-"), ("statement", ";")} <= found
    inner, outer = Edit(15, 20, False, False, [(2, b"a - b")]), Edit(11, 21, True, False, [(1, b";")])
    code = edited(text, [inner, outer])
    assert code.count(b"SELFTEST_ON(1)") == code.count(b"SELFTEST_ON(2)") == 1
    assert b"{ ; }" in code
    assert edited(text, []) == text


def test_every_class_of_bugs_has_an_edit_or_a_reason() -> None:
    named = re.findall(r"^\| ([A-Z]\d{2}) ", CLASSES.read_text(), re.MULTILINE)
    assert sorted(named) == sorted(bug_classes())
    edits = {name: row.get("edits", ()) for name, row in bug_classes().items()}
    ours = {name for name, rows in edits.items() if any(not row[0].startswith("candle/") for row in rows)}
    assert ours == {mutant.operator for _, mutant in of_bug_classes(sources())}
    assert all(edits[name] or row.keys() & {"alone", "launch", "why"} for name, row in bug_classes().items())


def test_an_edit_of_an_expression_replaces_one_expression() -> None:
    """The original and the mutant become operands of ?:. A comma between two elements would be an operator there, and a
    part of a call would not compile, so that the mutant would never be tried."""
    edits = [(old, new) for row in bug_classes().values() for _, old, new, *_ in row.get("edits", ())]
    expressions = [edit for edit in edits if not edit[0].endswith((";", "}"))]
    assert len(expressions) > 100
    assert [edit for edit in expressions if any(map(is_no_expression, edit))] == []


def is_no_expression(code: str) -> bool:
    """Whether a comma of ``code`` stands outside of all brackets, or a bracket without the other."""
    while (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|(?<=\w)<[\w, ]*>", "", code)) != code:
        code = inner
    return any(mark in code for mark in ",()[]{}")


@pytest.mark.nightly("compiles and judges a hundred mutants")
def test_a_sample_of_the_mutants_is_killed() -> None:
    every = [one for one in sources() if one.name in SAMPLED]
    pool = [row for row in (*of_bug_classes(every), *sampled(every, 700, 1)) if OWN.fullmatch(row[1].file)]
    pool = [row for row in pool if known_of(row[1]) is None]
    random.Random(1).shuffle(pool)
    run = Run(pool[:100], 2, every)
    run.first()
    kinds = [state["is"] for state in run.state.values()]
    survived = [run.mutants[number].id for number, state in run.state.items() if state["is"] == "survived"]
    assert run.broken == []
    assert kinds.count("killed") >= 60
    assert sorted(survived) == sorted(SURVIVE)


@pytest.mark.nightly("compiles and judges a hundred mutants")
@pytest.mark.parametrize("row", [one for one in alone() if one.source == "sort"][:2], ids=lambda row: row.bug_class)
def test_what_only_a_compiler_reads_is_noticed(row) -> None:
    assert tried(row) is not None


@pytest.mark.slow("compiles and judges a hundred mutants")
def test_a_wrong_place_of_an_output_is_noticed() -> None:
    specs = load_specs()
    kernels = [*specs.kernels.values(), *specs.launchers.values()][::12]
    found = {(kernel.name, *row) for kernel in kernels for row in outputs_of(kernel, random.Random(1))}
    assert len(found) > 200
    lived = [f"{name}: {operator}" for name, operator, noticed in found if not noticed]
    assert [one for one in lived if not is_equivalent_launch(one)] == []


@pytest.mark.nightly("compiles and judges a hundred mutants")
@pytest.mark.parametrize(
    "variant", [one for one in variants() if one.source.stem == "variants"][::4], ids=lambda one: one.what
)
def test_a_right_kernel_is_not_rejected(variant) -> None:
    found = judged(variant, ("--runtime", "cpu", "--wave", "32", "--seed-salt", "1"))
    assert found.passed
    assert found.rejected == {}
