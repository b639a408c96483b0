"""``candle-parity report``: render records as reports."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from conformance import api
from conformance.cli.ending import screen
from conformance.cli.judge import write_reports
from conformance.cli.usage import CommandParser
from conformance.errors import UsageError
from conformance.option import CHOICE, GATE, OUTPUT
from conformance.outcome import Launched
from conformance.port.config import read_config
from conformance.reading import read_json, shortened
from conformance.record import (
    KernelResult,
    Record,
    kept_apart,
    merge,
    write_record,
    write_text,
)
from conformance.record.launched import LaunchedBy, launches_by_program, with_launches
from conformance.record.merge import contradictions, gaps
from conformance.record.model import BUILD
from conformance.report.asked import NOT_ASKED
from conformance.report.ci import render_annotations, render_badge
from conformance.report.terminal import render_terminal
from conformance.session.gate import BAD_INPUT, MET, Gating, asked_of, conclude, gating_from
from conformance.settings import Gate
from conformance.spec.load import Specs, load_specs
from conformance.text import one_line

_EXPECTED = "expected what `candle-parity wiring --json` writes"


class _Row(BaseModel):
    """A kernel of a wiring, as far as a report needs it; further keys are let be."""

    model_config = ConfigDict(strict=True)

    name: str
    wired_at: list[str]
    not_told: list[str] = []


class _LaunchedRow(BaseModel):
    """A kernel that programs launched, of a wiring that was made with recordings."""

    model_config = ConfigDict(strict=True)

    name: str
    by: list[Launched]


class _Wiring(BaseModel):
    """What ``wiring --json`` writes, as far as a report needs it."""

    model_config = ConfigDict(strict=True)

    kernels: list[_Row]
    launchers: list[_Row] = []
    launched: list[_LaunchedRow] | None = None


EXAMPLES = (
    ("candle-parity report parity.json.xz", "the table again"),
    (
        "candle-parity report parity.json.xz --html parity.html --md PARITY.md",
        "one file that opens anywhere, and Markdown",
    ),
    ("candle-parity report shard-*.json.xz --json parity.json.xz", "the parts of a run as one record"),
)
EXIT_CODES = (
    "0 rendered, and the gates that were asked for are met; 1 not met; 2 bad usage or bad input, or a shard is missing"
)


def options(parser: CommandParser) -> None:
    parser.description = (
        "Renders records as reports: a table on the terminal, and the files that are asked for. Records of shards, and "
        "of builds of the same sources, are joined first."
    )
    choice, gate, output = parser.group(CHOICE), parser.group(GATE), parser.group(OUTPUT)
    parser.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="a record that run or replay wrote")
    choice.add_argument("--run-id", metavar="ID", help="refuse a record whose CANDLE_PARITY_RUN_ID was another")
    choice.add_argument(
        "--wiring",
        type=Path,
        metavar="F",
        help="add where Candle's Rust code asks for kernels, as `wiring --json` wrote it",
    )
    choice.add_argument(
        "--launched",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="add which kernels a program launched, as capture counted in this folder; may be given several times",
    )
    gate.add_argument("--config", type=Path, metavar="FILE", help="ask the gates in the table [gate] of this file")
    output.add_argument("--annotations", action="store_true", help="print failures as GitHub's ::error lines")
    output.add_argument("--badge", type=Path, metavar="F", help="write the coverage as a badge (SVG)")
    output.add_argument(
        "--source-url", type=_address, metavar="URL", help="HTML: link the port's lines to its sources at this address"
    )


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    config = None if arguments.config is None else read_config(arguments.config)
    gating = gating_from(Gate.of(vars(arguments)), config)
    given = [api.read(path, specs) for path in arguments.records]
    if arguments.run_id is not None:
        _check_run(given, arguments.records, arguments.run_id)
    for sentence in kept_apart(given):
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    records = merge(given)
    if arguments.wiring is not None:
        wiring = _wiring(arguments.wiring)
        records = [_with_wiring(record, wiring) for record in records]
    launched = launches_by_program(arguments.launched)
    if launched is not None:
        records = [with_launches(record, launched) for record in records]
    one = _of_one_run(arguments, gating, records)
    if arguments.json is not None:
        write_record(one, arguments.json)
    asked = asked_of(gating, one, _selected(one), specs) if arguments.junit and gating.anything else NOT_ASKED
    written = write_reports(arguments, records, specs, gating.standing, asked)
    if arguments.badge is not None:
        write_text(arguments.badge, render_badge(records, specs))
    if arguments.annotations:
        print(render_annotations(records, specs), end="")
    for path in [*written, *filter(None, (arguments.json, arguments.badge))]:
        if path.is_file():  # and no pipe or terminal
            print(f"written: {one_line(str(path))} ({_size(path)})")
    if not (written or arguments.json or arguments.badge or arguments.annotations):
        for record in records:
            print(render_terminal(record, specs, screen()))
    for sentence in contradictions(given):
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    missing = gaps(records)
    for sentence in missing:
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    code = BAD_INPUT if missing else MET
    return _gated(gating, one, specs, missing) if gating.anything else code


def _size(path: Path) -> str:
    """``0.7 MB``, ``3 KB``."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{math.ceil(size / 1e3)} KB"


