"""Every mutant that once passed fails, by cases of the matrix that our own kernels pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mutants import CANDLE_LIKE, KERNELS, MUTANTS, plant

from conformance.cases import cases_for
from conformance.cli.main import main
from conformance.spec.load import load_specs

CASES = [case for mutant in MUTANTS for case in mutant.cases]
LIKE = [case for mutant in MUTANTS for case in mutant.cases if mutant.module == "candle_like"]


def _judged(folder: Path, kernels: Path, cases: list[str]) -> dict[str, dict[str, Any]]:
    record = folder / "record.json"
    words = ("run", "--runtime", "cpu", "--wave", "32", "--kernels", str(kernels), "--json", str(record))
    main([*words, *cases])
    rows = json.loads(record.read_text())["kernels"]
    return {row["name"]: row for row in rows if row["status"] != "not_run"}


@pytest.fixture(scope="module")
def mutated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("mutants")
    return _judged(folder, plant(folder / "tree"), CASES)


@pytest.mark.nightly("compiles a changed copy of kernels/ and judges both")
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.what for mutant in MUTANTS])
def test_a_mutant_fails_its_cases(mutant: Any, mutated: dict[str, dict[str, Any]]) -> None:
    failed = [failure["case"] for case in mutant.cases for failure in mutated[case.partition("(")[0]]["failures"]]
    assert {*mutant.cases} <= {*failed}


@pytest.mark.nightly("compiles a changed copy of kernels/ and judges both")
def test_our_kernels_pass_what_the_mutants_fail(tmp_path: Path) -> None:
    rows = _judged(tmp_path, KERNELS, CASES)
    assert {name: row["status"] for name, row in rows.items() if row["status"] != "pass"} == {}
    assert rows.keys() == {case.partition("(")[0] for case in CASES}


@pytest.mark.nightly("compiles a changed copy of kernels/ and judges both")
def test_kernels_like_candles_pass_before_they_are_mutated(tmp_path: Path) -> None:
    rows = _judged(tmp_path, CANDLE_LIKE, LIKE)
    assert {row["status"] for row in rows.values()} == {"pass"}
    assert rows.keys() == {case.partition("(")[0] for case in LIKE}


def test_the_cases_are_in_the_matrix() -> None:
    kernels = load_specs().kernels
    named = {case.partition("(")[0] for case in CASES}
    made = {case.id for name in named for case in cases_for(kernels[name])}
    assert {*CASES} - made == set()
    assert sum(len({case.partition("(")[0] for case in mutant.cases}) for mutant in MUTANTS) == len(named)
