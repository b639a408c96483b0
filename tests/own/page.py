"""The commands of docs/own-kernels.md, and what the page says that they print."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from conformance.files import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def steps() -> list[tuple[str, list[str]]]:
    """Each block of commands, and the lines of output below it."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "own-kernels.md").read_text(encoding="utf-8")):
        if kind == "sh":
            found.append((text, []))
        elif not kind:
            found[-1][1].extend(text.splitlines())
    return found


def follow(folder: Path, programs: Path, **variables: str) -> None:
    """Run the page's commands in ``folder`` by the ``candle-parity`` among ``programs``."""
    environment = {**os.environ, **variables, "PATH": f"{programs}:{os.environ['PATH']}"}
    for commands, lines in steps():
        done = subprocess.run(
            ["bash", "-c", commands], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        rest = done.stdout.splitlines()
        for line in lines:
            at = next((number for number, told in enumerate(rest) if line in told), None)
            assert at is not None, f"{commands}\n{line!r} is not in, or not in this order:\n{done.stdout}{done.stderr}"
            rest = rest[at + 1 :]
