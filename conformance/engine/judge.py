"""One kernel on trial: every case launched in every thread order, every buffer judged."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Scalar
from conformance.compare import Mismatch, judge
from conformance.device.errors import HipError
from conformance.dtypes import dtype
from conformance.engine.tasks import CaseFailure, Outcome, Status
from conformance.engine.trials import TrialCase, with_equivalents
from conformance.processes import InfrastructureError
from conformance.spec.kernel import Kernel
from reference.expected import Expected

KEPT_FAILURES = 20
"""Failures written out per kernel; all are counted."""

FAULTS_BEFORE_GIVING_UP = 3
"""Where the process survives a fault; elsewhere the first fault is the last."""

OTHER_TIES = "equal values stand in another order than Candle's own network leaves them in; any order of them is right"

ONLY_EMPTY = "only empty cases were selected: nothing was judged"

Answer = Callable[[TrialCase, str], dict[str, NDArray[Any]]]
"""Runs a case in a thread order: every buffer's whole content afterwards, the very same dictionary as for an earlier
order where every byte is the same. Raises ``Damage`` or ``HipError``."""


class Damage(Exception):
    """A launch that overwrote bytes outside a buffer; the message says where."""


def from_recording(case: TrialCase, order: str) -> dict[str, NDArray[Any]]:
    """The recorded answers, to put the reference on trial; buffers that are only read stay as they were."""
    assert case.answer is not None
    return {arg.name: case.answer.get(arg.name, arg.data) for arg in case.launch.args if isinstance(arg, Buffer)}


def put_on_trial(
    kernel: Kernel,
    cases: Iterable[TrialCase],
    answer: Answer,
    orders: tuple[str, ...],
    command: str,
    begin: Callable[[str], None],
    survives_faults: bool = True,
) -> Outcome:
    """The outcome of ``kernel`` over ``cases``.

    A fault or time-out costs its case; after three of them (after one, where the device's context does not survive it)
    the kernel's remaining cases are not run. Raises ``InfrastructureError`` when the device has no room for a case.
    ``begin`` is told each case id before the case runs. A kernel passes only with a case that is not empty; cases that
    must fault and are not launched for it are ``left_out``.
    """
    started = time.perf_counter()
    outcome = Outcome(kernel.name, "pass")
    faults: list[Status] = []
    only_empty = True
    for case in cases:
        if case.must_fault and not survives_faults:
            outcome.left_out += 1
            continue
        begin(case.id)
        only_empty = only_empty and is_empty(case)
        outcome.cases += 1
        shown = f"{command} {shlex.quote(case.id)}"
        failure = CaseFailure(case.id, case.flaw, reproduce=shown) if case.flaw else None
        right: dict[str, NDArray[Any]] | None = None
        for order in () if case.flaw else orders:
            outcome.launches += 1
            reproduce = f"{command} --order {order} {shlex.quote(case.id)}" if len(orders) > 1 else shown
            try:
                buffers = answer(case, order)
                if buffers is right:
                    continue
                mismatch, largest, other_ties = _compare(kernel, case, buffers)
            except HipError as error:
                if case.must_fault and error.is_fault:
                    continue
                faults.append(verdict(case, error, outcome.launches > 1))
                failure = CaseFailure(case.id, str(error), reproduce=reproduce)
                break
            except Damage as error:
                failure = CaseFailure(case.id, str(error), reproduce=reproduce)
                break
            outcome.max_ulp = max(outcome.max_ulp, largest)
            if other_ties:
                outcome.message = OTHER_TIES
            if mismatch is None:
                right = buffers
            else:
                why = mismatch.why if len(orders) == 1 else f"{mismatch.why} (thread order {order})"
                failure = CaseFailure(
                    case.id, why, mismatch.index, mismatch.got, mismatch.expected, mismatch.ulp, reproduce
                )
                break
        if failure is not None:
            outcome.failed += 1
            if len(outcome.failures) < KEPT_FAILURES:
                outcome.failures.append(failure)
        if len(faults) >= (FAULTS_BEFORE_GIVING_UP if survives_faults else 1):
            outcome.message = f"given up after {len(faults)} faults"
            outcome.poisoned = not survives_faults
            break
    outcome.seconds = time.perf_counter() - started
    outcome.status = _status(kernel, outcome, faults)
    if outcome.cases and not outcome.failed and only_empty:
        return Outcome(kernel.name, "not_run", launches=outcome.launches, seconds=outcome.seconds, message=ONLY_EMPTY)
    return outcome


def verdict(case: TrialCase, error: HipError, later: bool) -> Status:
    """What ``error`` makes of the kernel. ``later`` says that this is not its first launch here, so that a fault which
    shows before the launch is its own.

    Raises ``InfrastructureError`` for other errors before the launch.
    """
    if error.lacks_memory:
        raise InfrastructureError(f"the device has no room for {case.id}: {error}")
    if error.before_launch and not (later and error.is_fault):
        raise InfrastructureError(f"the device failed before {case.id} was launched: {error}")
    return error.status


def is_empty(case: TrialCase) -> bool:
    """Whether the case has a size of 0 and no element to write: a kernel that does nothing would be right."""
    if case.must_fault or case.flaw:
        return False
    if not any(isinstance(arg, Scalar) and arg.value.dtype.kind in "iu" and not arg.value for arg in case.launch.args):
        return False
    return all(
        np.array_equal(case.expected[arg.name].value.view(np.uint8), arg.data[arg.start :].view(np.uint8))
        for arg in case.launch.args
        if isinstance(arg, Buffer) and arg.name in case.expected
    )


def _status(kernel: Kernel, outcome: Outcome, faults: list[Status]) -> Status:
    if not outcome.cases:
        outcome.message = "no case was run"
        return "not_run"
    if kernel.known_failure:
        if outcome.failed:
            outcome.message = kernel.known_failure
            return "known_failure"
        outcome.message = (
            f"passes, though the spec declares a known failure ({kernel.known_failure}); remove it from the spec"
        )
        return "fail"
    if not outcome.failed:
        return "pass"
    return next((status for status in ("crash", "timeout") if status in faults), "fail")


def _compare(kernel: Kernel, case: TrialCase, buffers: dict[str, NDArray[Any]]) -> tuple[Mismatch | None, float, bool]:
    """The first buffer that is not as expected, the largest distance met, and whether only ties are in other order."""
    if case.must_fault:
        why = f"ended without a fault, but upstream stops this launch: {case.must_fault}"
        return Mismatch(why, 0, "no fault", "a fault", None), 0.0, False
    largest, other_ties = 0.0, False
    for argument in case.launch.args:
        if not isinstance(argument, Buffer):
            continue
        got, before, start = buffers[argument.name], argument.data, argument.start
        row = dtype(argument.dtype)
        expected = case.expected.get(argument.name)
        if expected is None:
            mismatch, _ = judge(argument.name, got, Expected(before), before, row, 0)
            if mismatch is not None or not np.array_equal(got.view(np.uint8), before.view(np.uint8)):
                return _overwritten(argument, got), largest, False
            continue
        if start and not np.array_equal(got[:start].view(row.bits), before[:start].view(row.bits)):
            return _overwritten(argument, got[:start]), largest, False
        mismatch, steps = judge(argument.name, got[start:], expected, before[start:], row, kernel.tolerance.ulp)
        largest = max(largest, steps)
        if mismatch is not None:
            expected = with_equivalents(kernel, case.launch, argument.name, expected, buffers)
            mismatch, _ = judge(argument.name, got[start:], expected, before[start:], row, kernel.tolerance.ulp)
            other_ties = mismatch is None
        if mismatch is not None:
            return mismatch, largest, False
    return None, largest, other_ties


def _overwritten(argument: Buffer, got: NDArray[Any]) -> Mismatch:
    """An element that the kernel had no business to write."""
    row = dtype(argument.dtype)
    before = argument.data[: got.size]
    changed = np.flatnonzero(got.view(row.bits) != before.view(row.bits))
    index = int(changed[0])
    where = "before the start of" if argument.role != "in" else "of input"
    why = f"element {index} {where} {argument.name} was overwritten; {changed.size} elements in all"
    return Mismatch(why, index, str(got[index]), str(before[index]), None)
