"""``candle-parity run``."""

from __future__ import annotations

import argparse
import shlex

from conformance.cli.gating import gating_from
from conformance.cli.judging import judged
from conformance.cli.preparing import config_from, print_notes, setup_from, tree_from
from conformance.cli.selecting import check_cases, select, without_undefined
from conformance.cli.settings import Settings
from conformance.engine.modes import JudgeGenerated
from conformance.spec.load import load_specs


def command(arguments: argparse.Namespace) -> int:
    specs = load_specs(arguments.specs)
    kernels, cases = select(specs, arguments.patterns, arguments.module, launchers=True)
    check_cases(specs, cases)
    words = ["candle-parity", "run"]
    if arguments.seed_salt:
        words += ["--seed-salt", shlex.quote(arguments.seed_salt)]
    settings = Settings.of(vars(arguments))
    mode = JudgeGenerated(tree_from(settings, specs))
    if not arguments.patterns and not arguments.module:
        kernels = without_undefined(kernels, mode.tree)
    count = sum(not kernel.is_launcher for kernel in kernels)
    gating = gating_from(arguments, config_from(settings), count == len(specs.kernels) and not cases)
    setup = setup_from(settings, words, mode.tree)
    if not arguments.quiet:
        print_notes(settings, setup)
    return judged(arguments, specs, setup, mode, kernels, cases, gating)
