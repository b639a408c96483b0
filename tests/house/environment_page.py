"""docs/environment.md, made of the rows of ``conformance.environment``.

``python -m tests.house.environment_page`` writes it, but for what follows the last heading, which is of make and the
tests and written by hand.
"""

from __future__ import annotations

from itertools import groupby

from conformance.environment import CPU, EVERYWHERE, VARIABLES, Variable
from conformance.files import ROOT
from conformance.runtimes import NAMES, runtime_kind

PAGE = ROOT / "docs" / "environment.md"
BY_HAND = "\n## make and the tests\n"

HEAD = """# Environment variables

For everyone who sets up a machine or a container: every variable that the harness, its Makefile and its tests read.

- An option of the command line wins over its variable.
- An empty variable counts as not set, if the table says nothing else.
- A value that is not allowed ends every command with exit code 2, and the message names the variable.
"""

COLUMNS = "| variable | meaning | allowed values | default |\n|---|---|---|---|\n"

ABOUT = {
    CPU: """
These are options of our `libamdhip64`. "Weakens" means that the value switches a check off. The run then says "checks
were weakened", and the record names the variable under `weakened`.
"""
}

SEEN = """
## What kernels see

A kernel on the host can read the environment of its process and print it, and so can the host code of a linked launcher
on every runtime. Therefore processes that run kernels get only the variables of this table. They do not get a variable
whose name speaks of a token, a secret, a password, credentials or a key, such as `NVIDIA_API_KEY`. `CANDLE_PARITY_PASS`
names more variables to pass, whatever they are called. Compilers and judges run nothing of a port and have the whole
environment.

A `*` stands for any rest of a name.

| runtime | variables that are passed |
|---|---|
"""


def page() -> str:
    parts = [HEAD]
    for section, rows in groupby(VARIABLES, key=lambda row: row.section):
        parts.append(f"\n## {section}\n{ABOUT.get(section, '')}\n{COLUMNS}{''.join(map(_row, rows))}")
    seen = [("all", EVERYWHERE), *((name, runtime_kind(name).environment) for name in NAMES)]
    parts.append(SEEN + "".join(f"| {name} | {', '.join(f'`{one}`' for one in names)} |\n" for name, names in seen))
    return "".join(parts) + BY_HAND + PAGE.read_text(encoding="utf-8").partition(BY_HAND)[2]


def _row(row: Variable) -> str:
    return f"| `{row.name}` | {row.about} | {row.allowed} | {row.default} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
