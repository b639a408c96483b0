"""The commands of README, CONTRIBUTING and docs/, as their pages have them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.files import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / "specs").glob("*.md"),
]
PROGRAMS = ("candle-parity", "pytest", "make")


@dataclass(frozen=True)
class Written:
    """A command of a page: the program and its words."""

    page: str
    program: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join([self.program, *self.words])}"


def in_blocks() -> list[Written]:
    """Every command of one of our programs in a fenced block of shell, each once for a page."""
    found: dict[Written, None] = {}
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                found.update(dict.fromkeys(_commands(page, line)))
    return list(found)


def in_output() -> list[Written]:
    """The commands of ours that a page shows as output, such as the one that shows a failure again."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line.strip().startswith("candle-parity ") and not line.strip().startswith("candle-parity cpu"):
                    found += _commands(page, line.strip())
    return found


def inline() -> list[tuple[str, str, list[str]]]:
    """Page, command and options of each `run --this` that stands in a text."""
    found = []
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for code in re.findall(r"`([^`]+)`", text):
            match = re.fullmatch(r"(?:candle-parity )?([a-z]+)((?: [^ ]+)*)", code)
            if match and " --" in match[2] and match[1] not in ("make", "pytest", "python", "sbatch"):
                found.append((page.name, match[1], re.findall(r" (--[a-z][\w-]*)", match[2])))
    return found


def _commands(page: Path, line: str) -> Iterator[Written]:
    """The commands of a line that is split at the shell's operators, without assignments and what starts them."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    command: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("();<>|&") or word == "--":
            yield from _command(page, command)
            command = []
        else:
            command.append(word)


def _command(page: Path, words: list[str]) -> Iterator[Written]:
    words = [word.removeprefix(".venv/bin/") for word in words]
    for starter in (["python", "-m"], ["xargs"]):
        if words[: len(starter)] == starter:
            words = words[len(starter) :]
    if words and words[0] in PROGRAMS:
        yield Written(page.name, words[0], tuple(words[1:]))
