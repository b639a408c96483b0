"""``candle-parity replay``: judge kernels, or the reference, by recorded launches."""

from __future__ import annotations

import argparse
import shlex
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.cli.judge import judged
from conformance.cli.usage import OVER_KERNELS, CommandParser, take_patterns
from conformance.engine.recordings import JudgeRecorded, JudgeReference
from conformance.errors import UsageError
from conformance.files import SHIPPED_TRACES, traces_folder
from conformance.option import CHOICE
from conformance.replay import Traces
from conformance.session.gate import gating_from
from conformance.session.selection import judgeable, judges_own, own_left_out, print_left_out, without_undefined
from conformance.session.setup import (
    config_from,
    print_notes,
    setup_from,
    setup_of_reference,
    specs_from,
    specs_without_port,
    tree_from,
)
from conformance.settings import Gate, Settings
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import did_you_mean

EXAMPLES = (
    ("candle-parity replay reference/traces --kernels path/to/port", "a port by what Candle's kernels answered"),
)
EXIT_CODES = "as those of `run`"


def options(parser: CommandParser) -> None:
    parser.description = (
        "Launches the kernels of a port with recorded arguments, and compares what they leave in memory with what was "
        "recorded: by default with what Candle's own kernels left on an H100."
    )
    parser.add_argument(
        "traces",
        nargs="?",
        metavar="TRACE_DIR",
        help="a folder of MODULE.traces.xz files (default: the shipped traces)",
    )
    take_patterns(parser, OVER_KERNELS)
    parser.group(CHOICE).add_argument(
        "--subject",
        choices=("kernels", "reference"),
        default="kernels",
        help="what is compared with the recorded results: the port's kernels, or the reference, with which nothing is "
        "launched (default: kernels)",
    )


def command(arguments: argparse.Namespace) -> int:
    settings = Settings.of(vars(arguments))
    of_port = arguments.subject == "kernels"
    config = config_from(settings) if of_port else None
    specs = specs_from(settings, config) if of_port else specs_without_port(settings)
    folder = _take_folder(arguments)
    if folder is None and not traces_folder().is_dir():
        word = f"{arguments.patterns[0]!r} is no folder, and " if arguments.patterns else ""
        raise UsageError(
            f"{word}the recorded answers are not installed: pip install 'candle-parity[replay]', in a clone "
            "pip install ./reference/traces, or name a folder of MODULE.traces.xz files"
        )
    traces = Traces(folder or traces_folder())
    kernels, cases = _select(specs, traces, arguments, str(folder or SHIPPED_TRACES))
    given = [] if folder is None else [shlex.quote(str(folder))]
    args = ["candle-parity", "replay", *given, "--subject", arguments.subject]
    recorded = traces.folder.resolve()
    print_left_out(own_left_out(kernels))
    kernels = judgeable(kernels)
    count = sum(kernel.name in specs.kernels for kernel in kernels)
    whole = count == len(specs.kernels) and not cases
    gating = gating_from(Gate.of(vars(arguments)), config, whole, True, arguments.shard, judges_own(kernels))
    mode: JudgeRecorded | JudgeReference
    if not of_port:
        # The port's file is read for its own kernels, whose references then are judged.
        rows = [row for row in Settings.rows() if row.compiles and row.name != "config"]
        given = [row.long for row in rows if getattr(arguments, row.name)]
        if given:
            raise UsageError(f"--subject reference compiles and launches no kernel; leave out {', '.join(given)}")
        mode, setup = JudgeReference(recorded), setup_of_reference(settings, args)
    else:
        mode = JudgeRecorded(tree_from(settings, specs, config), recorded)
        if not arguments.patterns and not arguments.module:
            kernels = without_undefined(kernels, mode.tree)
        setup = setup_from(settings, args, mode.tree, config)
    if not arguments.quiet:
        print_notes(settings, setup, config)
    return judged(arguments, specs, setup, mode, kernels, cases, gating, traces.recordings)


def _take_folder(arguments: argparse.Namespace) -> Path | None:
    """The folder that the first word names; ``None`` where that is a pattern too, and is put among the patterns.

    No name of a kernel holds a slash but that of a folder does, or there is a folder of that name.
    """
    args = [*([] if arguments.traces is None else [arguments.traces]), *arguments.patterns]
    if not args or not (Path(args[0]).is_dir() or ("/" in args[0] and "(" not in args[0])):
        arguments.patterns = args
        return None
    arguments.patterns = args[1:]
    return Path(args[0])


def _select(
    specs: Specs, traces: Traces, arguments: argparse.Namespace, where: str
) -> tuple[list[Kernel], dict[str, tuple[str, ...]]]:
    """The traced kernels and launchers and the trace cases asked for. Specs without launchers leave theirs out."""
    known = {**specs.linked_by_name, **specs.libraries}
    called = set(traces.launchers) if known else set()
    traced = {*traces.kernels, *called}
    unknown = sorted({*(set(traces.kernels) - specs.loaded_by_name.keys()), *(called - known.keys())})
    if unknown:
        raise UsageError(f"{where}: traces of kernels that no spec has: {', '.join(unknown[:5])}")
    names: set[str] = set()
    cases: dict[str, tuple[str, ...]] = {}
    patterns = arguments.patterns or ["*"]
    for pattern in patterns:
        if "(" in pattern:
            kernel = pattern.split("(", 1)[0]
            if pattern not in (traces.ids(kernel) if kernel in traced else ()):
                near = did_you_mean(pattern, traces.ids(kernel) if kernel in traced else (), cutoff=0.8)
                raise UsageError(f"{where}: no trace has the case id {pattern!r}{near}")
            names.add(kernel)
            cases[kernel] = (*cases.get(kernel, ()), pattern)
            continue
        matching = {name for name in traced if fnmatchcase(name, pattern)}
        if not matching:
            near = did_you_mean(pattern.strip("*"), sorted(traced))
            raise UsageError(f"{where}: pattern {pattern!r} matches no traced kernel{near}")
        names |= matching
    chosen = [kernel for kernel in specs.select((), arguments.module, launchers=True) if kernel.name in names]
    if not chosen:
        raise UsageError(f"{where}: no traced kernel of module {' or '.join(arguments.module)} matches")
    return chosen, cases
