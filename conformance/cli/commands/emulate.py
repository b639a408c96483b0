"""``candle-parity emulate``: run a program on an emulated AMD GPU; nothing runs on a GPU."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys

from conformance.cli.usage import CommandParser
from conformance.emulate.installation import RUNTIMES, environment, installation
from conformance.errors import UsageError
from conformance.runtimes.isa.kind import GPUS

EXAMPLES = (
    ("candle-parity emulate --arch gfx1100 -- cargo test", "a program's tests, its GPU a gfx1100 that is interpreted"),
    ("candle-parity emulate -- sh -c 'hipcc add.hip -o add && ./add'", "build and run a HIP program"),
    (
        "candle-parity emulate --runtime cpu -- ./tests",
        "likewise, its kernels compiled for this machine",
    ),
    ("candle-parity emulate --print-env", "the variables, for a CI job"),
)
EXIT_CODES = (
    "0 and all others: that of the program; 2 bad usage; 126 and 127: the program cannot be started, or is not there"
)
_CANNOT, _NOT_FOUND = 126, 127
MOST_DEVICES = 16


def _gpu(text: str) -> str:
    if text not in GPUS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(GPUS)}")
    return text


def _devices(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= MOST_DEVICES):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST_DEVICES}")
    return int(text)


def options(parser: CommandParser) -> None:
    parser.add_argument("--arch", type=_gpu, default=GPUS[0], metavar="GFX", help=f"the GPU: {', '.join(GPUS)}")
    parser.add_argument(
        "--runtime",
        choices=RUNTIMES,
        default=RUNTIMES[0],
        help="isa: AMD machine code, interpreted (default); cpu: its kernels compiled for this machine",
    )
    parser.add_argument(
        "--devices", type=_devices, default=1, metavar="N", help=f"how many GPUs, all alike: 1 to {MOST_DEVICES}"
    )
    parser.add_argument("--print-env", action="store_true", help="print the variables, NAME=VALUE, and run nothing")
    parser.add_argument("--shell", action="store_true", help="start $SHELL in the environment")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program and its arguments")


def command(arguments: argparse.Namespace) -> int:
    """Replaces this process by the program, so signals and the exit code are the program's own."""
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if bool(program) + arguments.print_env + arguments.shell != 1:
        raise UsageError("emulate takes one of: -- COMMAND, --print-env, --shell")
    root = installation(arguments.arch, arguments.runtime)
    variables = environment(root, arguments.arch, os.environ, arguments.devices, arguments.runtime)
    if arguments.print_env:
        print("\n".join(f"{name}={value}" for name, value in variables.items()))
        return 0
    if arguments.shell:
        program = [os.environ.get("SHELL", "/bin/sh")]
    sys.stdout.flush()
    try:
        os.execvpe(program[0], program, {**os.environ, **variables})
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError):  # an empty name
            error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        print(f"candle-parity: {shlex.quote(program[0])} cannot be started: {error.strerror}", file=sys.stderr)
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT
