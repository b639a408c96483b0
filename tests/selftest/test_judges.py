"""A sample of the mutants of reference and specs, and that each is judged at all; ``--judges`` tries more."""

from __future__ import annotations

import ast

import pytest

from conformance.files import REFERENCE
from tests.selftest.judges import Found, judged, mutated, run, users
from tests.selftest.mutants import Mutant, files_of_reference, known, of_reference, of_specs
from tests.selftest.python_sites import places
from tests.selftest.recordings import Recorded, recorded_cases

FILES = ("rope.py", "fast_reduce.py", "quantized/sums.py", "quantized/products.py", "result.py")
SURVIVE = [
    "fast_reduce.py:54:50: arithmetic: -1 -> 1",  # recorded rows have two dimensions: dims[-1] is dims[1]
    # Recorded answers are Candle's own, which are judged without the true value.
    "result.py:33:11: arguments: Truth(whole(truth.least), whole(truth.most), value) "
    "-> Truth(whole(truth.most), whole(truth.least), value)",
]
"""Of the sample, which has other mutants than the whole catalogue."""


@pytest.fixture(scope="module")
def cases() -> list[Recorded]:
    return recorded_cases(("reduce", "quantized"))


def _mutant(file: str, change: str, unit: str) -> Mutant:
    found = [one for one in of_reference(10**6, 1, (file,)) if one.change == change and unit in one.unit]
    assert len(found) == 1, found
    return found[0]


def test_a_change_is_of_code_that_runs() -> None:
    text = 'def f(x: int = 1) -> "a + b":\n    """a + b"""\n'
    text += "    if x < 0:\n        raise ValueError(x + 1)\n    return g(x, y) * 2\n"
    found = {(one.operator, one.text) for one in places(ast.parse(text))}
    assert found == {
        ("constant", "1 -> 2"),
        ("arithmetic", "g(x, y) * 2 -> g(x, y) + 2"),
        ("constant", "2 -> 3"),
        ("arguments", "g(x, y) -> g(y, x)"),
    }


def test_users_do_not_come_through_the_package() -> None:
    assert users("reference.rope") == {"reference.rope", "reference.reduce"}
    assert "reference.quantized.vector" in users("reference.fma")


@pytest.mark.slow("mutates every fifth file of the reference")
def test_every_change_compiles() -> None:
    for file in files_of_reference()[::5]:
        for one in of_reference(1, 1, (file,)):
            assert mutated(one) != compile((REFERENCE / file).read_text(), str(REFERENCE / file), "exec")


@pytest.mark.slow("compiles and judges mutants")
@pytest.mark.parametrize(
    ("file", "change", "unit"),
    [
        ("rope.py", "first + half -> first - half", "within, sheet"),
        ("quantized/blocks.py", "raw >> 4 -> raw << 4", ""),
        ("library.py", "rounded(wide, kind) -> rounded(kind, wide)", ""),
    ],
)
def test_a_mutant_is_run_in_place_of_the_file(file: str, change: str, unit: str, cases: list[Recorded]) -> None:
    assert judged(_mutant(file, change, unit), cases).kind == "right"


@pytest.mark.slow("compiles and judges mutants")
def test_a_wider_bound_accepts_what_is_wrong(cases: list[Recorded]) -> None:
    found = judged(_mutant("quantized/sums.py", "3 -> 4", "_PRODUCTS"), cases)
    assert (found.kind, found.why.rpartition(": ")[2]) == ("accepted", "one step above the bound")


@pytest.mark.slow("compiles and judges mutants")
def test_a_sample_of_the_mutants_is_killed(cases: list[Recorded]) -> None:
    kernels = list({one.kernel.name: one.kernel for one in cases}.values())
    mutants = [*of_reference(12, 1, FILES), *of_specs(kernels, 5, 1)]
    found: dict[str, Found] = {}
    run(mutants, cases, found)
    kinds = [one.kind for one in found.values()]
    assert kinds.count("right") + kinds.count("accepted") >= 10
    assert sorted(name for name, one in found.items() if one.kind == "survived") == SURVIVE


@pytest.mark.slow("compiles and judges mutants")
def test_rows_decided_by_hand_are_of_mutants_that_there_are() -> None:
    every = of_reference(10**6, 1)
    kinds = {row.kind for row in known()}
    assert kinds <= {"left_out", "equivalent", "unrecorded"}
    for row in known():
        if row.kind != "left_out" and "specs" not in row.file.pattern:
            changes = [
                f"{one.operator}: {one.change}"
                for one in every
                if row.file.fullmatch(one.file) and row.unit in one.unit
            ]
            assert any(row.change.fullmatch(change) for change in changes), row
