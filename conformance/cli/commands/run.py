"""``candle-parity run``: compile the kernels, judge them, report."""

from __future__ import annotations

import argparse

from conformance.cli.judge import judged
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.engine.modes import JudgeGenerated
from conformance.session.gate import gating_from
from conformance.session.selection import check_cases, judgeable, judges_own, select, without_undefined
from conformance.session.setup import config_from, print_notes, setup_from, specs_from, tree_from
from conformance.settings import Gate, Settings

EXAMPLES = (
    ("candle-parity run --kernels path/to/port", "every kernel of a port"),
    ("candle-parity run --kernels path/to/port 'u*_f16' --module unary --wave 32", "some of them, in waves of 32"),
    ("candle-parity run --kernels path/to/port 'uexp_*(layout=transposed;*)'", "cases by their fields"),
    ("candle-parity run --kernels path/to/port --runtime isa --arch gfx942", "as AMD's machine code, interpreted"),
    ("candle-parity run --kernels path/to/port --fail-under 80 --json parity.json.xz", "a gate for CI"),
)
EXIT_CODES = (
    "0 met; 1 not met (without a gate: a failure that the port does not declare); 2 no verdict: bad usage, bad input, "
    "nothing judged; 130, 143 and 129 stopped by Ctrl-C, SIGTERM and SIGHUP"
)


def options(parser: CommandParser) -> None:
    take_patterns(parser, OVER_CASES)
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)  # a run that --watch has started


def command(arguments: argparse.Namespace) -> int:
    if arguments.watch and not arguments.watched:
        from conformance.cli.watch import watch

        return watch(arguments)
    settings = Settings.of(vars(arguments))
    config = config_from(settings)
    specs = specs_from(settings, config)
    kernels, cases = select(specs, arguments.patterns, arguments.module, launchers=True)
    check_cases(specs, cases)
    kernels = judgeable(kernels)
    mode = JudgeGenerated(tree_from(settings, specs, config))
    if not arguments.patterns and not arguments.module:
        kernels = without_undefined(kernels, mode.tree)
    count = sum(kernel.name in specs.kernels for kernel in kernels)
    whole = count == len(specs.kernels) and not cases
    gating = gating_from(Gate.of(vars(arguments)), config, whole, shard=arguments.shard, own=judges_own(kernels))
    setup = setup_from(settings, ["candle-parity", "run"], mode.tree, config)
    if not arguments.quiet:
        print_notes(settings, setup)
    return judged(arguments, specs, setup, mode, kernels, cases, gating)
