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

For whoever sets up a machine or a container: every variable that the harness, its Makefile and its tests read. An
option of the command line wins over its variable; an empty variable counts as one that is not set, if nothing else is
said. A value that is not allowed ends every command with exit code 2 and the name of the variable.
"""

ABOUT = {
    CPU: """
Options of our `libamdhip64`. Those marked "weakens" switch a check off at the value that is named: the run then says
"checks were weakened", and the record names them under `weakened`.
"""
}

SEEN = """
## What kernels see

A kernel on the host, and the host code of a linked launcher everywhere, can read the environment of its process and
print it. So processes that run kernels get the variables of this table and no others, and of these none whose name
speaks of a token, a secret, a password, credentials or a key: `NVIDIA_API_KEY`. A `*` stands for any rest of a name.
`CANDLE_PARITY_PASS` names further ones, whatever they are called. Compilers and judges, which run nothing of a port,
have the whole environment.

| runtime | variables |
|---|---|
"""


def page() -> str:
    parts = [HEAD]
    for section, rows in groupby(VARIABLES, key=lambda row: row.section):
        parts.append(f"\n## {section}\n{ABOUT.get(section, '')}\n{''.join(map(_line, rows))}")
    seen = [("all", EVERYWHERE), *((name, runtime_kind(name).environment) for name in NAMES)]
    parts.append(SEEN + "".join(f"| {name} | {', '.join(f'`{one}`' for one in names)} |\n" for name, names in seen))
    return "".join(parts) + BY_HAND + PAGE.read_text(encoding="utf-8").partition(BY_HAND)[2]


def _line(row: Variable) -> str:
    allowed = f" Allowed: {row.allowed}." if row.allowed else ""
    default = f" Default: {row.default}." if row.default else ""
    return f"- `{row.name}`: {row.about}.{allowed}{default}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
