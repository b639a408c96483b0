"""The table of docs/internals.md "Who is to blame", made of the rows of ``conformance.verdict.blame``:
``python -m tests.house.blame_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from conformance.files import ROOT
from conformance.verdict.blame import TABLE, BlameRow

PAGE = ROOT / "docs" / "internals.md"

BEGIN = "<!-- written by tests/house/blame_page.py -->\n"
END = "<!-- end of what it writes -->\n"

WORDS = {
    "survives": ("on the host", "on a GPU"),
    "mine": ("this judge's request may be the cause", "only another judge's request can be the cause"),
    "cost_executor": ("the kernel or source has cost an executor before", "it has cost none before"),
    "tried": ("at a later attempt", "at the first attempt"),
    "timed_out": ("another case was ended so before", "for the first time"),
    "case_failed": ("a case has failed before", "no case has failed before"),
    "last_try": ("at the last try", "before the last try"),
    "fresh": ("the executor had run nothing else", "the executor had run something before"),
}
"""What a field of ``State`` says where it is true, and where it is false, in the order of the page."""


def conditions(row: BlameRow) -> Iterator[str]:
    """What has to hold for ``row``, in words."""
    for name, (true, false) in WORDS.items():
        if name in row.conditions:
            yield true if row.conditions[name] else false


def table() -> str:
    lines = ["| when | and | then |\n", "|---|---|---|\n"]
    for event, rows in groupby(TABLE, key=lambda row: row.event):
        for number, row in enumerate(rows):
            first = event.value if number == 0 else ""
            lines.append(f"| {first} | {'; '.join(conditions(row))} | {row.action.value} |\n")
    return "".join(lines)


def with_table(page: str) -> str:
    """``page`` with the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
