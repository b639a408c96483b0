"""``candle-parity board``: show the records of several ports on one page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.cli.usage import CommandParser
from conformance.errors import UsageError
from conformance.record import Record, check_specs, kept_apart, merge, read_record, write_text
from conformance.record.merge import gaps
from conformance.record.model import BUILD
from conformance.report.board import board_of, render_board, render_board_markdown
from conformance.session.gate import BAD_INPUT, MET
from conformance.spec.load import Specs, load_specs
from conformance.text import one_line

EXAMPLES = (("candle-parity board ours.json.xz theirs.json.xz --html board.html", "two ports on one page"),)


def options(parser: CommandParser) -> None:
    parser.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="a record that run or ports wrote")


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    if arguments.html is None and arguments.md is None:
        raise UsageError("board writes a page: give --html FILE, --md FILE or both")
    given = [_read(path, specs) for path in arguments.records]
    records = merge(given)
    board = board_of(records, specs)
    if arguments.html is not None:
        write_text(arguments.html, render_board(board))
    if arguments.md is not None:
        write_text(arguments.md, render_board_markdown(board))
    missing = gaps(records)
    for sentence in (*kept_apart(given), *missing):
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    return BAD_INPUT if missing else MET


def _read(path: Path, specs: Specs) -> Record:
    record = read_record(path)
    check_specs(record, specs, path)
    if record.run.runtime == BUILD or record.run.subject == "reference":
        raise UsageError(f"{path}: judges no port's kernels; give what `run --json`, `replay --json` or `ports` wrote")
    return record
