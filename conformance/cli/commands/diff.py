"""``candle-parity diff``: show what became better and worse between two records."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.cli.usage import CommandParser
from conformance.errors import UsageError
from conformance.option import json_file
from conformance.record import Record, read_record, write_text
from conformance.record.compare import compare
from conformance.record.model import BUILD
from conformance.report.comparison import comparison_json, render_comparison
from conformance.session.gate import MET, NOT_MET

EXAMPLES = (("candle-parity diff old.json.xz new.json.xz --fail-on-worse", "two runs, two ports or two devices"),)
EXIT_CODES = "0 compared; 1 with --fail-on-worse: something became worse; 2 bad usage or bad input"


def options(parser: CommandParser) -> None:
    parser.add_argument("old", type=Path, metavar="OLD", help="a record that run or replay wrote")
    parser.add_argument("new", type=Path, metavar="NEW", help="a later one, another port's, or another device's")
    parser.add_argument("--json", type=json_file, metavar="F", help="write the comparison as JSON")
    parser.add_argument("--fail-on-worse", action="store_true", help="exit 1 when a kernel or case became worse")


def command(arguments: argparse.Namespace) -> int:
    old, new = (record_of_run(path) for path in (arguments.old, arguments.new))
    comparison = compare(old, new)
    names = str(arguments.old), str(arguments.new)
    if arguments.json is not None:
        write_text(arguments.json, comparison_json(comparison, *names))
    print(render_comparison(comparison, *names))
    parts = comparison.parts.values()
    if not any(part.compared for part in parts):
        raise UsageError(
            f"{names[0]} and {names[1]} have a verdict on no kernel in common: there is nothing to compare"
        )
    return NOT_MET if arguments.fail_on_worse and any(part.worse for part in parts) else MET


def record_of_run(path: Path) -> Record:
    """The record at ``path``. Raises ``FileError``, and ``UsageError`` for the record of a build, which has no
    verdicts."""
    record = read_record(path)
    if record.run.runtime == BUILD:
        raise UsageError(f"{path}: is the record of a build, which has no verdicts; give what `run --json` wrote")
    return record
