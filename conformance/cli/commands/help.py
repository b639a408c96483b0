"""``candle-parity help``: show what a command does, and its options."""

from __future__ import annotations

import argparse

from conformance.cli.usage import CommandParser, meant
from conformance.errors import UsageError

EXAMPLES = (("candle-parity help run", "the options of a command"),)


def options(parser: CommandParser) -> None:
    parser.add_argument("of", nargs="?", metavar="COMMAND", help="a command (default: what commands there are)")


def command(arguments: argparse.Namespace) -> int:
    from conformance.cli.commands import command_names
    from conformance.cli.main import build_parser

    name: str | None = arguments.of
    if name is None:
        build_parser("").print_help()
        return 0
    if name not in command_names():
        raise UsageError(
            f"help: there is no command {name}{meant(name, [*command_names()])}; `candle-parity help` lists them"
        )
    build_parser(name).of(name).print_help()
    return 0
