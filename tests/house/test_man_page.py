"""The man page is of the options that there are, and every example of a command is one that its parser takes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest
from man_page import PAGE, page

from conformance.cli.commands import command_names, loaded
from conformance.cli.main import parse
from conformance.cli.usage import MOST_EXITS


@pytest.mark.slow("imports every command")
def test_the_man_page_is_that_of_the_parsers() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.house.man_page"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_has_nothing_to_say_about_the_man_page() -> None:
    words = ["groff", "-man", "-Tutf8", "-ww", str(PAGE)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "candle-parity run" in re.sub(".\b|\x1b\\[[0-9]*m", "", done.stdout)  # without bold


@pytest.mark.slow("imports a command and what it needs")
@pytest.mark.parametrize("name", command_names())
def test_examples_of_a_command_are_read_by_its_parser(name: str) -> None:
    examples = getattr(loaded(name), "EXAMPLES", ())
    assert examples
    for command, _ in examples:
        found = re.search(r"candle-parity ([^|)]*)", command)
        assert found is not None
        if name != "completion":
            assert command.startswith("candle-parity ")
        assert parse(shlex.split(found[1] if name == "completion" else command)[name != "completion" :]).command == name


@pytest.mark.slow("imports a command and what it needs")
@pytest.mark.parametrize("name", command_names())
def test_exit_codes_of_a_command_begin_with_that_of_success(name: str) -> None:
    codes = getattr(loaded(name), "EXIT_CODES", MOST_EXITS)
    assert codes.startswith(("0 ", "as those of `run`"))
    assert not codes.endswith(".")