def _of_one_run(arguments: argparse.Namespace, gating: Gating, records: list[Record]) -> Record:
    """The run that the records come to; raises ``UsageError`` where an option asks for one and there are several."""
    runs = [record for record in records if record.run.runtime != BUILD]
    names = ("json", "fail_under", "fail_under_launchers", "fail_under_own", "baseline", "strict")
    asked = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name) is not None]
    asked += ["[gate] of --config"] if gating.anything and not asked else []
    if asked and len(runs) != 1:
        raise UsageError(
            f"{asked[0]} is for the records of one run, and these are of {len(runs)}: shards of other selections, "
            "sources or devices stay apart; give those of one"
        )
    return records[0]


def _gated(gating: Gating, record: Record, specs: Specs, missing: list[str]) -> int:
    """The exit code of the gates over what the run selected."""
    problem = "a shard is missing" if missing else None if record.run.complete else "the run did not come to its end"
    return conclude(gating, record, _selected(record), specs, undecided=problem)


def _selected(record: Record) -> list[KernelResult]:
    rows = (*record.kernels, *record.launchers, *record.of_port)
    return [row for row in rows if row.status != "not_run" or row.message is not None]


def _check_run(records: Sequence[Record], paths: Sequence[Path], run_id: str) -> None:
    """Raises ``UsageError`` for a record that was not made in the run ``run_id``."""
    for record, path in zip(records, paths, strict=True):
        if record.run.run_id != run_id:
            has = "none" if record.run.run_id is None else shortened(record.run.run_id)
            raise UsageError(
                f"{path}: the record is not of this run: its run_id is {has}, and --run-id asks for "
                f"{shortened(run_id)}; was it left by another run, or does the repository bring it?"
            )


def _wiring(path: Path) -> _Wiring:
    """What ``candle-parity wiring --json`` wrote; raises ``UsageError``."""
    try:
        return _Wiring.model_validate(read_json(path, pipe=True))
    except OSError as error:
        raise UsageError(f"{path}: the wiring cannot be read ({error.strerror})") from None
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        place = ".".join(map(str, finding["loc"])) or "the file"
        raise UsageError(f"{path}: is not a wiring ({place}: {finding['msg']}); {_EXPECTED}") from None
    except ValueError as error:
        raise UsageError(f"{path}: is not a wiring ({shortened(str(error))}); {_EXPECTED}") from None


def _with_wiring(record: Record, wiring: _Wiring) -> Record:
    """``record`` with the places of ``wiring``, as far as they are told there, and the launches, if it has any; of a
    launcher that the wiring does not have, the places that it has stay."""
    kernels = {row.name: tuple(row.wired_at) for row in wiring.kernels if row.wired_at or not row.not_told}
    called = {row.name: tuple(row.wired_at) for row in wiring.launchers}
    rows = [row.model_copy(update={"wired_at": kernels.get(row.name)}) for row in record.kernels]
    launchers = [row.model_copy(update={"wired_at": called.get(row.name, row.wired_at)}) for row in record.launchers]
    record = record.with_parts({"kernel": rows, "launcher": launchers})
    if wiring.launched is None:
        return record
    launched: LaunchedBy = {row.name: row.by for row in wiring.launched}
    return with_launches(record, launched)


def _address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text} is not an address (https://...)")
    return text
