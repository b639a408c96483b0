"""``candle-parity report``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from conformance.cli.finishing import write_reports
from conformance.cli.usage import UsageError
from conformance.record import Record, check_specs, merge, read_record
from conformance.report import render_terminal
from conformance.spec.load import Specs, load_specs


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    records = merge([_read(path, specs) for path in arguments.records])
    if arguments.wiring is not None:
        places = _wired_at(arguments.wiring)
        records = [_with_wiring(record, places) for record in records]
    if not write_reports(arguments, records, specs):
        for record in records:
            print(render_terminal(record, specs))
    return 0


def _read(path: Path, specs: Specs) -> Record:
    record = read_record(path)
    check_specs(record, specs, path)
    return record


def _wired_at(path: Path) -> dict[str, tuple[str, ...]]:
    """Where each kernel is asked for, from what ``candle-parity wiring --json`` wrote."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["kernels"]
        return {str(row["name"]): tuple(map(str, row["wired_at"])) for row in rows}
    except OSError as error:
        raise UsageError(f"{path}: the wiring cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path}: is not a wiring; expected what `candle-parity wiring --json` writes") from error


def _with_wiring(record: Record, places: dict[str, tuple[str, ...]]) -> Record:
    rows = [row.model_copy(update={"wired_at": places.get(row.name)}) for row in record.kernels]
    return Record.of(record.run, rows)
