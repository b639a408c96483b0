"""One kernel recorded: every case launched once, and what it left in its buffers kept, whatever that is."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer
from conformance.device.errors import HipError
from conformance.engine.judge import FAULTS_BEFORE_GIVING_UP, KEPT_FAILURES, Answer, Damage, verdict
from conformance.engine.tasks import CaseFailure, Outcome, Status
from conformance.engine.trials import TrialCase
from conformance.replay.recorder import Recorder
from conformance.spec.kernel import Kernel


def record(
    kernel: Kernel,
    cases: Iterable[TrialCase],
    answer: Answer,
    order: str,
    folder: Path,
    command: str,
    begin: Callable[[str], None],
    survives_faults: bool,
) -> Outcome:
    """Record what ``kernel`` answers to ``cases`` and write it into ``folder``; no answer is judged.

    The outcome is ``pass`` when every case has an answer. A launch that faults, does not end, or writes where it must
    not (outside a buffer, into an input) has none: it counts as failed, and the other cases are kept. A case whose
    right answer is a fault is left out and counted in ``left_out``.

    Raises ``InfrastructureError`` when the device fails before a launch.
    """
    started = time.perf_counter()
    outcome = Outcome(kernel.name, "pass")
    recorder = Recorder()
    met: list[Status] = []
    faults = 0
    for case in cases:
        if case.must_fault:
            outcome.left_out += 1
            continue
        begin(case.id)
        outcome.cases += 1
        outcome.launches += 1
        try:
            after = answer(case, order)
            _refuse_written_inputs(case, after)
        except Damage as error:
            why = str(error)
            met.append("fail")
        except HipError as error:
            why = str(error)
            met.append(verdict(case, error, outcome.launches > 1))
            faults += 1
        else:
            recorder.add(case.id, case.launch, after)
            continue
        outcome.failed += 1
        if len(outcome.failures) < KEPT_FAILURES:
            outcome.failures.append(CaseFailure(case.id, why, reproduce=f"{command} {shlex.quote(case.id)}"))
        if faults >= (FAULTS_BEFORE_GIVING_UP if survives_faults else 1):
            outcome.message = f"given up after {faults} faults"
            outcome.poisoned = not survives_faults
            break
    recorder.write(folder, kernel.name)
    outcome.status = next((status for status in ("crash", "timeout", "fail") if status in met), "pass")
    if not outcome.cases and not outcome.left_out:
        outcome.status, outcome.message = "not_run", "it has no cases"
    outcome.seconds = time.perf_counter() - started
    return outcome


def _refuse_written_inputs(case: TrialCase, after: Mapping[str, NDArray[Any]]) -> None:
    """Raises ``Damage`` where an input was overwritten: a trace has no place for it, and no kernel may do it."""
    for argument in case.launch.args:
        if isinstance(argument, Buffer) and argument.role == "in":
            changed = np.count_nonzero(after[argument.name].view(np.uint8) != argument.data.view(np.uint8))
            if changed:
                raise Damage(f"{changed} bytes of input {argument.name} were overwritten")
