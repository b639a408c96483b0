"""``candle-parity run``."""

from __future__ import annotations

import argparse
import shlex

from conformance.cli.finishing import finish
from conformance.cli.preparing import jobs_for, print_notes, progress, setup_from, tree_from
from conformance.cli.resuming import journal_of, resumable
from conformance.cli.selecting import check_cases, select
from conformance.cli.settings import Settings
from conformance.engine.modes import JudgeGenerated
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
    settings = Settings.of(vars(arguments))
    mode = JudgeGenerated(tree_from(settings))
    setup = setup_from(settings, words, mode.tree)
    print_notes(settings, setup)
    jobs = jobs_for(arguments.jobs, setup, len(kernels))
    journal = journal_of(setup, mode, arguments)
    with resumable(arguments, specs, journal), progress() as on_progress:
        result = run(setup, mode, kernels, cases, jobs, on_progress, journal)
    return finish(arguments, specs, assemble(specs, result, arguments.patterns), result)
