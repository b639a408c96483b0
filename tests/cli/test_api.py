"""conformance.api: what scripts use is what the command line is made of, and the examples of docs/api.md run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_port import small_port

from conformance import api
from conformance.files import ROOT
from conformance.report.files import report_files
from tests.runs import run_info

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.DOTALL)
CPU = api.Settings(runtime="cpu", orders=("forward",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with path/to/port, which has two kernels that are right and one that is not."""
    found = tmp_path_factory.mktemp("api")
    (found / "path" / "to").mkdir(parents=True)
    small_port(found / "path" / "to")
    return found


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def record(folder: Path) -> Iterator[api.Record]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield api.judge("path/to/port", "fill_u8", "fill_f32", settings=CPU)


@pytest.mark.slow("judges a small port")
@pytest.mark.parametrize("example", EXAMPLES, ids=[f"example {number}" for number, _ in enumerate(EXAMPLES, 1)])
def test_the_examples_of_the_page_run(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, "docs/api.md", "exec"), {})
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow("judges a small port, twice")
def test_a_script_and_the_command_have_the_same_record(record: api.Record, cli, tmp_path: Path) -> None:
    words = ("--runtime", "cpu", "--order", "forward", "--kernels", "path/to/port", "--json", tmp_path / "r.json")
    cli("run", "fill_u8", "fill_f32", *words)
    by_command = json.loads((tmp_path / "r.json").read_text())
    api.write(record, tmp_path / "s.json")
    by_script = json.loads((tmp_path / "s.json").read_text())
    for found in (by_command, by_script):
        assert found["run"].pop("started")
        assert found["run"].pop("seconds") > 0
        for kernel in found["kernels"]:
            kernel.pop("seconds", None)
    assert by_script == by_command


@pytest.mark.slow("judges a small port")
def test_a_kernel_that_fails_is_in_the_record_and_raises_nothing(record: api.Record) -> None:
    status = {kernel.name: kernel.status for kernel in record.kernels}
    assert (status["fill_u8"], status["fill_f32"], status["fill_f64"]) == ("fail", "pass", "not_run")


@pytest.mark.slow("judges a small port")
@pytest.mark.parametrize("name", ["r.json", "r.json.xz"])
def test_a_record_is_read_as_it_was_written(record: api.Record, tmp_path: Path, name: str) -> None:
    api.write(record, tmp_path / name)
    assert api.read(tmp_path / name) == record


@pytest.mark.slow("judges a small port")
@pytest.mark.parametrize("format", api.FORMATS_OF_REPORTS)
def test_every_format_names_the_kernel_that_fails(record: api.Record, format: api.Format) -> None:
    assert "fill_u8" in api.render(record, format)


def test_formats_are_those_of_the_command_line_and_the_terminal() -> None:
    assert sorted(api.FORMATS_OF_REPORTS) == sorted([*(report.name for report in report_files()), "terminal"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no/such",), "no/such does not exist"),
        (("path/to/port", "no_such_kernel"), "no_such_kernel"),
        (("path/to/tests",), "no kernel file"),
    ],
)
def test_what_cannot_be_judged_is_an_error_of_one_sentence(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(api.Error) as caught:
        api.judge(*words, settings=CPU)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_record_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{}")
    with pytest.raises(api.Error, match="not a record"):
        api.read(tmp_path / "r.json")


def test_there_is_no_report_of_another_name() -> None:
    nothing = api.Record.of(run_info(), [])
    with pytest.raises(ValueError, match="there is no report 'pdf'; expected one of md, "):
        api.render(nothing, "pdf")  # type: ignore[arg-type]
