# PYTHON_ARGCOMPLETE_OK: for argcomplete's global completion, which reads the first lines
"""``candle-parity``: reads the command line and calls the command's function.

Exit codes: 0 met, 1 parity below the gate or a failure, 2 bad usage or bad input (one sentence on standard error),
130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. Every ending is in ``conformance.cli.ending``.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from typing import Any

from conformance import environment
from conformance.cli.commands import about, command_names, loaded
from conformance.cli.ending import ended
from conformance.cli.usage import MOST_EXITS, CommandParser, complete, completing, module_names
from conformance.errors import UsageError
from conformance.files import checkout, version
from conformance.option import STDOUT
from conformance.processes.forked import allow_forks
from conformance.report.files import report_files
from conformance.session.cache_folder import check_cache
from conformance.session.outputs import begin_outputs, check_outputs
from conformance.settings import OPTIONS


def build_parser(only: str | None = None) -> CommandParser:
    """The parser of all commands, each with its own options and with those of ``conformance.settings``.

    With ``only`` just this command is imported and has options; for a name that is no command none has.
    """
    parser = CommandParser(
        prog="candle-parity", description="Reports how far a HIP port of Candle's kernels is at parity with Candle."
    )
    parser.add_argument("-V", "--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    options = (*OPTIONS, *(report.option for report in report_files()))
    for name in command_names():
        added: CommandParser = commands.add_parser(name, help=about(name))
        if only not in (None, name):
            continue
        try:
            module = loaded(name)
        except UsageError:  # a package is missing that this command alone needs
            if only is not None:
                raise
            continue  # completion and the man page are of what is there
        module.options(added)
        for row in (row for row in options if name in row.commands):
            action = added.group(row.group).add_argument(*row.flags, **row.arguments())
            if row.name == "module":
                setattr(action, "completer", module_names)  # noqa: B010 (argcomplete's attribute)
        added.close(getattr(module, "EXAMPLES", ()), getattr(module, "EXIT_CODES", MOST_EXITS))
    return parser


class _Version(argparse.Action):
    """``--version``: looked up when asked for, as it reads files and asks git."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from conformance.record.commits import harness_commit

        commit = harness_commit() if checkout() is not None else None  # an installation's version says it
        print(f"candle-parity {version()}{f' at {commit}' if commit else ''}")
        parser.exit()


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line. Patterns may stand after options, which argparse alone does not allow after
    TRACE_DIR."""
    args = sys.argv[1:] if argv is None else argv
    typed = completing()
    first = next((word for word in (args if typed is None else typed) if not word.startswith("-")), "")
    parser = build_parser(first)
    complete(parser)
    # Only from Python: no shell can pass it. Every path and pattern would fail in its own way.
    if any("\0" in word for word in args):
        parser.error("an argument holds a NUL character; no path and no kernel name can")
    arguments, rest = parser.parse_known_args(args)
    arguments.argv = [*args]
    if rest and ("patterns" not in arguments or any(word.startswith("-") for word in rest)):
        parser.of(arguments.command).unknown(rest)
    if rest:
        arguments.patterns = [*arguments.patterns, *rest]
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: the process's); returns the exit code."""

    def command() -> int:
        gc.disable()  # as own_module does
        # As judges have it: to start numpy's threads takes longer than all that a command has to compute.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        arguments = parse(argv)  # imports the command
        check_outputs(arguments)
        environment.check()
        check_cache()
        begin_outputs(arguments)
        if argv is None:  # a process of its own, in which all that stays
            gc.freeze()
            allow_forks()
        gc.enable()
        # What is not the answer goes to standard error, where the answer goes to standard output.
        alone = getattr(arguments, "json", None) == STDOUT
        with redirect_stdout(sys.stderr) if alone else nullcontext():
            return loaded(arguments.command).command(arguments)

    return ended(command)


if __name__ == "__main__":
    sys.exit(main())
