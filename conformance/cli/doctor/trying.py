"""Compile, launch and read back a small kernel, and let another one fault, on the same path as a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from conformance.cases import cases_for
from conformance.cli.doctor.rows import Row
from conformance.engine.messages import Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.pool import EngineError
from conformance.engine.run import Result, run
from conformance.port.sources import SourceError
from conformance.runtimes import runtime_kind
from conformance.spec.load import Specs

KERNELS = Path(__file__).parent / "kernels"
KERNEL = "fill_u32"
_CASES = 4


def trial_rows(setup: Setup, specs: Specs) -> Iterator[Row]:
    """A row for each device and each of the two kernels, and one for what confines them."""
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
