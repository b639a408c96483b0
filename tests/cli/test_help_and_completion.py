"""``candle-parity help``, ``-V``, and what sets up completion in a shell."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from conformance.cli.commands import command_names
from conformance.option import GATE, GROUPS
from conformance.settings import Gate
from tests.commands import answer, refused


@pytest.mark.slow("imports every command")
@pytest.mark.parametrize("name", command_names())
def test_help_of_a_command_is_that_of_its_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer(capsys, "help", name)
    assert (shown.code, shown.out) == (0, answer(capsys, name, "--help").out)


def test_help_alone_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = answer(capsys, "help")
    assert shown.code == 0
    assert set(re.findall(r"^    (\w+) ", shown.out, re.MULTILINE)) == {*command_names()}


def test_a_command_that_is_not_there_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    refused(answer(capsys, "help", "ru"), "help: there is no command ru; did you mean run?")


def test_the_version_has_a_short_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "-V").out == answer(capsys, "--version").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_read_by_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("argcomplete", reason="argcomplete is not installed")
    lines = answer(capsys, "completion", shell)
    assert lines.code == 0
    assert "candle-parity" in lines.out
    if shutil.which(shell):
        subprocess.run([shell, "-c", lines.out], check=True, capture_output=True)


@pytest.fixture
def help_of_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    return answer(capsys, "run", "--help").out


def test_options_of_run_stand_in_groups(help_of_run: str) -> None:
    heads = re.findall(r"^(\w[^\n]*):$", help_of_run, re.MULTILINE)
    assert heads == ["positional arguments", "options", *GROUPS, "Examples"]
    (gate,) = re.findall(rf"^{GATE}:\n(.*?)\n\n", help_of_run, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^  (--[a-z-]+)", gate, re.MULTILINE) == [row.long for row in Gate.rows()]


@pytest.mark.slow("imports commands and what they need")
@pytest.mark.parametrize("name", ["bench", "check", "compare", "export", "ports", "record", "report"])
def test_help_of_other_commands_has_a_description_groups_examples_and_exit_codes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = answer(capsys, name, "--help").out
    heads = re.findall(r"^(\w[^\n]*):$", text[text.index("positional arguments:") :], re.MULTILINE)
    assert heads == ["positional arguments", "options", *(group for group in GROUPS if group in heads), "Examples"]
    assert re.search(r"^options:\n  -h, --help +show this help message and exit\n\n", text, re.MULTILINE)
    assert re.match(r"usage: .*\n\n[A-Z]", text)
    assert len(re.findall(r"^  candle-parity .*\n      \w", text, re.MULTILINE)) > 1
    assert "\nExit codes: 0 " in text


def test_help_has_a_usage_of_one_line_examples_exit_codes_and_where_to_read_more(help_of_run: str) -> None:
    assert help_of_run.startswith("usage: candle-parity run [OPTION...] [PATTERN...]\n\n")
    assert "\n  candle-parity run --kernels path/to/port\n      every kernel of a port\n" in help_of_run
    assert "\nExit codes: 0 met; 1 not met" in help_of_run
    assert help_of_run.rstrip().endswith("docs/README.md")
    assert max(map(len, help_of_run.partition("Documentation:")[0].splitlines())) <= 80
