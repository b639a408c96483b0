"""Random numbers of a vendor's library: how they are asked for, and what a library does wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.record import read_record
from conformance.report.causes import find_causes
from conformance.runtimes.hip.random_numbers import VARIABLE, open_generators
from conformance.runtimes.hip.vendor_library import NoLibrary
from conformance.spec.load import load_specs
from tests.commands import answer
from tests.libraries.stand_ins import compiled

SOURCE = Path(__file__).with_name("random_stand_in.cpp")
SPECS = load_specs()
NAMES = tuple(f"rand_{op}_{dtype}" for op in ("normal", "uniform") for dtype in ("f32", "f64"))


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Stand-ins for the libraries, by name."""
    files = {"cuRAND": "libcurand.so.10", "hipRAND": "libhiprand.so.1.1", "rocRAND": "librocrand.so.1.1"}
    return compiled(SOURCE, tmp_path_factory.mktemp("libraries"), files)


@pytest.fixture
def judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, libraries: dict[str, Path]
) -> Any:
    """The record of random numbers by a stand-in that makes a mistake."""

    def judge(mistake: str = "", library: str = "cuRAND") -> Any:
        monkeypatch.setenv("MISTAKE", mistake)
        monkeypatch.setenv(VARIABLE, str(libraries[library]))
        file = tmp_path / "record.json"
        about = ("run", "--runtime", "cpu", "--jobs", 1, "--order", "forward", "--module", "libraries", "rand_*")
        said = answer(capsys, *about, "--json", file)
        assert said.code == (1 if mistake else 0), said.err
        return read_record(file)

    return judge


@pytest.mark.slow("stand-ins of libraries, one for each mistake")
@pytest.mark.parametrize("library", ["cuRAND", "hipRAND", "rocRAND"])
def test_every_library_is_called_as_it_wants_it(judged: Any, libraries: dict[str, Path], library: str) -> None:
    record = judged("", library)
    assert sorted((row.name, row.status) for row in record.libraries) == [(name, "pass") for name in NAMES]
    version = libraries[library].name.partition(".so.")[2]
    assert {row.source for row in record.libraries} == {f"{library} {version} ({libraries[library]})"}


NORMAL, UNIFORM = NAMES[:2], NAMES[2:]
CAUSES = {
    "nan": ("random-finite", NORMAL),
    "range": ("random-range", UNIFORM),
    "zero": ("random-zero", UNIFORM),
    "constant": ("random-constant", NAMES),
    "fresh": ("random-same-seed", NAMES),
    "repeat": ("random-repeats", NAMES),
    "seed": ("random-seed", NAMES),
    "mean": ("random-mean", NAMES),
    "variance": ("random-variance", NAMES),
    "status": ("library-status", NAMES),
}


@pytest.mark.nightly("stand-ins of libraries, one for each mistake")
@pytest.mark.parametrize("mistake", CAUSES)
def test_a_mistake_fails_with_a_cause_that_names_it(judged: Any, mistake: str) -> None:
    record = judged(mistake)
    wanted, names = CAUSES[mistake]
    assert sorted(row.name for row in record.libraries if row.status == "fail") == list(names)
    assert [finding.cause.id for finding in find_causes(record.libraries, SPECS)] == [wanted]


@pytest.mark.slow("stand-ins of libraries, one for each mistake")
def test_numbers_beyond_those_that_were_asked_for_are_wrong(judged: Any) -> None:
    record = judged("beyond")
    assert {row.status for row in record.libraries} == {"fail"}
    assert "must not be touched" in record.libraries[0].failures[0].why


def test_a_library_that_cannot_be_opened_or_is_another_is_named(tmp_path: Path) -> None:
    said = r"of random numbers .*libnothing.so.*; libc.so.6 has the functions of none of cuRAND, hipRAND, rocRAND"
    with pytest.raises(NoLibrary, match=said):
        open_generators([str(tmp_path / "libnothing.so"), "libc.so.6"])
