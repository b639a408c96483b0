"""``candle-parity diff``."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.errors import UsageError
from conformance.record import Record, read_record, write_text
from conformance.record.compare import compare
from conformance.record.model import BUILD
from conformance.report.comparison import comparison_json, render_comparison
from conformance.session.gate import MET, NOT_MET


def command(arguments: argparse.Namespace) -> int:
    old, new = (record_of_run(path) for path in (arguments.old, arguments.new))
    found = compare(old, new)
    names = str(arguments.old), str(arguments.new)
    if arguments.json is not None:
        write_text(arguments.json, comparison_json(found, *names))
    print(render_comparison(found, *names))
    if not found.compared and not found.launchers.compared:
        raise UsageError(
            f"{names[0]} and {names[1]} have a verdict on no kernel in common: there is nothing to compare"
        )
    return NOT_MET if arguments.fail_on_worse and (found.worse or found.launchers.worse) else MET


def record_of_run(path: Path) -> Record:
    """The record at ``path``; raises ``FileError``, and ``UsageError`` for that of a build, which has no verdicts."""
    record = read_record(path)
    if record.run.runtime == BUILD:
        raise UsageError(f"{path}: is the record of a build, which has no verdicts; give what `run --json` wrote")
    return record
