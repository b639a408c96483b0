"""``candle-parity bench``: measure how fast kernels are, alone or against another tree's."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC
from pathlib import Path

from conformance.cli.progress import progress
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.engine.messages import Setup
from conformance.engine.timing.bench_run import BenchResult, bench
from conformance.engine.timing.measure import Counted, Measurement
from conformance.engine.timing.requests import TimeTrees
from conformance.engine.timing.workload import SIZES
from conformance.errors import UsageError
from conformance.files import kernels_path
from conformance.option import CHOICE, OUTPUT, json_file
from conformance.port.config import config_beside
from conformance.port.digest import tree_digest
from conformance.record.assemble import shown
from conformance.record.bench import BenchRecord, BenchRun, bench_text, count_result, read_bench, workload_result
from conformance.record.commits import commit_of, harness_commit
from conformance.report.bench import bench_markdown, how_far, render_bench
from conformance.runtimes import RuntimeKind, runtime_kind
from conformance.session.selection import check_cases, select
from conformance.session.setup import config_from, print_notes, print_tree, setup_from, specs_from, tree_at, tree_from
from conformance.settings import OPTIONS, Settings
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.writing import write_text

_MEASURING = {"patterns": "PATTERN", "against": "--against", "size": "--size", "json": "--json"}
"""What says what to measure besides the options of every command that launches, by its name in the arguments."""

EXAMPLES = (
    ("candle-parity bench --kernels path/to/port --json bench.json", "every kernel of a port, and a record of it"),
    (
        "candle-parity bench 'uexp_*' --kernels path/to/port --against other/port",
        "some kernels of two trees, launched in turn",
    ),
    (
        "candle-parity bench 'uexp_f32(shape=[512,512],layout=transposed)' --kernels path/to/port",
        "one case instead of the two workloads of the spec",
    ),
    (
        "candle-parity bench --kernels path/to/port --runtime isa --arch gfx942",
        "count the instructions of AMD machine code; nothing is timed",
    ),
    ("candle-parity bench --from bench.json --md BENCH.md", "render a record again"),
)
EXIT_CODES = (
    "0 everything was measured; 1 something could not be measured, or the run was stopped; 2 bad usage or bad input. "
    "How fast a kernel is has no part in it"
)


def options(parser: CommandParser) -> None:
    parser.description = (
        "Times kernels on a GPU, or on the host, with a large and a small workload each. It does not judge them: run "
        "does. With --runtime isa it counts instructions and bytes instead. docs/performance.md explains the figures."
    )
    take_patterns(parser, OVER_CASES)
    choice, output = parser.group(CHOICE), parser.group(OUTPUT)
    choice.add_argument(
        "--against",
        type=kernels_path,
        metavar="PATH",
        help="also time the kernels of this tree: each in turn with that of --kernels, and compare the two",
    )
    choice.add_argument(
        "--size",
        choices=("large", "small"),
        help="only this workload of each kernel (default: both; on the cpu runtime only the small one)",
    )
    output.add_argument("--every", action="store_true", help="print a line for each workload instead of each family")
    output.add_argument(
        "--json", type=json_file, metavar="F", help="write every measurement as JSON; - is standard output"
    )
    output.add_argument("--md", type=Path, metavar="F", help="write the means of each family as Markdown")
    output.add_argument(
        "--from",
        dest="rendered",
        type=Path,
        metavar="RECORD",
        help="measure nothing: print, and render with --md, what --json wrote earlier",
    )


def command(arguments: argparse.Namespace) -> int:
    """Measure, or read a record, and print it; 1 where something could not be measured."""
    record, stopped_by = _measured(arguments) if arguments.rendered is None else (_read(arguments), None)
    if arguments.json is not None:
        write_text(arguments.json, bench_text(record))
    if arguments.md is not None:
        write_text(arguments.md, bench_markdown(record))
    print(render_bench(record, every=arguments.every))
    sys.stdout.flush()
    if stopped_by is not None:
        print(f"candle-parity: stopped; {how_far(record)}", file=sys.stderr)
        raise stopped_by
    return 1 if record.losses or not record.bench.complete else 0


def _read(arguments: argparse.Namespace) -> BenchRecord:
    rows = [row for row in OPTIONS if "bench" in row.commands]
    given = [row.long for row in rows if getattr(arguments, row.name) not in (None, row.default)]
    given += [word for name, word in _MEASURING.items() if getattr(arguments, name)]
    if given:
        raise UsageError(f"--from shows a record and measures nothing; leave out {', '.join(given)}")
    return read_bench(arguments.rendered)


def _measured(arguments: argparse.Namespace) -> tuple[BenchRecord, BaseException | None]:
    """The record, and the signal that stopped the run."""
    settings = Settings.of(vars(arguments))
    config = config_from(settings)
    specs = specs_from(settings, config)
    named = bool(arguments.patterns or arguments.module)
    kernels, cases = select(specs, arguments.patterns, arguments.module, launchers=named)
    check_cases(specs, cases)
    if arguments.size is not None and all(kernel.name in cases for kernel in kernels):
        raise UsageError("--size chooses among the cases of the specs; a full case id has its own")
    trees = [tree_from(settings, specs, config)]
    setup = setup_from(settings, ["candle-parity", "bench"], trees[0], config)
    kind = runtime_kind(setup.runtime)
    kernels = of_one_kind(kernels, kind)
    if arguments.wave is not None and not kind.chooses_wave:
        raise UsageError(f"--wave is for the cpu runtime; the GPU of the {setup.runtime} runtime has its own")
    if kind.count is not None and arguments.against is not None:
        raise UsageError(f"--against compares times; the {kind.name} runtime counts instructions: leave it out")
    print_notes(settings, setup, config)
    if arguments.against is not None:
        trees.append(tree_at(arguments.against, settings, specs, config_beside(arguments.against)))
    for tree in trees:
        print_tree(tree, "times")
    mode = TimeTrees(tuple(trees))
    sizes = (arguments.size,) if arguments.size else SIZES[1:] if kind.on_host else SIZES
    jobs = arguments.jobs or len(os.sched_getaffinity(0))
    with progress() as on_progress:
        result = bench(setup, mode, kernels, cases, sizes, jobs, on_progress)
    return _record(specs, setup, mode, result, arguments.patterns), result.stopped_by


def of_one_kind(chosen: list[Kernel], kind: RuntimeKind) -> list[Kernel]:
    """The kernels among ``chosen``; if there are only launchers, these. No mean is over both.

    Raises ``UsageError`` for launchers on a runtime that cannot time them, and for calls of a vendor's library, which
    are no part of the port.
    """
    calls = [kernel.name for kernel in chosen if kernel.build is None]
    if calls:
        raise UsageError(
            f"bench times kernels and launchers; {calls[0]} is a call of the vendor's library: leave it out"
        )
    kernels = [kernel for kernel in chosen if not kernel.is_host_function]
    if kernels:
        left = len(chosen) - len(kernels)
        if left:
            print(
                f"candle-parity: {left} launchers are not timed in a run with kernels; select launchers alone",
                file=sys.stderr,
            )
        return kernels
    if kind.launchers is None or kind.count is not None:
        raise UsageError(f"bench times linked launchers on cpu, cuda and rocm, not on the {kind.name} runtime")
    return chosen


def _record(specs: Specs, setup: Setup, mode: TimeTrees, result: BenchResult, patterns: list[str]) -> BenchRecord:
    tree, *others = mode.trees
    against = others[0] if others else None
    counts = tuple(count_result(kernel, each) for kernel, each in result.measured if isinstance(each, Counted))
    timed = ((kernel, each) for kernel, each in result.measured if isinstance(each, Measurement))
    workloads = tuple(workload_result(kernel, each) for kernel, each in timed)
    run = BenchRun(
        runtime=setup.runtime,
        device=result.ready.device,
        arch=result.ready.arch or None,
        host=result.ready.description,
        kernels=shown(tree.path),
        against=None if against is None else shown(against.path),
        started=result.started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(result.seconds, 3),
        hip_python=result.ready.hip_python or None,
        upstream_commit=specs.upstream_commit,
        git=commit_of(tree.path),
        harness=harness_commit(),
        sources=tree_digest(tree.path, tree.options),
        against_git=None if against is None else commit_of(against.path),
        against_sources=None if against is None else tree_digest(against.path, against.options),
        copy_gbps=max((row.copy_gbps for row in workloads), default=0.0),
        patterns=tuple(patterns),
        complete=result.stopped_by is None,
        planned=result.planned,
    )
    return BenchRecord(bench=run, workloads=workloads, counts=counts, losses=result.losses)
