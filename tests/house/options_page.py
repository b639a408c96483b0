"""docs/options.md, made of the rows of ``conformance.settings`` and the files of ``conformance.report.files``:
``python -m tests.house.options_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.files import ROOT
from conformance.option import COMPILING, GATE, GROUPS, JUDGING, LAUNCHING, Option
from conformance.report.files import report_files
from conformance.settings import OPTIONS

PAGE = ROOT / "docs" / "options.md"

EVERY = (*OPTIONS, *(report.option for report in report_files()))

HEAD = """# Options

For users of `run` and of the commands that share options with it: every option, with what it means, which commands have
it, and its name in [candle-parity.toml](declaration.md) and in pytest. `candle-parity COMMAND --help` lists all options
of one command, also those that no other command has.

A key with `[gate]` stands in that table of the file. An option with "yes" is an option of pytest too, where `--wave` is
called `--parity-wave`, and so on. The last column uses these names:
"""

COLUMNS = "| option | meaning | key in the file | pytest | commands |\n|---|---|---|---|---|\n"

SETS = {COMPILING: "that compile", LAUNCHING: "that launch", JUDGING: "that judge"}
"""Names of groups of commands that many options have."""


def page() -> str:
    sets = "".join(f"| those {name} | {_named(commands)} |\n" for commands, name in SETS.items())
    parts = [HEAD, f"\n| name | commands |\n|---|---|\n{sets}"]
    for group in GROUPS:
        rows = "".join(_row(row) for row in EVERY if row.group == group)
        heading = f"{group[0].upper()}{group[1:]}"
        parts.append(f"\n## {heading}\n\n{COLUMNS}{rows}")
    return "".join(parts)


def _row(row: Option) -> str:
    value = "\\|".join(map(str, row.choices)) if row.choices else row.metavar
    toggle = row.read is bool and row.default is None
    flags = [*row.flags, f"--no-{row.long.removeprefix('--')}"] if toggle else list(row.flags)
    option = ", ".join(f"`{flag}`" for flag in flags) + (f" `{value}`" if value else "")
    key = f"`{row.name}`{' in `[gate]`' if row.group == GATE else ''}" if row.in_file else ""
    pytest = "yes" if row.pytest else ""
    meaning = row.help.replace("|", "\\|").replace("%%", "%")
    return f"| {option} | {meaning} | {key} | {pytest} | {_commands(row.commands)} |\n"


def _commands(commands: tuple[str, ...]) -> str:
    """The commands, those of a set by its name: ``those that launch, `check` ``."""
    for known, name in SETS.items():
        if set(known) <= set(commands):
            others = [one for one in commands if one not in known]
            return f"those {name}" + (f", {_named(others)}" if others else "")
    return _named(commands)


def _named(commands: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in commands)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
