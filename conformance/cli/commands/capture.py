"""``candle-parity capture``: record the kernel launches of a program, and judge each of them."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from conformance.api import render
from conformance.capture.build import front_library
from conformance.capture.convert import to_traces
from conformance.capture.launches import Log, read_logs
from conformance.capture.plan import Bounds, write_plan
from conformance.capture.program import NAME, RAW, Ended, new_recording, run_program
from conformance.capture.tally import KernelTally, add_verdicts, in_order, tallies
from conformance.capture.text import cost, table, verdict
from conformance.cli.ending import BAD_INPUT, screen
from conformance.cli.progress import display
from conformance.cli.usage import CommandParser
from conformance.emulate.installation import environment, installation
from conformance.engine.recordings import JudgeReference
from conformance.engine.run import run
from conformance.errors import UsageError
from conformance.record import Record, write_record
from conformance.record.assemble import assemble
from conformance.replay.traces import PROGRAM
from conformance.report.lines import rendered
from conformance.runtimes.isa.kind import KIND, TARGETS
from conformance.session.setup import jobs_for, setup_of_reference
from conformance.settings import Settings
from conformance.spec.load import Specs, load_specs
from conformance.text import counted, did_you_mean, one_line
from conformance.writing import write_text

EXAMPLES = (
    ("candle-parity capture --arch gfx1100 -o launches -- ./model", "on an emulated GPU, as emulate has it"),
    ("candle-parity capture --only 'rope*' --first 10 -o launches -- ./model", "some kernels, on this machine's GPU"),
)
EXIT_CODES = "0 every launch that was judged is right; 1 one is wrong; 2 bad usage, or nothing was judged"
_MIB = 1 << 20
_MOST_BYTES = 1024


def _gpu(text: str) -> str:
    if text not in TARGETS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(TARGETS)}")
    return text


def _count(least: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {least} or more")
    return int(text)


def options(parser: CommandParser) -> None:
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    emulated = f"run on an emulated GPU: {', '.join(TARGETS)} (default: the machine's)"
    parser.add_argument("--arch", type=_gpu, metavar="GFX", help=emulated)
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="record these kernels alone (rope*); repeatable"
    )
    parser.add_argument(
        "--first", type=partial(_count, 0), default=3, metavar="N", help="record the first N of equal launches (3)"
    )
    parser.add_argument(
        "--every", type=partial(_count, 0), default=0, metavar="N", help="and after these each N-th (0: no more)"
    )
    parser.add_argument(
        "--most-bytes",
        type=partial(_count, 1),
        default=_MOST_BYTES,
        metavar="MIB",
        help=f"record at most so many MiB of buffers of each process ({_MOST_BYTES})",
    )
    parser.add_argument("-j", dest="jobs", type=partial(_count, 1), default=None, metavar="N", help="judges")
    parser.add_argument("--json", type=Path, metavar="F", help="write the record")
    parser.add_argument("--md", type=Path, metavar="F", help="write the report as Markdown")
    parser.add_argument("--html", type=Path, metavar="F", help="write the report as HTML")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the kernels that were never launched")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program and its arguments")


def command(arguments: argparse.Namespace) -> int:
    words = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not words:
        raise UsageError("capture needs a program: candle-parity capture -o DIR -- COMMAND")
    specs = load_specs()
    chosen = [kernel for kernel in specs.kernels.values() if _is_chosen(kernel.name, arguments.only)]
    for pattern in arguments.only:
        if not any(fnmatchcase(name, pattern) for name in specs.kernels):
            near = did_you_mean(pattern.strip("*"), specs.kernels)
            raise UsageError(f"--only {pattern!r} matches no kernel of the specs{near}")
    library = front_library()
    variables = {} if arguments.arch is None else environment(installation(arguments.arch), arguments.arch, os.environ)
    with new_recording(arguments.out) as out:
        bounds = Bounds(arguments.first, arguments.every, arguments.most_bytes * _MIB)
        write_plan(out / RAW, chosen, bounds)
        started = datetime.now(UTC)
        try:
            ended = run_program(words, library, out / RAW, variables)
        except OSError as error:
            raise UsageError(f"{shlex.quote(words[0])} cannot be started: {error.strerror}") from None
        logs = read_logs(out / RAW)
        recording = _recording(words, arguments.arch, started, logs)
        converted = to_traces(in_order(logs), specs.kernels, out, recording)
        found = tallies(logs)
        _write_index(out, recording, ended, found)
    sys.stdout.flush()
    _say_how_it_went(words, ended, logs)
    if not converted.cases:
        print(rendered(table(found, specs, in_order(logs), converted.refused, arguments.verbose), screen()))
        print(f"candle-parity: {_nothing(logs, found)}: nothing was judged", file=sys.stderr)
        return BAD_INPUT
    record = _judged(arguments, specs)
    add_verdicts(found, record.rows)
    print(rendered(table(found, specs, in_order(logs), converted.refused, arguments.verbose), screen()))
    print(cost(in_order(logs), arguments.out, ended))
    _write_reports(arguments, record, specs)
    for row in record.rows:
        if row.lost:
            print(f"candle-parity: {row.name}: {one_line(row.message or '')}", file=sys.stderr)
    print("\n".join(verdict(record, specs)))
    if any(row.failed for row in record.rows):
        return 1
    return 0 if any(row.cases for row in record.rows) else BAD_INPUT


def _is_chosen(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _recording(words: Sequence[str], arch: str | None, started: datetime, logs: Sequence[Log]) -> dict[str, Any]:
    """What the archives say of themselves."""
    device = "this machine's GPU" if arch is None else "an emulated GPU, interpreted on the host"
    about = {PROGRAM: shlex.join(words), "device": device, "started": started.strftime("%Y-%m-%dT%H:%M:%SZ")}
    about |= {} if arch is None else {"arch": arch, "runtime": KIND.name}
    return {**about, "processes": sum(bool(log.launches) for log in logs)}


def _write_index(out: Path, recording: dict[str, Any], ended: Ended, found: dict[str, KernelTally]) -> None:
    """The file that says which kernels were launched, for whoever reads the folder later."""
    rows = {name: row.as_json() for name, row in found.items()}
    index = {"version": 1, **recording, "exit_code": ended.code, "kernels": rows}
    write_text(out / NAME, json.dumps(index, indent=1) + "\n")


def _say_how_it_went(words: Sequence[str], ended: Ended, logs: Sequence[Log]) -> None:
    """What of the program is not as one expects, on standard error."""
    lines = [f"{shlex.quote(words[0])} {ended.text}; what it launched until then is recorded"] if ended.text else []
    lines += ["the recording's folder could not be written to the end"] if any(log.stopped for log in logs) else []
    graphs = sum(log.notes.get("graph", 0) for log in logs)
    lines += [f"{counted(graphs, 'graph')} launched, whose kernels are not seen"] if graphs else []
    working = [log for log in logs if log.launches]
    lines += [f"{len(working)} processes launched kernels; their launches are numbered by time"] * (len(working) > 1)
    for line in lines:
        print(f"candle-parity: {one_line(line)}", file=sys.stderr)


def _nothing(logs: Sequence[Log], found: dict[str, KernelTally]) -> str:
    if not logs:
        return "no launch of a GPU kernel was seen; a program that is linked statically cannot be recorded"
    return f"{counted(len(found), 'kernel')} launched, no launch of a kernel of the specs was recorded"


def _judged(arguments: argparse.Namespace, specs: Specs) -> Record:
    """The record of every recorded launch, judged by the reference."""
    from conformance.replay import Traces  # what the program's run does without

    traces = Traces(arguments.out)
    names = set(traces.kernels)
    kernels = [kernel for kernel in specs.kernels.values() if kernel.name in names]
    words = ["candle-parity", "replay", shlex.quote(str(arguments.out)), "--subject", "reference"]
    setup = setup_of_reference(Settings(), words)
    with display() as shown:
        mode = JudgeReference(arguments.out.resolve())
        result = run(setup, mode, kernels, {}, jobs_for(arguments.jobs, setup, len(kernels)), shown.progress)
    return assemble(specs, result, (), traces.recordings)


def _write_reports(arguments: argparse.Namespace, record: Record, specs: Specs) -> None:
    if arguments.json is not None:
        write_record(record, arguments.json)
    if arguments.md is not None:
        write_text(arguments.md, render(record, "md", specs))
    if arguments.html is not None:
        write_text(arguments.html, render(record, "html", specs))
