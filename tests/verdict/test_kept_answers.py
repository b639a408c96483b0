"""Expected answers that are kept: the same as those that are computed, and never those of something else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance import cache
from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.notices import take_warnings
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs, load_specs
from conformance.verdict import kept_answers
from conformance.verdict.kept_answers import ARRAYS, KeptAnswers
from conformance.verdict.trials import expected_of
from reference.expected import Expected


class Counted:
    """The reference, and how often it was asked."""

    calls = 0

    def __call__(self, kernel: Kernel, launch: Launch) -> dict[str, Expected]:
        self.calls += 1
        return expected_of(kernel, launch)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept answers, into which even what took no time goes."""
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path))
    monkeypatch.setattr(kept_answers, "SECONDS", 0.0)
    return tmp_path / "answers"


def asked(kernel: Kernel, cases: Sequence[Case], salt: str = "") -> tuple[list[dict[str, Expected]], int]:
    """What is expected of ``cases``, and of how many the reference was asked."""
    counted = Counted()
    answers = KeptAnswers(kernel, cases, salt, counted)
    found = [answers.of(case, launch_for(kernel, case, salt)) for case in cases]
    answers.keep()
    return found, counted.calls


def content(expected: Expected) -> list[Any]:
    arrays = [getattr(expected, name) for name in ARRAYS]
    if expected.exact is not None:
        truth = expected.exact()
        arrays += [truth.least, truth.most, truth.value.astype(np.float64)]  # of longdouble some bytes hold nothing
    return [None if array is None else (array.dtype, array.tobytes()) for array in arrays]


@pytest.mark.parametrize("name", ["usilu_bf16", "sum_f32", "cast_f32_f8_e4m3", "rmsnorm_f16", "asort_asc_u8"])
def test_they_are_what_is_computed(specs: Specs, name: str) -> None:
    kernel = specs.kernels[name]
    cases = cases_for(kernel)[:5]
    computed, first = asked(kernel, cases)
    kept, second = asked(kernel, cases)
    assert (first, second) == (5, 0)
    for one, other in zip(computed, kept, strict=True):
        assert {key: content(value) for key, value in one.items()} == {
            key: content(value) for key, value in other.items()
        }


def test_another_salt_case_or_spec_is_computed(specs: Specs) -> None:
    kernel, other = specs.kernels["sum_f32"], specs.kernels["sum_f64"]
    cases = cases_for(kernel)[:2]
    asked(kernel, cases)
    assert asked(kernel, cases, "salt")[1] == 2
    assert asked(kernel, cases[:1])[1] == 1
    assert asked(other, cases_for(other)[:2])[1] == 2
    assert asked(kernel, cases)[1] == 0


def test_other_sources_of_the_reference_are_other_answers(specs: Specs, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = specs.kernels["sum_f32"]
    cases = cases_for(kernel)[:2]
    asked(kernel, cases)
    monkeypatch.setattr(kept_answers, "computed_by", lambda: "other")
    assert asked(kernel, cases)[1] == 2


def test_damaged_ones_are_computed_again(specs: Specs, folder: Path) -> None:
    kernel = specs.kernels["sum_f32"]
    cases = cases_for(kernel)[:2]
    computed, _ = asked(kernel, cases)
    (kept,) = folder.glob("*.object")
    damaged = bytearray(kept.read_bytes())
    damaged[-1] ^= 1
    kept.write_bytes(damaged)
    again, calls = asked(kernel, cases)
    assert calls == 2
    assert np.array_equal(again[0]["out"].value, computed[0]["out"].value)
    assert any("it is thrown away and computed again" in text for text in take_warnings())


def test_what_takes_no_time_is_not_kept(specs: Specs, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "SECONDS", 3600.0)
    kernel = specs.kernels["sum_f32"]
    asked(kernel, cases_for(kernel)[:2])
    assert not folder.exists()


def test_a_process_trims_the_folder_before_it_keeps_its_first(
    specs: Specs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = specs.kernels["sum_f32"]
    cases = cases_for(kernel)[:1]
    asked(kernel, cases)
    (first,) = folder.glob("*.object")
    monkeypatch.setattr(kept_answers, "MOST_BYTES", 3 * first.stat().st_size)
    for number in range(1, 9):
        asked(kernel, cases, f"salt {number}")
    monkeypatch.setattr(cache, "_swept", set())  # as in a new process
    asked(kernel, cases, "salt 9")
    assert len(list(folder.glob("*.object"))) == 3 + 1
    assert asked(kernel, cases, "salt 8")[1] == 0
