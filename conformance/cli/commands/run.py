"""``candle-parity run``: compile and judge kernels, and report."""

from __future__ import annotations

import argparse

from conformance.cli.judge import judged
from conformance.cli.usage import OVER_CASES, CommandParser, take_patterns
from conformance.session.gate import gating_from
from conformance.session.prepared import prepare
from conformance.session.selection import judges_own, print_left_out
from conformance.session.setup import print_notes
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
    asked = prepare(settings, arguments.patterns, arguments.module)
    print_left_out(asked.left_out)
    gating = gating_from(
        Gate.of(vars(arguments)), asked.config, asked.whole, shard=arguments.shard, own=judges_own(asked.kernels)
    )
    if not arguments.quiet:
        print_notes(settings, asked.setup, asked.config)
    return judged(arguments, asked.specs, asked.setup, asked.mode, asked.kernels, asked.cases, gating)
