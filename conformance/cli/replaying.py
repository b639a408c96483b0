"""``candle-parity replay``."""

from __future__ import annotations

import argparse
import shlex
from fnmatch import fnmatchcase

from conformance.cli.finishing import finish
from conformance.cli.preparing import jobs_for, progress, say_setup, setup_from
from conformance.cli.resuming import journal_of, resumable
from conformance.cli.usage import UsageError
from conformance.engine.run import run
from conformance.record.assemble import assemble
from conformance.replay import Traces
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs, load_specs


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    traces = Traces(arguments.traces)
    kernels, cases = _select(specs, traces, arguments)
    words = ["candle-parity", "replay", shlex.quote(str(arguments.traces)), "--subject", arguments.subject]
    setup = setup_from(arguments, words, traces=arguments.traces.resolve(), executes=arguments.subject == "kernels")
    say_setup(arguments, setup)
    jobs = jobs_for(arguments, setup, len(kernels))
    journal = journal_of(setup, arguments)
    with resumable(arguments, specs, journal), progress() as said:
        result = run(setup, kernels, cases, jobs, said, journal)
    return finish(arguments, specs, assemble(specs, result, arguments.patterns, traces.recordings), result)


def _select(
    specs: Specs, traces: Traces, arguments: argparse.Namespace
) -> tuple[list[Kernel], dict[str, tuple[str, ...]]]:
    """The traced kernels (of modules that have a reference, unless named) and the trace cases asked for."""
    traced = set(traces.kernels)
    unknown = sorted(traced - specs.kernels.keys())
    if unknown:
        raise UsageError(f"{arguments.traces}: traces of kernels that no spec has: {', '.join(unknown[:5])}")
    names: set[str] = set()
    cases: dict[str, tuple[str, ...]] = {}
    patterns = arguments.patterns or ["*"]
    for pattern in patterns:
        if "(" in pattern:
            kernel = pattern.split("(", 1)[0]
            if pattern not in (traces.ids(kernel) if kernel in traced else ()):
                raise UsageError(f"{arguments.traces}: no trace has the case id {pattern!r}")
            names.add(kernel)
            cases[kernel] = (*cases.get(kernel, ()), pattern)
            continue
        found = {name for name in traced if fnmatchcase(name, pattern)}
        if not found:
            raise UsageError(f"{arguments.traces}: pattern {pattern!r} matches no traced kernel")
        names |= found
    chosen = [kernel for kernel in specs.select((), arguments.module) if kernel.name in names]
    if not chosen:
        raise UsageError(f"{arguments.traces}: no traced kernel of module {arguments.module} matches")
    return chosen, cases
