"""``candle-parity``: reads the command line and calls the command's function.

Exit codes: 0 met, 1 parity below the gate or a failure, 2 bad usage or bad input (one sentence on standard error),
130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. Every ending is in ``conformance.cli.ending``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.cli.completing import complete, kernel_names, module_names
from conformance.cli.ending import ended
from conformance.cli.new_options import new_parser
from conformance.cli.outputs import check_outputs
from conformance.cli.usage import STDOUT, CommandParser, json_file, percentage, seconds, shard, workers
from conformance.files import checkout, version
from conformance.port import DIALECTS
from conformance.runtimes import AUTO, NAMES

COMPILE_SECONDS = 300.0
DEFAULT_TARGETS = "gfx90a,gfx942,gfx1030,gfx1100,gfx1201"
COMPILERS = ("auto", "hiprtc", "hipcc")
RUNTIMES = (AUTO, *NAMES)


PATTERNS = (
    "A pattern over cases is KERNEL(field=value;...;*): KERNEL is a glob, * and ? in a value match any text, fields "
    "are separated by ; or , in any order, and a last * stands for all other fields; without it there are no others. "
    "It selects among the cases that have a part in the verdict, where one matches; `list --cases` prints them."
)


def build_parser() -> CommandParser:
    parser = CommandParser(
        prog="candle-parity",
        description="Reports how far a HIP port of Candle's kernels is at parity with Candle.",
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    doctor = commands.add_parser("doctor", help="what this machine has for running kernels, and whether it can")
    doctor.add_argument(
        "--runtime", choices=RUNTIMES, default="auto", help="what is to run the kernels (default: auto)"
    )
    doctor.add_argument("--wave", type=int, choices=(32, 64), help=argparse.SUPPRESS)
    doctor.set_defaults(kernels=None, specs=None)

    run = commands.add_parser("run", help="compile the kernels, put them on trial, report")
    _selection(run)
    _execution(run)
    run.add_argument("--seed-salt", default="", metavar="S", help="other data for the same cases")

    listed = commands.add_parser("list", help="every kernel of the specs, its parameters and case count")
    _selection(listed)
    listed.add_argument("--cases", action="store_true", help="print the case ids of each kernel")
    listed.add_argument(
        "--json",
        nargs="?",
        type=json_file,
        const=STDOUT,
        metavar="F",
        help="write kernels, parameters and cases as JSON (without F, or with -: print it)",
    )

    export = commands.add_parser(
        "export",
        help="cases with expected outputs as .safetensors files, for tests in any language",
        description="Writes DIR/MODULE/KERNEL.safetensors with the inputs, parameters and expected outputs of each "
        "case (docs/goldens.md); nothing is compiled or launched. Needs candle-parity[export].",
    )
    export.add_argument("--safetensors", type=Path, required=True, metavar="DIR", help="the folder for the files")
    _selection(export)
    export.add_argument("--seed-salt", default="", metavar="S", help="other data for the same cases")

    replay = commands.add_parser("replay", help="recorded launches against kernels or reference")
    replay.add_argument(
        "traces",
        nargs="?",
        metavar="TRACE_DIR",
        help="a folder of MODULE.traces.xz files (default: the shipped traces)",
    )
    _selection(replay, over_cases=False)
    replay.add_argument("--subject", choices=("kernels", "reference"), default="kernels", help="who is on trial")
    _execution(replay)

    record = commands.add_parser("record", help="what kernels answer, as traces for replay")
    record.add_argument("out", type=Path, metavar="OUT", help="a new or empty folder for the traces")
    _selection(record)
    _launching(record)
    record.add_argument("--seed-salt", default="", metavar="S", help="other data for the same cases")

    bench = commands.add_parser("bench", help="how fast kernels are, alone or against another tree's")
    _selection(bench)
    _launching(bench)
    bench.add_argument("--against", type=Path, metavar="PATH", help="time this tree's kernels in turn with the first's")
    bench.add_argument("--size", choices=("large", "small"), help="default: both; on the cpu runtime small")
    bench.add_argument("--json", type=json_file, metavar="F", help="write the record")
    bench.add_argument("--md", type=Path, metavar="F", help="write the means by family as Markdown")
    bench.add_argument("--every", action="store_true", help="print every workload, not families")
    bench.add_argument(
        "--from", dest="rendered", type=Path, metavar="RECORD", help="measure nothing: show what --json wrote"
    )

    check = commands.add_parser("check", help="what sources and code objects define, against the specs; runs nothing")
    _selection(check, over_cases=False)
    _compilation(check)
    _dialect(check)
    check.add_argument(
        "--partial", action="store_true", help="kernels that are not there, or not Candle's, are no finding"
    )
    check.add_argument("--arch", metavar="LIST", help="compile the sources for these AMD targets and check that too")
    check.add_argument("--json", type=json_file, metavar="F", help="write every definition and finding")

    build = commands.add_parser("build", help="compile the kernels for AMD targets; needs no GPU and runs nothing")
    build.add_argument("--arch", default=DEFAULT_TARGETS, metavar="LIST", help=f"default: {DEFAULT_TARGETS}")
    _compilation(build)
    build.add_argument("--out", type=Path, default=Path("build"), metavar="DIR", help="for DIR/ARCH/MODULE.hsaco")
    build.add_argument("--json", type=json_file, metavar="F", help="write a record that `report` joins to a run's")
    build.add_argument("--specs", type=Path, metavar="DIR", help="specs other than the shipped ones")

    report = commands.add_parser("report", help="render records")
    report.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="a record that run or replay wrote")
    report.add_argument("--annotations", action="store_true", help="print failures as GitHub shows them at the lines")
    report.add_argument("--badge", type=Path, metavar="F", help="write the coverage as a badge (SVG)")
    report.add_argument("--config", type=Path, metavar="FILE", help="the file whose [gate] is asked")
    report.add_argument("--source-url", type=_address, metavar="URL", help="HTML: where the port's sources can be read")
    report.add_argument("--wiring", type=Path, metavar="F", help="join what `wiring --json` wrote")
    _gates(report)
    _outputs(report, json=True)
    report.add_argument("--specs", type=Path, metavar="DIR", help="specs other than the shipped ones")

    diff = commands.add_parser("diff", help="what became better and worse between two records")
    diff.add_argument("old", type=Path, metavar="OLD", help="a record that run or replay wrote")
    diff.add_argument("new", type=Path, metavar="NEW", help="a later one, another port's, or another device's")
    diff.add_argument("--json", type=json_file, metavar="F", help="write the comparison as JSON")
    diff.add_argument("--fail-on-worse", action="store_true", help="exit 1 when a kernel or case became worse")

    drift = commands.add_parser("drift", help="a Candle checkout's kernels against the specs")
    _checkout(drift)
    drift.add_argument("--write", action="store_true", help="update the lines in the specs, print YAML for new kernels")
    drift.add_argument("--json", type=json_file, metavar="F", help="write the differences as JSON")
    drift.add_argument("-j", "--jobs", type=workers, metavar="N", help="preprocessors at a time (default: 2)")

    wired = commands.add_parser("wiring", help="the kernels that Candle's Rust side asks for, against the specs")
    _checkout(wired)
    wired.add_argument("--backend", default="cuda_backend", metavar="B", help="a folder of candle-core/src, or a path")
    wired.add_argument("--load", action="append", metavar="FN", help="one more function that loads a kernel by name")
    _config(wired)
    wired.add_argument("--json", type=json_file, metavar="F", help="write the wiring as JSON")

    new_parser(commands)
    return parser


def _selection(parser: argparse.ArgumentParser, over_cases: bool = True) -> None:
    patterns = parser.add_argument(
        "patterns",
        nargs="*",
        metavar="PATTERN",
        help="a kernel glob (u*_f32), a full case id, or a pattern over cases (uexp_*(layout=transposed;*))"
        if over_cases
        else "a kernel glob (u*_f32) or a full case id",
    )
    module = parser.add_argument(
        "--module", action="append", metavar="M", help="only the kernels of this module; may be given several times"
    )
    parser.epilog = PATTERNS if over_cases else None
    setattr(patterns, "completer", kernel_names)  # noqa: B010 (argcomplete's attribute)
    setattr(module, "completer", module_names)  # noqa: B010
    parser.add_argument("--specs", type=Path, metavar="DIR", help="specs other than the shipped ones")


def _checkout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--candle", type=Path, required=True, metavar="PATH", help="the root of a Candle checkout")
    parser.add_argument("--specs", type=Path, metavar="DIR", help="specs other than the shipped ones")


def _compilation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernels", type=Path, metavar="PATH", help="a folder or file of .hip, .cu or .hsaco")
    _compiler_options(parser)
    parser.add_argument("-j", "--jobs", type=workers, metavar="N", help="compilers at a time (default: 2)")


def _compiler_options(parser: argparse.ArgumentParser) -> None:
    """What every source is compiled with; ``candle-parity.toml`` in or next to the tree may say it too."""
    parser.add_argument(
        "-I",
        "--include-dir",
        dest="include_dirs",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="search headers here too",
    )
    parser.add_argument("-D", "--define", dest="defines", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument(
        "-U", "--undefine", dest="undefines", action="append", default=[], metavar="NAME", help="after every -D"
    )
    parser.add_argument(
        "--include",
        dest="forced",
        action="append",
        type=Path,
        default=[],
        metavar="HEADER",
        help="include this header before each source: a file, or a name that the compiler finds (hip/hip_fp16.h)",
    )
    parser.add_argument("--std", metavar="STANDARD", help="the standard of C++ (c++20)")
    _config(parser)


def _dialect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dialect",
        choices=DIALECTS,
        help="language of the sources (default: .cu files without HIP's headers are CUDA)",
    )


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="what the port says of itself (default: its candle-parity.toml or pyproject.toml)",
    )


def _execution(parser: argparse.ArgumentParser) -> None:
    _launching(parser)
    parser.add_argument(
        "--order",
        action="append",
        metavar="ORDER",
        help="thread order of the cpu and isa runtimes: forward, reverse or shuffle:SEED; may be given several times",
    )
    _gates(parser)
    parser.add_argument(
        "--shard", type=shard, metavar="I/N", help="the I-th of N parts of the selected kernels; `report` joins them"
    )
    parser.add_argument(
        "--perturb",
        type=_seed,
        default=0,
        metavar="SEED",
        help="isa runtime: approximate instructions deviate within their documented error, by this seed (default: not)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print the verdict in one line, and errors")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print a failure of every failing kernel, not of each cause only"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run of the same options that was cut off")
    _outputs(parser, json=True)


def _gates(parser: argparse.ArgumentParser) -> None:
    """What a run has to come to; ``[gate]`` of ``candle-parity.toml`` may say it too."""
    parser.add_argument(
        "--fail-under", type=percentage, metavar="PCT", help="exit 0 when the coverage reaches this, else 1"
    )
    parser.add_argument(
        "--fail-under-launchers",
        type=percentage,
        metavar="PCT",
        help="the same for the linked launchers, which are counted apart from the kernels",
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="RECORD", help="exit 1 when a kernel or case is worse than in this record"
    )
    parser.add_argument(
        "--strict", action=argparse.BooleanOptionalAction, help="with a gate: a failure is exit 1 all the same"
    )
    parser.add_argument(
        "--update-baseline", action="store_true", help="write the new baseline, unless something became worse"
    )


def _launching(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runtime", choices=RUNTIMES, default="auto", help="what runs the kernels (default: auto)")
    parser.add_argument(
        "--wave", type=int, choices=(32, 64), help="wave size of the cpu runtime (default: 64, and 32 for CUDA sources)"
    )
    parser.add_argument(
        "--arch",
        dest="target",
        metavar="GFX",
        help="cpu runtime: the AMD GPU whose macros sources see; isa: whose machine code is interpreted (gfx942)",
    )
    parser.add_argument("--kernels", type=Path, metavar="PATH", help="a folder or file of .hip, .cu or .hsaco")
    _compiler_options(parser)
    _dialect(parser)
    parser.add_argument(
        "--compiler",
        choices=COMPILERS,
        default="auto",
        help="rocm runtime: what compiles (default: hiprtc, and hipcc for files that it refuses)",
    )
    parser.add_argument(
        "--compile-timeout", type=seconds, default=COMPILE_SECONDS, metavar="S", help="seconds for a file (300)"
    )
    parser.add_argument("--no-sandbox", action="store_true", help="cpu runtime: do not confine what runs kernels")
    parser.add_argument("-j", "--jobs", type=workers, metavar="N", help="judges (default: one per core)")


def _outputs(parser: argparse.ArgumentParser, *, json: bool) -> None:
    if json:
        parser.add_argument("--json", type=json_file, metavar="F", help="write the record")
    parser.add_argument("--md", type=Path, metavar="F", help="write the report as Markdown")
    parser.add_argument("--html", type=Path, metavar="F", help="write the report as HTML")
    parser.add_argument("--summary", type=Path, metavar="F", help="write a short report as Markdown, for CI")
    parser.add_argument("--junit", type=Path, metavar="F", help="write a test case per kernel as JUnit XML")


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


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 1 << 32):
        raise argparse.ArgumentTypeError(f"{text} is not a seed (0 to {(1 << 32) - 1})")
    return int(text)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line; patterns may follow options, which argparse alone does not accept after TRACE_DIR."""
    parser = build_parser()
    complete(parser)
    words = sys.argv[1:] if argv is None else argv
    # Only from Python: no shell can pass it. Every path and pattern would fail in its own way.
    if any("\0" in word for word in words):
        parser.error("an argument holds a NUL character; no path and no kernel name can")
    arguments, rest = parser.parse_known_args(words)
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
        module = import_module(f"conformance.cli.commands.{arguments.command}")
        # What is not the answer goes to standard error, where the answer goes to standard output.
        alone = getattr(arguments, "json", None) == STDOUT
        with redirect_stdout(sys.stderr) if alone else nullcontext():
            code: int = module.command(arguments)
        return code

    return ended(command)


if __name__ == "__main__":
    sys.exit(main())
