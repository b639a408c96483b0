"""``candle-parity bench``."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC

from conformance.bench.record import BenchRecord, BenchRun, bench_text, read_bench
from conformance.bench.run import BenchResult, bench
from conformance.bench.table import render_bench
from conformance.bench.workload import SIZES
from conformance.build import tree_digest
from conformance.cli.preparing import build_options, progress, setup_from
from conformance.cli.selecting import check_cases, select
from conformance.cli.usage import UsageError
from conformance.engine.tasks import Setup
from conformance.record.assemble import shown
from conformance.record.commits import commit_of
from conformance.record.files import write_text
from conformance.spec.load import Specs, load_specs


def command(arguments: argparse.Namespace) -> int:
    if arguments.rendered is not None:
        record = read_bench(arguments.rendered)
    else:
        record = _measured(arguments)
        if arguments.json is not None:
            write_text(arguments.json, bench_text(record))
    if arguments.plot is not None:
        from conformance.bench.plot import plot

        plot(record, arguments.plot)
    print(render_bench(record, every=arguments.every))
    sys.stdout.flush()
    return 1 if record.losses else 0


def _measured(arguments: argparse.Namespace) -> BenchRecord:
    specs = load_specs(arguments.specs)
    kernels, cases = select(specs, arguments.patterns, arguments.module)
    check_cases(specs, cases)
    setup = setup_from(arguments, ["candle-parity", "bench"], traces=None)
    if arguments.against is not None:
        if setup.runtime == "none":
            raise UsageError("--against needs a runtime")
        setup = setup.compared_with(arguments.against, build_options(arguments, arguments.against))
    sizes = (arguments.size,) if arguments.size else SIZES[1:] if setup.runtime == "cpu" else SIZES
    jobs = arguments.jobs or len(os.sched_getaffinity(0))
    with progress() as said:
        result = bench(setup, kernels, cases, sizes, jobs, said)
    return _record(specs, setup, result, arguments.patterns)


def _record(specs: Specs, setup: Setup, result: BenchResult, patterns: list[str]) -> BenchRecord:
    assert setup.kernels is not None
    against = setup.against
    run = BenchRun(
        runtime=setup.runtime,
        device=result.ready.device,
        arch=result.ready.arch or None,
        host=result.ready.description,
        kernels=shown(setup.kernels),
        against=None if against is None else shown(against),
        started=result.started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(result.seconds, 3),
        hip_python=result.ready.hip_python or None,
        upstream_commit=specs.upstream_commit,
        git=commit_of(setup.kernels),
        sources=tree_digest(setup.kernels, setup.options),
        against_sources=None if against is None else tree_digest(against, setup.against_options),
        copy_gbps=max((row.copy_gbps for row in result.workloads), default=0.0),
        patterns=tuple(patterns),
    )
    return BenchRecord(bench=run, workloads=result.workloads, losses=result.losses)
