"""``candle-parity doctor``: show what this machine has for running kernels, and whether it can.

Nothing is judged but the machine: it compiles, launches and reads back a small kernel, and lets another one fault, on
the same path as a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from conformance.cases import cases_for
from conformance.cli.machine import Row, machine_rows, rendered
from conformance.cli.usage import CommandParser
from conformance.engine.messages import Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.pool import EngineError
from conformance.engine.result import Result
from conformance.engine.run import run
from conformance.errors import UsageError
from conformance.files import kernels_folder
from conformance.port.sources import SourceError
from conformance.runtimes import AUTO, runtime_kind
from conformance.runtimes.kind import Choice
from conformance.session.setup import config_from, setup_from
from conformance.settings import Settings
from conformance.spec.load import Specs, load_specs

KERNELS = Path(__file__).parents[1] / "doctor_kernels"
KERNEL = "fill_u32"
_CASES = 4

EXAMPLES = (("candle-parity doctor", "what this machine can run, and what it lacks"),)
EXIT_CODES = "0 kernels can be run here; 1 they cannot; 2 bad usage"


def options(parser: CommandParser) -> None:
    parser.add_argument("--wave", type=int, choices=(32, 64), help=argparse.SUPPRESS)


def command(arguments: argparse.Namespace) -> int:
    """Print the rows as they come; 0 where a run works, else 1."""
    rows: list[Row] = []
    for row in _rows(arguments):
        rows.append(row)
        print(rendered(row), flush=True)
    missing = sum(row.state == "todo" for row in rows)
    works = all(row.state == "ok" for row in rows if row.decides)
    print(f"\n{'kernels can be run' if works else 'kernels cannot be run'}; {missing or 'nothing'} to be mended")
    return 0 if works else 1


def _rows(arguments: argparse.Namespace) -> Iterator[Row]:
    settings = Settings.of(vars(arguments))
    try:
        config = config_from(settings)
        setup = setup_from(settings, ["candle-parity", "run"], Tree.at(kernels_folder()), config)
    except UsageError as error:
        yield from machine_rows(Choice(settings.runtime))
        yield Row("todo", "runtime", f"{settings.runtime} cannot be used", str(error), decides=True)
        return
    yield from machine_rows(setup.choice)
    chosen = f"{setup.runtime}{' (chosen by auto)' if settings.runtime == AUTO else ''}"
    yield Row("ok", "runtime", chosen, decides=True)
    yield from trial_rows(setup, load_specs())


def trial_rows(setup: Setup, specs: Specs) -> Iterator[Row]:
    """The rows of the trial: for each device one for a kernel that is right and one for a kernel that faults; and one
    for the sandbox."""
    for number, device in enumerate(setup.choice.devices):
        on_device = replace(setup, device=device, choice=replace(setup.choice, devices=(device,)))
        right = _result(on_device, specs, "right.hip")
        if not isinstance(right, str) and number == 0 and runtime_kind(setup.runtime).on_host:
            yield _sandbox(right)
        where = f"on {right.ready.device}" if not isinstance(right, str) else f"on device {device}"
        yield _judged(right, "pass", "a kernel", f"compiled, launched, read back: right, {where}")
        faulty = _result(on_device, specs, "faulty.hip")
        yield _judged(faulty, "crash", "a fault", f"a kernel that faults is a crash and costs nothing else, {where}")


def _result(setup: Setup, specs: Specs, file: str) -> Result | str:
    """The run of one file's kernel, or why there was none."""
    kernel = specs.kernels[KERNEL]
    wanted = tuple(case.id for case in cases_for(kernel)[-_CASES:])
    try:
        return run(setup, JudgeGenerated(Tree.at(KERNELS / file)), [kernel], {KERNEL: wanted})
    except (EngineError, SourceError) as error:
        return str(error)


def _judged(result: Result | str, wanted: str, what: str, text: str) -> Row:
    if isinstance(result, str):
        return Row("todo", what, "could not be tried", result, decides=True)
    outcome = result.outcomes[KERNEL]
    if outcome.status == wanted:
        return Row("ok", what, text, decides=True)
    failure = next((f"{one.case}: {one.why}" for one in outcome.failures), outcome.message or "no message")
    return Row("todo", what, f"{outcome.status} in place of {wanted}", failure, decides=True)


def _sandbox(result: Result) -> Row:
    sandbox = result.ready.sandbox or "none"
    if sandbox.startswith("none"):
        return Row(
            "todo", "sandbox", sandbox, "run trees that you trust; Linux 5.13 or newer with Landlock confines kernels"
        )
    return Row("ok", "sandbox", sandbox)
