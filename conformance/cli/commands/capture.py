"""``candle-parity capture``: record the kernel launches of a program, and judge each of them."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from conformance.api import render
from conformance.capture.build import front_library
from conformance.capture.convert import Converted, to_traces
from conformance.capture.inside import inner_kernels
from conformance.capture.launches import Log, read_logs
from conformance.capture.plan import Bounds, write_plan
from conformance.capture.program import RAW, About, new_recording, run_program
from conformance.capture.tally import KernelTally, add_verdicts, in_order, tallies, without_verdict
from conformance.capture.text import cost, launches, table, verdict
from conformance.cli.ending import BAD_INPUT, screen
from conformance.cli.progress import display
from conformance.cli.usage import CommandParser
from conformance.emulate.installation import emulated_in, environment, installation
from conformance.engine.recordings import JudgeReference
from conformance.engine.run import run
from conformance.errors import UsageError
from conformance.outcome import Launched
from conformance.port.config import config_file_in, read_config
from conformance.port.declared.declared import declared_in
from conformance.port.declared.names import Names
from conformance.record import Record, write_record
from conformance.record.assemble import assemble
from conformance.record.launched import CAPTURE_FILE, with_launches
from conformance.report.lines import rendered
from conformance.runtimes.isa.kind import GPUS, KIND
from conformance.session.setup import jobs_for, setup_of_reference
from conformance.settings import Settings
from conformance.spec.load import Specs, load_specs
from conformance.text import counted, did_you_mean, one_line
from conformance.writing import FileError, write_text

EXAMPLES = (
    ("candle-parity capture --arch gfx1100 -o launches -- ./model", "on an emulated GPU, as emulate has it"),
    ("candle-parity capture --only 'rope*' --first 10 -o launches -- ./model", "some kernels, on this machine's GPU"),
)
EXIT_CODES = (
    "0 every launch that was judged is right; 1 one is wrong; 2 bad usage, nothing was judged, or a judge was lost"
)
_MIB = 1 << 20
_MOST_BYTES = 1024


def _gpu(text: str) -> str:
    if text not in GPUS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(GPUS)}")
    return text


def _count(least: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {least} or more")
    return int(text)


def options(parser: CommandParser) -> None:
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    emulated = f"run on an emulated GPU: {', '.join(GPUS)} (default: the machine's)"
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
    named = "the port's candle-parity.toml, for its own names of kernels (default: the one in this folder)"
    parser.add_argument("--config", type=Path, metavar="FILE", help=named)
    parser.add_argument("-j", dest="jobs", type=partial(_count, 1), default=None, metavar="N", help="judges")
    parser.add_argument("--json", type=Path, metavar="F", help="write the record")
    parser.add_argument("--md", type=Path, metavar="F", help="write the report as Markdown")
    parser.add_argument("--html", type=Path, metavar="F", help="write the report as HTML")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="name the kernels never launched, and all in no spec"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program and its arguments")


def command(arguments: argparse.Namespace) -> int:
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    raw: Path = arguments.out / RAW
    if not program and not raw.is_dir():
        raise UsageError("capture needs a program: candle-parity capture -o DIR -- COMMAND")
    specs = load_specs()
    about = None
    if program:
        file = arguments.config or config_file_in(Path())
        names = declared_in(None if file is None else read_config(file), specs.kernels, specs.launchers).names
        about = _record(program, arguments, specs, names)
    if not raw.is_dir():
        print(
            "candle-parity: no launch of a GPU kernel was seen, so nothing was judged; a program that is linked with "
            "the GPU's library statically cannot be recorded",
            file=sys.stderr,
        )
        return BAD_INPUT
    if raw.is_symlink():
        raise UsageError(f"{raw} is a symbolic link, so that what it leads to is not capture's own; record it anew")
    about = about or About.read(raw)
    inside = inner_kernels(specs.launchers.values())
    logs = read_logs(raw, about.names, {name: inner.launcher.name for name, inner in inside.items()})
    found = tallies(logs)
    try:
        _write_index(arguments.out, about, found)
        judged = specs.kernels | specs.launchers
        converted = to_traces(in_order(logs), judged, arguments.out, about.recording, inside)
    except (OSError, FileError) as error:
        why = getattr(error, "strerror", error)
        again = f"make room, then `candle-parity capture -o {shlex.quote(str(arguments.out))}` goes on from there"
        raise FileError(f"{arguments.out} cannot be written ({why}): the launches lie in {raw}; {again}") from None
    # Under another name first: half of a recording would not be told from a damaged one.
    shutil.rmtree(raw.rename(arguments.out / f"{RAW}-judged"))
    _say_how_it_went(about, logs)
    return _judge(arguments, specs, about, logs, found, converted)


def _record(program: Sequence[str], arguments: argparse.Namespace, specs: Specs, names: Names) -> About:
    """Run the program, with its launches recorded as the options say; what is known of the recording then."""
    inside = inner_kernels(specs.launchers.values())
    for pattern in arguments.only:
        if not any(fnmatchcase(name, pattern) for name in (*specs.kernels, *specs.launchers)):
            near = did_you_mean(pattern.strip("*"), specs.kernels)
            raise UsageError(f"--only {pattern!r} matches no kernel of the specs{near}")
    patterns = arguments.only or ["*"]
    kernels = [one for one in specs.kernels.values() if any(fnmatchcase(one.name, pattern) for pattern in patterns)]
    of_launchers = [one for one in inside.values() if any(fnmatchcase(one.launcher.name, it) for it in patterns)]
    bounds = Bounds(arguments.first, arguments.every, arguments.most_bytes * _MIB)
    arch, library = arguments.arch, front_library()
    variables = {} if arch is None else environment(installation(arch), arch, os.environ)
    arch = arch or emulated_in(os.environ)
    about = About(
        program=shlex.join(program),
        device="this machine's GPU" if arch is None else "an emulated GPU, interpreted on the host",
        started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        arch=arch,
        runtime=None if arch is None else KIND.name,
        port_names=names.ports,
        keeping=sorted(names.keeping),
    )
    with new_recording(arguments.out) as out:
        write_plan(out / RAW, kernels, bounds, names, of_launchers)
        about.write(out / RAW)
        try:
            ended = run_program(program, library, out / RAW, variables)
        except OSError as error:
            raise UsageError(f"{shlex.quote(program[0])} cannot be started: {error.strerror}") from None
        sys.stdout.flush()
        if ended.text:
            then = "what it launched until then is recorded"
            print(f"candle-parity: {shlex.quote(program[0])} {ended.text}; {then}", file=sys.stderr)
        about = replace(about, ended=ended)
        with suppress(FileError):  # the program has filled the disk; what was written before it began is still there
            about.write(out / RAW)
    return about


def _judge(
    arguments: argparse.Namespace,
    specs: Specs,
    about: About,
    logs: Sequence[Log],
    found: dict[str, KernelTally],
    converted: Converted,
) -> int:
    """Judge what was recorded, print and write what came of it; the exit code."""
    seen = in_order(logs)
    record = _judged(arguments, specs) if converted.cases else None
    if record is not None:
        add_verdicts(found, record.rows)
        by_program = {name: [Launched(about.program, row.launches)] for name, row in found.items()}
        record = with_launches(record, by_program)
    print(rendered(table(found, specs, seen, converted, arguments.verbose), screen()))
    if record is None:
        launched = f"{counted(len(found), 'kernel')} launched, no launch of a kernel of the specs was recorded"
        print(f"candle-parity: {launched}: nothing was judged", file=sys.stderr)
        return BAD_INPUT
    print(cost(seen, arguments.out, about.ended))
    _write_reports(arguments, record, specs)
    refused = Counter(one.kernel for one in seen if one.number in converted.refused)
    for line in without_verdict(found, record.rows, refused):
        print(f"candle-parity: {one_line(line)}", file=sys.stderr)
    print("\n".join(verdict(record, specs, arguments.out)))
    if any(row.failed for row in record.rows):
        return 1
    is_whole = any(row.cases for row in record.rows) and not any(row.lost for row in record.rows)
    return 0 if is_whole else BAD_INPUT


def _write_index(out: Path, about: About, found: dict[str, KernelTally]) -> None:
    """The file that says which kernels were launched, for whoever reads the folder later."""
    rows = {name: row.as_json() for name, row in found.items()}
    code = None if about.ended is None else about.ended.code
    index = {"version": 1, **about.recording, "exit_code": code, "kernels": rows}
    write_text(out / CAPTURE_FILE, json.dumps(index, indent=1) + "\n")


def _say_how_it_went(about: About, logs: Sequence[Log]) -> None:
    """What of the recording is not as one expects, on standard error."""
    lines = ["the recording's folder could not be written to the end"] if any(log.stopped for log in logs) else []
    unknown = "how the program ended is not known: candle-parity ended first, or could not write it"
    lines += [unknown] if about.ended is None else []
    graphs = sum(log.notes.get("graph", 0) for log in logs)
    lines += [f"{counted(graphs, 'graph')} launched, whose kernels are not seen"] if graphs else []
    shared = sum(log.notes.get("devices", 0) for log in logs)
    lines += [f"{launches(shared)} on several devices at once, whose kernels are not seen"] if shared else []
    working = [log for log in logs if log.launches]
    lines += [f"{len(working)} processes launched kernels; their launches are numbered by time"] * (len(working) > 1)
    for line in lines:
        print(f"candle-parity: {one_line(line)}", file=sys.stderr)


def _judged(arguments: argparse.Namespace, specs: Specs) -> Record:
    """The record of every recorded launch, judged by the reference."""
    from conformance.replay import Traces  # what the program's run does without

    traces = Traces(arguments.out)
    names = {*traces.kernels, *traces.launchers}
    kernels = [one for one in (*specs.kernels.values(), *specs.launchers.values()) if one.name in names]
    program = ["candle-parity", "replay", shlex.quote(str(arguments.out)), "--subject", "reference"]
    setup = setup_of_reference(Settings(), program)
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
