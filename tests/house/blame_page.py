"""The table of docs/internals.md "Who is to blame", made of the rows of ``conformance.verdict.blame``:
``python -m tests.house.blame_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from conformance.files import ROOT
from conformance.verdict.blame import TABLE, TRIES, BlameRow, Event

PAGE = ROOT / "docs" / "internals.md"

BEGIN = "<!-- written by tests/house/blame_page.py -->\n"
END = "<!-- end of what it writes -->\n"

SURVIVES = {True: "on the host", False: "on a GPU"}
FRESH = {True: "the executor had run nothing else", False: "the executor had run something before"}
MINE = {True: "this judge's request may be the cause", False: "only another judge's request can be the cause"}
LOST = {True: "the kernel or source has cost an executor before", False: "it has cost none before"}
NEIGHBOUR = {True: "at a later try", False: "at the first try"}
MEMBER = {True: "at the last try of the request", False: "the request may be tried again"}
BEFORE = {
    Event.TIME_OUT: {True: "for the second time", False: "for the first time"},
    Event.UNSUPPORTED: {True: "a case has failed before", False: "no case has failed before"},
    Event.UNUSED: {True: f"{TRIES} times", False: f"fewer than {TRIES} times"},
    Event.MEMBER: MEMBER,
    Event.STARTING: {True: "for the second time", False: "for the first time"},
}


def conditions(row: BlameRow) -> Iterator[str]:
    """What has to hold for ``row``, in words."""
    lost = LOST if row.mine else NEIGHBOUR
    for words, value in ((SURVIVES, row.survives), (MINE, row.mine), (BEFORE.get(row.event, lost), row.before)):
        if value is not None:
            yield words[value]
    if row.fresh is not None:
        yield FRESH[row.fresh]


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
