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


def test_files_go_where_the_port_says_and_only_what_it_lacks_is_told(capfd) -> None:
    declared = 'kernels = "src/hip"\n\n[own]\nspecs = "judged/specs"\nreference = "judged/reference"\n'
    Path("candle-parity.toml").write_text(declared)
    said = answer(capfd, "new", "fadd_f32", "--own")
    assert '# for candle-parity.toml\n[own]  # to what is there\nfamilies = "parity/families"\n' in said.out
    assert "judged/specs/fadd.yaml" in Path("judged/reference/fadd.py").read_text()
    assert Path("src/hip/fadd.hip").is_file()
    Path("candle-parity.toml").write_text(f'{declared}families = "parity/families"\n')
    assert answer(capfd, "list", "fadd_f32").code == 0
    assert "# for" not in answer(capfd, "new", "fsub_f32", "--own").out


def test_a_declaration_in_pyproject_gets_no_second_one_beside_it(capfd) -> None:
    Path("pyproject.toml").write_text('[tool.candle-parity]\nkernels = "src"\n')
    said = answer(capfd, "new", "fadd_f32", "--own")
    assert "kept pyproject.toml" in said.out
    assert '# for pyproject.toml\n[tool.candle-parity.own]\nspecs = "parity/specs"\n' in said.out
    assert not Path("candle-parity.toml").exists()
    with Path("pyproject.toml").open("a") as file:
        file.write(
            said.out.partition("pyproject.toml\n")[2].partition("# for pyproject.toml\n")[2].partition("\n\n")[0]
        )
    assert answer(capfd, "list", "fadd_f32").code == 0


def test_a_port_of_one_file_is_told_to_name_its_folder(capfd) -> None:
    Path("all.hip").write_text("")
    Path("candle-parity.toml").write_text('kernels = "all.hip"\n')
    refused(answer(capfd, "new", "fadd_f32", "--own"), "is the file all.hip; name its folder there")


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
