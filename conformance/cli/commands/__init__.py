"""The commands: a file for each, named as the command. No other file names them.

A file has a docstring that begins "``candle-parity NAME``: what it does.", which ``--help`` shows; ``options``, which
adds the options that it alone has (those that several commands share are rows of ``conformance.settings``); and
``command``, which takes the arguments and gives the exit code. ``EXAMPLES`` and ``EXIT_CODES`` are for ``--help`` and
the man page; without the latter the codes are those of ``conformance.cli.usage.MOST_EXITS``::

    \"\"\"``candle-parity count``: how many kernels there are.\"\"\"

    EXAMPLES = (("candle-parity count --module unary", "those of a module"),)

    def options(parser: CommandParser) -> None:
        parser.add_argument("--module", help="of this module")

    def command(arguments: argparse.Namespace) -> int:
        ...

Only the command that is asked for is imported.
"""

from __future__ import annotations

import argparse
import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from conformance.cli.usage import CommandParser

_FOLDER = Path(__file__).parent
_FIRST = ("doctor", "run", "list")
"""What a newcomer needs; the others follow by name."""


class CommandModule(Protocol):
    """What a file of this folder has."""

    def options(self, parser: CommandParser) -> None:
        """Add the options of the command to ``parser``."""

    def command(self, arguments: argparse.Namespace) -> int:
        """Run the command; returns the exit code."""
        ...


@cache
def command_names() -> tuple[str, ...]:
    """The names of all commands, in the order in which ``--help`` lists them."""
    names = sorted(file.stem for file in _FOLDER.glob("*.py") if file.stem != "__init__")
    return (*(name for name in _FIRST if name in names), *(name for name in names if name not in _FIRST))


def about(name: str) -> str:
    """What the command does, in a phrase: the first line of its docstring. The command is not imported."""
    text = (_FOLDER / f"{name}.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    return " ".join(first.partition(": ")[2].split()).removesuffix(".")


def loaded(name: str) -> CommandModule:
    """The imported module of the command. Raises ``MissingExtra`` where a package is not installed that only this
    command needs."""
    try:
        return cast(CommandModule, import_module(f"{__name__}.{name}"))
    except ModuleNotFoundError as error:
        from conformance.extras import missing  # what a run does without

        lacking = missing(error, name)
        if lacking is None:
            raise
        raise lacking from None
