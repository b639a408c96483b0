"""docs/candle-parity.1, the man page, made of the parsers: ``python -m tests.house.man_page`` writes it.

A wheel has it as share/man/man1/candle-parity.1, where pipx, uv and an environment's ``man`` find it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from conformance.cli.commands import about, command_names, loaded
from conformance.cli.main import build_parser
from conformance.cli.usage import MOST_EXITS, PATTERNS, CommandParser
from conformance.environment import VARIABLES
from conformance.files import ROOT

PAGE = ROOT / "docs" / "candle-parity.1"


def page() -> str:
    """The page, in the macros of man(7)."""
    parser = build_parser()
    lines = [
        '.\\" python -m tests.house.man_page writes this file',
        ".TH CANDLE\\-PARITY 1",
        ".SH NAME",
        "candle\\-parity \\- how far a HIP port of Candle\\(aqs CUDA kernels is at parity with Candle",
        ".SH SYNOPSIS",
        *(f".B candle\\-parity {_text(_synopsis(parser.of(name)))}\n.br" for name in command_names()),
        ".SH DESCRIPTION",
        "Judges kernels by what they leave in memory, against a reference, with or without a GPU, and reports which",
        "are at parity. The commands:",
    ]
    for name in command_names():
        lines += _item(f".B {name}", about(name))
    lines += [".SH PATTERNS", _text(PATTERNS)]
    for name in command_names():
        lines += [f".SH {name.upper()}", *_of_command(parser.of(name), name)]
    lines.append(".SH ENVIRONMENT")
    for row in VARIABLES:
        allowed = f" Allowed: {row.allowed}." if row.allowed else ""
        default = f" Default: {row.default}." if row.default else ""
        lines += _item(f".B {_text(row.name)}", f"{row.about}.{allowed}{default}".replace("`", ""))
    return "\n".join(lines) + "\n"


def _synopsis(parser: CommandParser) -> str:
    return parser.usage_line().removeprefix("candle-parity ")


def _of_command(parser: CommandParser, name: str) -> Iterable[str]:
    yield f"{_text(about(name))}."
    for group in parser._action_groups:
        actions = [one for one in group._group_actions if one.help not in (None, argparse.SUPPRESS)]
        actions = [one for one in actions if one.option_strings != ["-h", "--help"]]
        if actions and group.title not in ("options", "positional arguments"):
            yield f".SS {_text(str(group.title))}"
        for action in actions:
            value = f"{{{'|'.join(map(str, action.choices))}}}" if action.choices else action.metavar or ""
            words = ", ".join(action.option_strings) or str(action.metavar or value)
            yield from _item(
                f".B {_text(f'{words} {value}' if action.option_strings and value else words)}", action.help
            )
    module = loaded(name)
    yield ".SS exit codes"
    yield f"{_text(getattr(module, 'EXIT_CODES', MOST_EXITS))}."
    yield ".SS examples"
    for command, what in getattr(module, "EXAMPLES", ()):
        yield from _item(f".B {_text(command)}", what)


def _item(head: str, text: str | None) -> list[str]:
    return [".TP", head.strip(), _text((text or "").replace("%%", "%"))]


def _text(text: str) -> str:
    """``text`` for roff: no line of it is a request."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
