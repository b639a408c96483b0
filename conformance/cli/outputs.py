"""Output files of a command line: none of them may be an input of the same command, or another output."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from conformance.cli.usage import UsageError

_RENDERED = ("md", "html", "summary", "junit", "badge")
_INPUTS = {"records": "RECORD", "old": "OLD", "new": "NEW", "rendered": "--from", "wiring": "--wiring"}
_INPUTS |= {"baseline": "--baseline", "config": "--config"}
_WRITES_RECORDS = ("run", "replay", "build", "report")
"""Commands whose ``--json`` is a record, which may take the place of a record that they read."""


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raises ``UsageError`` where a file would overwrite an input or another output, or is called ``-``."""
    inputs = list(_inputs(arguments))
    seen: list[tuple[str, Path]] = []
    for option, path in _outputs(arguments):
        if str(path) == "-":
            raise UsageError(f"{option} -: standard output is for --json alone; give the name of a file")
        for word, other in seen:
            if _same(path, other):
                raise UsageError(f"{word} and {option} both name {path}; give each a file of its own")
        replaces = option == "--json" and arguments.command in _WRITES_RECORDS
        for word, other in () if replaces else inputs:
            if _same(path, other):
                raise UsageError(f"{option} {path} would overwrite what {word} names; give another file")
        seen.append((option, path))


def _outputs(arguments: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name in ("json", *_RENDERED):
        path = getattr(arguments, name, None)
        if isinstance(path, Path):
            yield f"--{name}", path


def _inputs(arguments: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    for name, word in _INPUTS.items():
        given = getattr(arguments, name, None)
        yield from ((word, path) for path in (given if isinstance(given, list) else [given]) if isinstance(path, Path))


def _same(one: Path, other: Path) -> bool:
    """Whether both are the same regular file, or would be; devices and pipes take any number of writers."""
    if (one.exists() and not one.is_file()) or (other.exists() and not other.is_file()):
        return False
    try:
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError):  # a loop of links: writing it says so
        return False
