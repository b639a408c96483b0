"""docs/tutorial.md and the pages of examples/: their commands, one after the other, print what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.files import ROOT

BLOCK = re.compile(r"```(sh|)\n(.*?)```", re.DOTALL)


def steps(page: Path) -> list[tuple[str, list[str]]]:
    """Each block of commands, and the lines of output below it."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(line for line in text.splitlines() if line != "...")
    return found


def follow(page: Path, folder: Path) -> int:
    """Run the commands of ``page`` in ``folder``; the number of lines of output that were found."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shown = 0
    for commands, lines in steps(page):
        done = subprocess.run(
            ["bash", "-c", commands],
            cwd=folder,
            env={**os.environ, "PATH": programs},
            capture_output=True,
            text=True,
            check=False,
        )
        rest = done.stdout.splitlines()
        for line in lines:
            at = next((number for number, told in enumerate(rest) if line in told), None)
            assert at is not None, f"{commands}\n{line!r} is not in, or not in this order:\n{done.stdout}{done.stderr}"
            rest = rest[at + 1 :]
            shown += 1
    return shown


@pytest.mark.nightly("runs every command of the tutorial")
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    assert follow(ROOT / "docs" / "tutorial.md", tmp_path) > 12


@pytest.mark.nightly("compiles and judges the kernels of an example, before and after each mend")
@pytest.mark.parametrize(("example", "lines"), [("three-mistakes", 14), ("ci-repository", 2)])
def test_an_example_does_what_its_page_says(tmp_path: Path, example: str, lines: int) -> None:
    folder = tmp_path / example
    shutil.copytree(ROOT / "examples" / example, folder)
    assert follow(folder / "README.md", folder) == lines
