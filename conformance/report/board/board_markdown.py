"""The board as Markdown: figures by record, by module and family, and by cause with the command that shows it."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.report.again import again
from conformance.report.board.columns import NAMES, Board, Column, PortRow
from conformance.report.causes.find import Finding, Share
from conformance.report.details import OWN
from conformance.report.markdown import table
from conformance.report.runs import executed
from conformance.text import code, counted, plain, some

_NAMED = 4


def render_board_markdown(board: Board) -> str:
    """The board as a Markdown document."""
    ports = board.rows()
    best = [row.best for row in ports]
    heads = ["Kernels", *(plain(row.port) for row in ports)]
    body = []
    for module, family, numbers in board.groups():
        name = f"· {plain(family)}" if family else f"**{plain(module or 'all')}**"
        figures = [column.figure(column.rows[at] for at in numbers).text for column in best]
        body.append([name, *figures])
    lines = ["# Ports of Candle's kernels", "", "Written by `candle-parity board` from records; do not edit.", ""]
    lines += [f"- {plain(note)}" for note in board.notes]
    lines += ["", "## Ports, by their best run", "", *table(*_ports(ports), "lrllll")]
    lines += ["", "## Records", "", *table(*_records(board.judged), "llllll"), ""]
    lines += ["## Parity of the best runs", "", *table(heads, body, "l" + "r" * len(best)), ""]
    lines += [*_own(board), *_declared(board)]
    lines += ["## Causes", "", "Each with the command that judges the first kernel again.", ""]
    for port, columns in board.ports().items():
        lines += [f"### {plain(port)}", ""]
        prepare = next((column.prepare for column in columns if column.prepare), "")
        lines += [f"{code(prepare)}", ""] if prepare else []
        for column in columns:
            lines += [*_causes(column), ""] if column.level != NAMES else []
    return "\n".join(lines).rstrip() + "\n"


def _ports(rows: Iterable[PortRow]) -> tuple[list[str], list[list[str]]]:
    heads = ["Port", "At parity", "Kernels", "Best run", "Other runs", "Commit"]
    return heads, [
        [
            plain(row.port),
            f"{row.best.figure().percent}%",
            plain(row.text),
            plain(f"{row.best.level}: {executed(row.best.record.run)}"),
            plain(", ".join(f"{other.level} {other.figure().percent}%" for other in row.others)),
            plain(row.best.places[0]),
        ]
        for row in rows
    ]


def _records(columns: Iterable[Column]) -> tuple[list[str], list[list[str]]]:
    heads = ["Port", "Level", "At parity", "Commit", "Date", "Where"]
    return heads, [
        [
            plain(column.port),
            plain(column.level),
            column.figure().text,
            *map(plain, column.places),
            plain(executed(column.record.run)),
        ]
        for column in columns
    ]


def _own(board: Board) -> list[str]:
    """The ports' own kernels, by run; empty where no run judged any."""
    body = [
        [plain(row.port), plain(row.level), f"{row.passing} of {row.total}", plain(row.not_at_parity)]
        for row in board.own()
    ]
    lines = ["## Own kernels", "", f"{OWN[1]}", "", *table(["Port", "Run", "At parity", "Not at parity"], body, "llll")]
    return [*lines, ""] if body else []


def _declared(board: Board) -> list[str]:
    """What the ports declare of their kernels; empty where none declares anything."""
    body = [[plain(one.port), plain(one.levels), plain(one.text), plain(one.kernels)] for one in board.declared()]
    lines = ["## What ports declare", "", *table(["Port", "Runs", "Choice", "Kernels"], body, "llll")]
    return [*lines, ""] if body else []


def _causes(column: Column) -> list[str]:
    lines = [f"{plain(column.level)}: {'nothing that was judged fails' if not column.findings else ''}".rstrip(": ")]
    for finding in column.findings:
        names = [share.kernel.name for share in finding.shares]
        mark = f" [{finding.cause.bug_class}]" if finding.cause.bug_class else ""
        about = f"{counted(len(names), 'kernel')}: {plain(finding.cause.title)}{mark}"
        lines.append(f"- {about} ({plain(some(names, _NAMED))}): {code(shown_by(column, finding))}")
    return lines


def shown_by(column: Column, finding: Finding) -> str:
    """The command that shows the cause ``finding``: that of the first failing case which the record has in full, else
    of a kernel."""
    commands = (command_of(share, column) for share in finding.shares)
    return next(filter(None, commands), f"{column.prefix}{finding.shares[0].kernel.name}")


def command_of(share: Share, column: Column) -> str | None:
    """The command of the kernel's first failure that belongs to the cause; ``None`` where the record has none in
    full."""
    texts = {case.text for case in share.cases}
    found = (one for one in share.kernel.failures if not texts or one.case.partition("(")[2].removesuffix(")") in texts)
    return next(filter(None, (again(one.reproduce) for one in found)), None)
