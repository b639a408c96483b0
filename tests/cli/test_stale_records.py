"""What an earlier run, or a repository, has left is never taken for the record of this run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conformance.files import CACHE
from conformance.record import Record, every_kernel, write_record
from conformance.spec.load import load_specs
from tests.cli.small_port import declare, small_port
from tests.commands import refused
from tests.runs import run_info


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a port whose declaration cannot be read."""
    monkeypatch.chdir(tmp_path)
    small_port(tmp_path)
    declare(tmp_path, more="unknown = 1\n")
    return tmp_path


@pytest.mark.slow("runs the command several times")
@pytest.mark.parametrize("option", ["--json", "--md", "--html", "--summary", "--junit"])
def test_a_run_that_ends_early_leaves_no_older_file_in_the_place_of_its_own(cli, port: Path, option: str) -> None:
    (port / "old").write_text("748 of 748")
    refused(cli("run", option, "old"), "unknown")
    assert not (port / "old").exists()


def test_a_link_in_the_place_of_the_record_is_refused_and_what_it_names_stays(cli, port: Path) -> None:
    (port / "victim").write_text("mine")
    (port / "record.json").symlink_to("victim")
    refused(cli("run", "--json", "record.json"), "record.json", "symbolic link")
    assert (port / "victim").read_text() == "mine"


def test_bad_usage_removes_nothing(cli, port: Path) -> None:
    (port / "old").write_text("748 of 748")
    refused(cli("run", "--json", "old", "--wave", "48"), "--wave")
    assert (port / "old").exists()


def test_the_baseline_stays_where_the_record_would_take_its_place(cli, port: Path) -> None:
    (port / "old").write_text("{}")
    refused(cli("run", "--json", "old", "--baseline", "old"), "--baseline")
    assert (port / "old").read_text() == "{}"


@pytest.mark.slow("whole runs by the command")
def test_a_record_says_in_which_run_it_was_made(cli, port: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(port)
    monkeypatch.setenv("CANDLE_PARITY_RUN_ID", "github-7")
    said = cli("run", "fill_u8", "--runtime", "cpu", "--order", "forward", "-j", "1", "--json", "made.json")
    assert said.code in (0, 1), said.err
    assert json.loads((port / "made.json").read_text())["run"]["run_id"] == "github-7"
    assert cli("report", "made.json", "--run-id", "github-7", "--md", "a.md").code == 0


@pytest.mark.parametrize("made_in", [None, "github-6"])
def test_a_report_refuses_records_of_another_run(cli, tmp_path: Path, made_in: str | None) -> None:
    specs = load_specs()
    file = tmp_path / "old.json"
    write_record(Record.of(run_info(run_id=made_in), every_kernel(specs, [])), file)
    words = ("report", file, "--run-id", "github-7", "--md", tmp_path / "a.md")
    refused(cli(*map(str, words)), f"its run_id is {made_in or 'none'}, and --run-id asks for github-7")
    assert not (tmp_path / "a.md").exists()


@pytest.mark.parametrize("named", ["cache", "link", "link/inner"])
def test_a_cache_folder_with_committed_files_is_refused(
    cli, port: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    declare(port)
    (port / "cache" / "inner").mkdir(parents=True)
    (port / "cache" / "inner" / "forged.object").write_text("")
    (port / "link").symlink_to("cache")
    for words in (["init", "-q"], ["add", "-f", "."]):
        subprocess.run(["git", "-C", str(port), *words], check=True)
    monkeypatch.setenv(CACHE, str(port / named))
    said = cli("run", "fill_u8", "--runtime", "cpu")
    refused(said, "which its repository has committed; name another folder in CANDLE_PARITY_CACHE")


def test_a_cache_folder_in_a_checkout_that_holds_no_committed_file_is_taken(
    cli, port: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(port)
    (port / "cache").mkdir()
    for words in (["init", "-q"], ["add", "-f", "."]):
        subprocess.run(["git", "-C", str(port), *words], check=True)
    (port / "cache" / "kept").write_text("")
    monkeypatch.setenv(CACHE, str(port / "cache"))
    assert cli("list", "fill_u8").code == 0
