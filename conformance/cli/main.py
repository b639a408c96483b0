"""``candle-parity``: reads the command line and calls the command's function.

Exit codes: 0 met, 1 parity below the gate or a failure, 2 bad usage or bad input (one sentence on standard error),
130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. Every ending is in ``conformance.cli.ending``.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance import environment
from conformance.cli.ending import ended
from conformance.cli.new_options import new_parser
from conformance.cli.usage import CommandParser, complete, kernel_names, module_names
from conformance.files import checkout, kernels_path, version
from conformance.option import STDOUT, json_file, workers
from conformance.processes.forked import allow_forks
from conformance.session.cache_folder import check_cache
from conformance.session.outputs import begin_outputs, check_outputs
from conformance.settings import OPTIONS

DEFAULT_TARGETS = "gfx90a,gfx942,gfx1030,gfx1100,gfx1201"

PATTERNS = (
    "A pattern over cases is KERNEL(field=value;...;*): KERNEL is a glob, * and ? in a value match any text, fields "
    "are separated by ; or , in any order, and a last * stands for all other fields; without it there are no others. "
    "It selects among the cases that have a part in the verdict, where one matches; `list --cases` prints them."
)
OVER_KERNELS = "a kernel glob (u*_f32) or a full case id"
OVER_CASES = "a kernel glob (u*_f32), a full case id, or a pattern over cases (uexp_*(layout=transposed;*))"


def build_parser() -> CommandParser:
    """The parser of every command: its options of ``conformance.settings``, and here those that it alone has."""
    parser = CommandParser(
        prog="candle-parity", description="Reports how far a HIP port of Candle's kernels is at parity with Candle."
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, about: str, patterns: str | None = None, description: str | None = None) -> CommandParser:
        added: CommandParser = commands.add_parser(name, help=about, description=description)
        if patterns is not None:
            _take_patterns(added, patterns)
        for row in OPTIONS:
            if name in row.commands:
                action = added.add_argument(*row.flags, **row.arguments())
                if row.name == "module":
                    setattr(action, "completer", module_names)  # noqa: B010
        return added

    doctor = command("doctor", "what this machine has for running kernels, and whether it can")
    doctor.add_argument("--wave", type=int, choices=(32, 64), help=argparse.SUPPRESS)

    run = command("run", "compile the kernels, judge them, report", OVER_CASES)
    run.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)  # a run that --watch has started

    listed = command("list", "every kernel of the specs, its parameters and case count", OVER_CASES)
    listed.add_argument("--cases", action="store_true", help="print the case ids of each kernel")
    listed.add_argument(
        "--json",
        nargs="?",
        type=json_file,
        const=STDOUT,
        metavar="F",
        help="write kernels, parameters and cases as JSON (without F, or with -: print it)",
    )

    export = command(
        "export",
        "cases with expected outputs as .safetensors files, for tests in any language",
        OVER_CASES,
        "Writes DIR/MODULE/KERNEL.safetensors with the inputs, parameters and expected outputs of each case "
        "(docs/goldens.md); nothing is compiled or launched. Needs candle-parity[export].",
    )
    export.add_argument("--safetensors", type=Path, required=True, metavar="DIR", help="the folder for the files")

    replay = command("replay", "recorded launches against kernels or reference")
    replay.add_argument(
        "traces",
        nargs="?",
        metavar="TRACE_DIR",
        help="a folder of MODULE.traces.xz files (default: the shipped traces)",
    )
    _take_patterns(replay, OVER_KERNELS)
    replay.add_argument("--subject", choices=("kernels", "reference"), default="kernels", help="what is judged")

    record = command("record", "what kernels answer, as traces for replay")
    record.add_argument("out", type=Path, metavar="OUT", help="a new or empty folder for the traces")
    _take_patterns(record, OVER_CASES)

    bench = command("bench", "how fast kernels are, alone or against another tree's", OVER_CASES)
    against = "time this tree's kernels in turn with the first's"
    bench.add_argument("--against", type=kernels_path, metavar="PATH", help=against)
    bench.add_argument("--size", choices=("large", "small"), help="default: both; on the cpu runtime small")
    bench.add_argument("--json", type=json_file, metavar="F", help="write the record")
    bench.add_argument("--md", type=Path, metavar="F", help="write the means by family as Markdown")
    bench.add_argument("--every", action="store_true", help="print every workload, not families")
    bench.add_argument(
        "--from", dest="rendered", type=Path, metavar="RECORD", help="measure nothing: show what --json wrote"
    )

    check = command("check", "what sources and code objects define, against the specs; runs nothing", OVER_KERNELS)
    check.add_argument("-j", "--jobs", type=workers, metavar="N", help="compilers at a time (default: 2)")
    check.add_argument(
        "--partial", action="store_true", help="kernels that are not there, or not Candle's, are no finding"
    )
    check.add_argument("--arch", metavar="LIST", help="compile the sources for these AMD targets and check that too")
    check.add_argument("--json", type=json_file, metavar="F", help="write every definition and finding")

    build = command("build", "compile the kernels for AMD targets; needs no GPU and runs nothing")
    build.add_argument("--arch", default=DEFAULT_TARGETS, metavar="LIST", help=f"default: {DEFAULT_TARGETS}")
    build.add_argument("-j", "--jobs", type=workers, metavar="N", help="compilers at a time (default: 2)")
    build.add_argument("--out", type=Path, default=Path("build"), metavar="DIR", help="for DIR/ARCH/MODULE.hsaco")
    build.add_argument("--json", type=json_file, metavar="F", help="write a record that `report` joins to a run's")

    report = command("report", "render records")
    report.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="a record that run or replay wrote")
    report.add_argument("--annotations", action="store_true", help="print failures as GitHub shows them at the lines")
    report.add_argument("--badge", type=Path, metavar="F", help="write the coverage as a badge (SVG)")
    report.add_argument("--config", type=Path, metavar="FILE", help="the file whose [gate] is asked")
    report.add_argument("--run-id", metavar="ID", help="refuse records of other runs (CANDLE_PARITY_RUN_ID of theirs)")
    report.add_argument("--source-url", type=_address, metavar="URL", help="HTML: where the port's sources can be read")
    report.add_argument("--wiring", type=Path, metavar="F", help="join what `wiring --json` wrote")

    board = command("board", "the records of several ports as one page")
    board.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="a record that run or ports wrote")

    ports = command("ports", "judge the ports of a list (docs/board.md), given their checkouts")
    ports.add_argument("list", type=Path, metavar="LIST", help="ports.toml")
    ports.add_argument("--checkouts", type=Path, required=True, metavar="DIR", help="the folder with their checkouts")
    ports.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the records")
    ports.add_argument("--fetch", action="store_true", help="first fetch the ports that are not among the checkouts")
    ports.add_argument("--only", action="append", metavar="NAME", help="this port; may be given several times")

    diff = command("diff", "what became better and worse between two records")
    diff.add_argument("old", type=Path, metavar="OLD", help="a record that run or replay wrote")
    diff.add_argument("new", type=Path, metavar="NEW", help="a later one, another port's, or another device's")
    diff.add_argument("--json", type=json_file, metavar="F", help="write the comparison as JSON")
    diff.add_argument("--fail-on-worse", action="store_true", help="exit 1 when a kernel or case became worse")

    drift = command("drift", "a Candle checkout's kernels against the specs")
    wired = command("wiring", "the kernels that Candle's Rust side asks for, against the specs")
    for of_candle in (drift, wired):
        of_candle.add_argument(
            "--candle", type=Path, required=True, metavar="PATH", help="the root of a Candle checkout"
        )
    drift.add_argument("--write", action="store_true", help="update the lines in the specs, print YAML for new kernels")
    drift.add_argument("--json", type=json_file, metavar="F", help="write the differences as JSON")
    drift.add_argument("-j", "--jobs", type=workers, metavar="N", help="preprocessors at a time (default: 2)")
    wired.add_argument("--backend", default="cuda_backend", metavar="B", help="a folder of candle-core/src, or a path")
    wired.add_argument("--load", action="append", metavar="FN", help="one more function that loads a kernel by name")
    wired.add_argument("--json", type=json_file, metavar="F", help="write the wiring as JSON")

    new_parser(commands)
    return parser


def _take_patterns(parser: CommandParser, about: str) -> None:
    action = parser.add_argument("patterns", nargs="*", metavar="PATTERN", help=about)
    setattr(action, "completer", kernel_names)  # noqa: B010 (argcomplete's attribute)
    parser.epilog = PATTERNS if about == OVER_CASES else None


class _Version(argparse.Action):
    """``--version``: looked up when asked for, as it reads files and asks git."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from conformance.record.commits import harness_commit

        commit = harness_commit() if checkout() is not None else None  # an installation's version says it
        print(f"candle-parity {version()}{f' at {commit}' if commit else ''}")
        parser.exit()


