"""Output files that would overwrite an input or each other are refused before anything is read or judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import refused


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two records."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("report a.json --summary a.json", "--summary a.json would overwrite what RECORD names"),
        ("report b.json a.json --md ./a.json", "--md a.json would overwrite what RECORD names"),
        ("report a.json --wiring b.json --badge b.json", "--badge b.json would overwrite what --wiring names"),
        ("run --baseline a.json --html a.json", "--html a.json would overwrite what --baseline names"),
        ("diff a.json b.json --json b.json", "--json b.json would overwrite what NEW names"),
        ("bench --from a.json --md a.json", "--md a.json would overwrite what --from names"),
        ("report a.json --md new --html new", "--md and --html both name new"),
        ("run --json x.json --junit link.json", "--json and --junit both name link.json"),
        ("report a.json --junit -", "--junit -: standard output is for --json alone"),
    ],
)
def test_an_output_that_would_cost_a_file_is_refused(cli, records: Path, words: str, said: str) -> None:
    (records / "link.json").symlink_to("x.json")
    refused(cli(*words.split()), said)
    assert (records / "a.json").read_text() == (records / "b.json").read_text() == "{}"


@pytest.mark.parametrize("words", ["report a.json --json a.json", "report a.json --md /dev/null --html /dev/null"])
def test_a_record_in_its_own_place_and_devices_are_no_collision(cli, records: Path, words: str) -> None:
    refused(cli(*words.split()), "a.json: not a")
