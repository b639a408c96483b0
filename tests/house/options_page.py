"""docs/options.md, made of the rows of ``conformance.settings``: ``python -m tests.house.options_page`` writes it."""

from __future__ import annotations

from itertools import groupby

from conformance.files import ROOT
from conformance.option import Option
from conformance.settings import OPTIONS

PAGE = ROOT / "docs" / "options.md"

HEAD = """# Options

For users of `run` and of the commands that share options with it: what each is called. One with a key in parentheses
may stand in [candle-parity.toml](declaration.md); pytest has those with a `*`, as `--parity-...`. For options of one
command: `candle-parity COMMAND --help`.
"""


def page() -> str:
    rows = sorted(OPTIONS, key=_commands)
    return HEAD + "".join(
        f"\nOf {commands}:\n\n{''.join(map(_line, group))}" for commands, group in groupby(rows, key=_commands)
    )


def _commands(row: Option) -> str:
    return ", ".join(f"`{name}`" for name in row.commands)


def _line(row: Option) -> str:
    value = "|".join(map(str, row.choices)) if row.choices else row.metavar
    flags = [*row.flags, "--no-strict"] if row.name == "strict" else row.flags
    words = ", ".join(flags) + (f" {value}" if value else "")
    return f"- `{words}`{' *' * row.pytest}{f' (`{row.name}`)' * row.in_file}: {row.help}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
