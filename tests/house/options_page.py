"""docs/options.md, made of the rows of ``conformance.settings``: ``python -m tests.house.options_page`` writes it."""

from __future__ import annotations

from conformance.files import ROOT
from conformance.option import Option
from conformance.settings import Gate, Session, Settings

PAGE = ROOT / "docs" / "options.md"

HEAD = """# Options

For users of `run` and of the commands that share options with it: what each option is called on the command line, in
`candle-parity.toml` ([declaration.md](declaration.md)) and for pytest, where `--parity-` stands before the name. A row
of `conformance/settings.py` makes all of them, and this page. Options of one command: `candle-parity COMMAND --help`.
"""

GROUPS = (
    (Settings, "How kernels are compiled and run", ""),
    (Gate, "The gate", "The keys are those of the table `[gate]`; exit codes: [judging.md](judging.md#the-gate)."),
    (Session, "How a command works and reports", ""),
)


def page() -> str:
    parts = [HEAD]
    for kind, title, text in GROUPS:
        head = f"## {title}\n\n" + (f"{text}\n\n" if text else "")
        table = "| option | key | pytest | of | |\n|---|---|---|---|---|\n"
        parts.append(head + table + "".join(map(_line, kind.rows())))
    return "\n".join(parts)


def _line(row: Option) -> str:
    value = "|".join(map(str, row.choices)) if row.choices else row.metavar
    flags = [*row.flags, "--no-strict"] if row.name == "strict" else row.flags
    words = ", ".join(flags) + (f" {value}" if value else "")
    cells = (
        f"`{words}`".replace("|", "\\|"),
        f"`{row.name}`" if row.in_file else "",
        "yes" if row.pytest else "",
        " ".join(row.commands),
        row.help,
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
