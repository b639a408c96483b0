"""The board as one HTML file: its data, and the style and script that show them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.record import KernelResult
from conformance.report.board.board_markdown import command_of
from conformance.report.board.columns import Board, Column
from conformance.report.details import OWN
from conformance.report.html.data import Pool, visible_in
from conformance.report.html.page import filled, page_style
from conformance.report.runs import executed
from conformance.status import ROWS, STATUSES
from conformance.text import shortened

_FOLDER = Path(__file__).parent
_LONGEST = 160
"""Characters of what a failure, an error or an advice says: the record has it in full."""

_UNSEEN = ("pass", "missing", "not_run")
"""States that need no reason."""


def render_board(board: Board) -> str:
    """The board as an HTML 5 document that needs nothing else."""
    script = [Path("dom.js"), _FOLDER / "board.js"]
    return filled(
        _FOLDER / "board.html.j2",
        page_style(_FOLDER / "board.css"),
        script,
        _data(board),
        notes=board.notes,
        rows=[(row, executed(row.best.record.run)) for row in board.rows()],
        columns=[(column, executed(column.record.run)) for column in board.judged],
        own=board.own(),
        about_own=OWN[1],
        declared=board.declared(),
    )


def _data(board: Board) -> dict[str, Any]:
    causes, texts = Pool(), Pool()
    letter = {status: str(at) for at, status in enumerate(STATUSES)}
    data: dict[str, Any] = {
        "statuses": [[status, ROWS[status].sign, ROWS[status].label] for status in STATUSES],
        "kernels": [[kernel.name, kernel.variant.get("dtype", "")] for kernel in board.kernels],
        "best": [board.columns.index(row.best) for row in board.rows()],
        "groups": [list(group) for group in board.groups()],
        "columns": [
            {
                "port": column.port,
                "level": column.level,
                "states": "".join(letter[column.state(row)] for row in column.rows),
                "prefix": column.prefix,
                "prepare": column.prepare,
                "why": dict(_reasons(column, causes, texts)),
            }
            for column in board.columns
        ],
    }
    found: dict[str, Any] = visible_in({**data, "causes": causes.values, "texts": texts.values})
    return found


def _reasons(column: Column, causes: Pool, texts: Pool) -> Iterable[tuple[str, list[Any]]]:
    """Of each kernel that is not at parity: its number, causes, what is wrong, and the end of the command that shows
    it (none: the kernel's name)."""
    numbers = {row.name: at for at, row in enumerate(column.rows)}
    under: dict[str, list[int]] = {}
    shown: dict[str, str] = {}
    for finding in column.findings:
        cause = finding.cause
        number = causes.number([cause.bug_class, cause.title, shortened(finding.advice, _LONGEST)])
        for share in finding.shares:
            under.setdefault(share.kernel.name, []).append(number)
            shown.setdefault(share.kernel.name, command_of(share, column) or "")
    for row in column.rows:
        if column.state(row) not in _UNSEEN:
            end = shown.get(row.name, "").removeprefix(column.prefix)
            yield str(numbers[row.name]), [under.get(row.name, []), texts.number(_said(row)), end]


def _said(row: KernelResult) -> str:
    if row.known_reason:
        return shortened(f"declared by the port: {row.known_reason}", _LONGEST)
    if row.failures:
        return shortened(f"{row.failed} of {row.cases} cases fail; {row.failures[0].why}", _LONGEST)
    return shortened(row.message or "", _LONGEST)
