"""``new --own`` starts what ``run --own`` judges, and changes nothing that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.files import spec_folder
from conformance.spec.schema import FILES, schema_text
from tests.commands import answer, refused


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow("compiles a file and judges two kernels")
def test_what_is_started_passes_at_once(capfd) -> None:
    assert answer(capfd, "new", "fadd_{f32,i64}", "--own").code == 0
    said = answer(capfd, "run", "--own", "--runtime", "cpu", "-j", "1", "fadd_*")
    assert said.code == 0
    assert "2 of 2 selected own kernels pass (none is Candle's)" in said.out


def test_a_declaration_that_is_there_stays_and_is_told_its_lines(capfd) -> None:
    Path("candle-parity.toml").write_text('kernels = "kernels"\n')
    said = answer(capfd, "new", "fadd_f32", "--own")
    assert Path("candle-parity.toml").read_text() == 'kernels = "kernels"\n'
    assert '[own]\nspecs = "parity/specs"\n' in said.out
    refused(answer(capfd, "new", "fadd_f32", "--own"), "parity/specs/fadd.yaml is there already")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("new", "fadd", "--own"), "expected a name that ends with a dtype"),
        (("new", "fadd_f33", "--own"), "did you mean f32?"),
        (("new", "fadd_f32", "--own", "--like", "uexp_f32"), "leave --like out"),
        (("new", "fadd_f32"), "or give --own"),
    ],
)
def test_a_wrong_name_is_refused(capfd, words: tuple[str, ...], why: str) -> None:
    refused(answer(capfd, *words), why)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", FILES)
def test_schemas_are_those_of_the_models(name: str) -> None:
    assert (spec_folder() / name).read_text(encoding="utf-8") == schema_text(FILES[name]), (
        "run python -m conformance.spec.schema"
    )
