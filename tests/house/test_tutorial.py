"""docs/tutorial.md: its commands, one after the other, print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.files import ROOT

BLOCK = re.compile(r"```(sh|)\n(.*?)```", re.DOTALL)


def steps() -> list[tuple[str, list[str]]]:
    """Each block of commands, and the lines of output below it."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        if kind == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(line for line in text.splitlines() if line != "...")
    return found


@pytest.mark.nightly("runs every command of the tutorial")
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shown = 0
    for commands, lines in steps():
        done = subprocess.run(
            ["bash", "-c", commands],
            cwd=tmp_path,
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
    assert shown > 12
