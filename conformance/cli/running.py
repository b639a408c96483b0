"""``candle-parity run``."""

from __future__ import annotations

import argparse
import shlex

from conformance.cli.finishing import finish
from conformance.cli.preparing import jobs_for, progress, say_setup, setup_from
from conformance.cli.resuming import journal_of, resumable
from conformance.cli.selecting import check_cases, select
from conformance.engine.run import run
from conformance.record.assemble import assemble
from conformance.spec.load import load_specs


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    kernels, cases = select(specs, arguments.patterns, arguments.module)
    check_cases(specs, cases)
    words = ["candle-parity", "run"]
    if arguments.seed_salt:
        words += ["--seed-salt", shlex.quote(arguments.seed_salt)]
    setup = setup_from(arguments, words, traces=None)
    say_setup(arguments, setup)
    jobs = jobs_for(arguments, setup, len(kernels))
    journal = journal_of(setup, arguments)
    with resumable(arguments, specs, journal), progress() as said:
        result = run(setup, kernels, cases, jobs, said, journal)
    return finish(arguments, specs, assemble(specs, result, arguments.patterns), result)