def _address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise argparse.ArgumentTypeError(f"{text} is not an address (https://...)")
    return text


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line; patterns may follow options, which argparse alone does not accept after TRACE_DIR."""
    parser = build_parser()
    complete(parser)
    words = sys.argv[1:] if argv is None else argv
    # Only from Python: no shell can pass it. Every path and pattern would fail in its own way.
    if any("\0" in word for word in words):
        parser.error("an argument holds a NUL character; no path and no kernel name can")
    arguments, rest = parser.parse_known_args(words)
    arguments.words = [*words]
    if rest and ("patterns" not in arguments or any(word.startswith("-") for word in rest)):
        parser.of(arguments.command).unknown(rest)
    if rest:
        arguments.patterns = [*arguments.patterns, *rest]
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""

    def command() -> int:
        arguments = parse(argv)
        check_outputs(arguments)
        environment.check()
        check_cache()
        begin_outputs(arguments)
        gc.disable()  # as own_module does
        # As judges have it: to start numpy's threads takes longer than all that a command has to compute.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module = import_module(f"conformance.cli.commands.{arguments.command}")
        if argv is None:  # a process of its own, in which all that stays
            gc.freeze()
            allow_forks()
        gc.enable()
        # What is not the answer goes to standard error, where the answer goes to standard output.
        alone = getattr(arguments, "json", None) == STDOUT
        with redirect_stdout(sys.stderr) if alone else nullcontext():
            code: int = module.command(arguments)
        return code

    return ended(command)


if __name__ == "__main__":
    sys.exit(main())
