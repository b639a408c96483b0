"""``candle-parity report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from conformance.cli.finishing import write_reports
from conformance.cli.usage import UsageError
from conformance.reading import read_json, shortened
from conformance.record import Record, check_specs, merge, read_record
from conformance.report import render_terminal
from conformance.spec.load import Specs, load_specs

_EXPECTED = "expected what `candle-parity wiring --json` writes"


class _Row(BaseModel):
    """A kernel of a wiring, as far as a report needs it; further keys are let be."""

    model_config = ConfigDict(strict=True)

    name: str
    wired_at: list[str]
    not_told: list[str] = []


class _Wiring(BaseModel):
    """What ``wiring --json`` writes, as far as a report needs it."""

    model_config = ConfigDict(strict=True)

    kernels: list[_Row]


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    records = merge([_read(path, specs) for path in arguments.records])
    if arguments.wiring is not None:
        places = _wired_at(arguments.wiring)
        records = [_with_wiring(record, places) for record in records]
    baseline = None if arguments.baseline is None else _read(arguments.baseline, specs)
    if not write_reports(arguments, records, specs, baseline):
        for record in records:
            print(render_terminal(record, specs))
    return 0


def _read(path: Path, specs: Specs) -> Record:
    record = read_record(path)
    check_specs(record, specs, path)
    return record


def _wired_at(path: Path) -> dict[str, tuple[str, ...]]:
    """Where each kernel is asked for, from what ``candle-parity wiring --json`` wrote, as far as that is told there."""
    try:
        wiring = _Wiring.model_validate(read_json(path, pipe=True))
    except OSError as error:
        raise UsageError(f"{path}: the wiring cannot be read ({error.strerror})") from None
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        place = ".".join(map(str, finding["loc"])) or "the file"
        raise UsageError(f"{path}: is not a wiring ({place}: {finding['msg']}); {_EXPECTED}") from None
    except ValueError as error:
        raise UsageError(f"{path}: is not a wiring ({shortened(str(error))}); {_EXPECTED}") from None
    return {row.name: tuple(row.wired_at) for row in wiring.kernels if row.wired_at or not row.not_told}


def _with_wiring(record: Record, places: dict[str, tuple[str, ...]]) -> Record:
    rows = [row.model_copy(update={"wired_at": places.get(row.name)}) for row in record.kernels]
    return Record.of(record.run, rows)
