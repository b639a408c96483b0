"""``candle-parity record``: record what kernels answer, for replay."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.cli.progress import display
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.engine.compiler import NOT_HERE
from conformance.engine.recordings import RecordAnswers
from conformance.engine.result import Result
from conformance.engine.run import run
from conformance.errors import UsageError
from conformance.record.assemble import assemble
from conformance.replay.archive import SUFFIX
from conformance.replay.recorder import PART_SUFFIX, pack_parts
from conformance.report.kernels import explain
from conformance.runtimes import runtime_kind
from conformance.session.selection import check_cases, counts_by_entry, select, without_undefined
from conformance.session.setup import config_from, jobs_for, print_notes, print_tree, setup_from, specs_from, tree_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.text import one_line
from conformance.toolchains.compile_error import first_error

_PROVENANCE = {
    *("runtime", "device", "arch", "wave", "host", "hip_python", "started", "upstream_commit"),
    *("kernels", "sources", "git", "harness"),
}
"""What every archive says of where its answers come from: these fields of a record's ``run``, and ``seed_salt``."""

_PACKERS = 4
"""Modules compressed at a time: more would hold most of the recording in memory at once."""

EXAMPLES = (
    ("candle-parity record traces --kernels path/to/port", "every kernel, on this machine's GPU or the host"),
    ("candle-parity record traces 'uexp_*' --kernels path/to/port --runtime cuda", "some, on an NVIDIA GPU"),
)
EXIT_CODES = (
    "0 every launch was recorded; 1 some were not, such as those of a kernel that does not compile; 2 bad usage or "
    "bad input"
)


def options(parser: CommandParser) -> None:
    parser.description = (
        "Launches kernels over the cases of the specs and writes what they were given and what they left in memory to "
        "OUT/MODULE.traces.xz; reference/traces/README.md describes these files. The answers are not judged: replay "
        "compares other kernels, or the reference, with them."
    )
    parser.add_argument(
        "out", type=Path, metavar="OUT", help="the folder for the traces: a new one, or one that is empty"
    )
    take_patterns(parser, OVER_CASES)


def command(arguments: argparse.Namespace) -> int:
    """Record the answers; 1 where a launched case has none, or nothing was recorded."""
    settings = Settings.of(vars(arguments))
    config = config_from(settings)
    specs = specs_from(settings, config)
    kernels, cases = select(specs, arguments.patterns, arguments.module, launchers=True)
    check_cases(specs, cases)
    # A case named twice is one case: an id must be met once in a recording.
    cases = {kernel: tuple(dict.fromkeys(ids)) for kernel, ids in cases.items()}
    tree = tree_from(settings, specs, config)
    if not arguments.patterns and not arguments.module:
        kernels = without_undefined(kernels, tree)
    setup = setup_from(settings, ["candle-parity", "run"], tree, config)
    kernels = recordable(kernels, setup.runtime)
    if runtime_kind(setup.runtime).chooses_orders:
        setup = replace(setup, command=f"{setup.command} --order forward")
    print_notes(settings, setup, config)
    print_tree(tree, "records the answers of")
    jobs = jobs_for(arguments.jobs, setup, len(kernels))
    with _folder(arguments.out) as out, tempfile.TemporaryDirectory(prefix=".parts-", dir=out) as folder:
        parts = Path(folder).resolve()
        one_order, mode = replace(setup, orders=("forward",)), RecordAnswers(tree, parts)
        with display() as shown:
            result = run(one_order, mode, kernels, cases, jobs, shown.progress)
        about = assemble(specs, result, arguments.patterns).run.model_dump(mode="json", include=_PROVENANCE)
        recorded = _pack(kernels, parts, out, about | {"seed_salt": settings.salt})
    return _finish(kernels, result, recorded, out)


def recordable(kernels: Sequence[Kernel], runtime: str) -> list[Kernel]:
    """``kernels``, without launchers if the runtime cannot call them. Raises ``UsageError`` where none is left."""
    calls = runtime_kind(runtime).launchers is not None
    kept = [kernel for kernel in kernels if calls or kernel.build != "launchers"]
    if not kept:
        raise UsageError(NOT_HERE.format(runtime=runtime))
    return kept


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """``out``, made where it does not exist, and gone again where nothing was put into it.

    Raises ``UsageError`` where it holds anything: two recordings in one folder cannot be told apart.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; give a new or empty one for the traces")
    if out.is_dir() and any(out.iterdir()):
        what = "holds traces already" if any(out.glob(f"*{SUFFIX}")) else "is not empty"
        raise UsageError(f"{out} {what}; give a new or empty folder")
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        yield out
    finally:
        if made and not any(out.iterdir()):
            out.rmdir()


def _pack(kernels: Sequence[Kernel], parts: Path, out: Path, about: dict[str, Any]) -> int:
    """An archive per module out of the kernels' parts; the number of cases."""
    modules: dict[str, list[Path]] = {}
    for kernel in kernels:
        modules.setdefault(kernel.module, []).append(parts / f"{kernel.name}{PART_SUFFIX}")
    with ThreadPoolExecutor(min(_PACKERS, len(os.sched_getaffinity(0)))) as pool:
        counts = pool.map(lambda item: pack_parts(item[1], out, item[0], about), modules.items())
        return sum(counts)


def _finish(kernels: Sequence[Kernel], result: Result, recorded: int, out: Path) -> int:
    """Say what was recorded and what was not; the exit code."""
    outcomes = [result.outcomes[kernel.name] for kernel in kernels]
    missing = [outcome.name for outcome in outcomes if outcome.status == "missing"]
    bad = [outcome for outcome in outcomes if outcome.status not in ("pass", "missing")]
    left_out = sum(outcome.left_out for outcome in outcomes)
    answered = {outcome.name for outcome in outcomes if outcome.cases > outcome.failed}
    whose = " and ".join(counts_by_entry([kernel for kernel in kernels if kernel.name in answered])) or "0 kernels"
    for label, log in result.compile_logs.items():
        print(f"candle-parity: {one_line(f'{label} does not compile: {first_error(log)}')}", file=sys.stderr)
    for outcome in bad:
        print("not recorded: " + "\n".join(explain(outcome.name, outcome, shown=1)))
    if missing:
        print(f"defined in no source, {len(missing)} in all: {', '.join(missing[:3])}{' ...' * (len(missing) > 3)}")
    if not recorded:
        print("candle-parity: nothing was recorded", file=sys.stderr)
        return 1
    files = sorted(out.glob(f"*{SUFFIX}"))
    size = sum(file.stat().st_size for file in files)
    where = f"{result.ready.device} ({result.ready.arch}), {result.setup.runtime} runtime"
    print(f"{recorded} cases of {whose} recorded on {where}: {len(files)} files, {size / 1e6:.1f} MB, in {out}")
    if left_out:
        print(f"cases left out, because the right result is a fault or the buffers have gaps: {left_out}")
    return 1 if bad else 0
