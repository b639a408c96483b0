"""``candle-parity report``."""

from __future__ import annotations

import argparse

from conformance.cli.finishing import write_reports
from conformance.record import merge, read_record
from conformance.report import render_terminal
from conformance.spec.load import load_specs


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    records = merge([read_record(path) for path in arguments.records])
    if not write_reports(arguments, records, specs):
        for record in records:
            print(render_terminal(record, specs))
    return 0
