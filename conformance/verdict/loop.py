"""Every case of one kernel, answered in every thread order: the one loop of judging and recording."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Launch
from conformance.outcome import Evidence, Failure, Outcome, Status
from conformance.processes import InfrastructureError
from conformance.runtimes.hip.errors import HipError
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import Mismatch
from conformance.verdict.evidence import (
    RIGHT_WITH_NARROW_INFO,
    Observed,
    evidence_of_fault,
    in_one_order_only,
    with_unwritten,
)
from conformance.verdict.mistakes import with_narrow_info
from conformance.verdict.trials import TrialCase

KEPT_FAILURES = 20
"""Failures written out per kernel; all are counted."""

TIMEOUTS_BEFORE_GIVING_UP = 3
"""Where the process survives it, as it survives any number of faults; elsewhere the first of either is the last."""

Buffers = dict[str, NDArray[Any]]
"""Every buffer's whole content after a launch, by parameter name."""


class Damage(Exception):
    """A launch that wrote where it must not; the message says where."""


class Unsupported(Exception):
    """A launch that the runtime cannot make, whatever the kernel: there is no verdict. The message says why."""


@dataclass(frozen=True)
class Answers:
    """Where the answers to cases come from.

    ``get`` runs a case in a thread order and returns the very same dictionary as for an earlier order where every byte
    is the same; its arrays may be overwritten once the next case is asked for. It raises ``Damage`` or ``HipError``.
    ``survives_faults`` says that a fault costs no more than its case, ``must_fault`` whether cases that upstream stops
    with an assert are run. ``again`` launches the case that failed last once more as it was, and then with other bytes
    in registers, shared and scratch memory that nothing has written: what each leaves, ``None`` for a fault.
    ``instead`` makes another launch of the same kernel in place of the case that failed last, where a fault costs no
    more than that: what it leaves, or ``None`` for a fault.
    """

    get: Callable[[TrialCase, str], Buffers]
    orders: tuple[str, ...]
    survives_faults: bool = True
    must_fault: bool = True
    again: Callable[[TrialCase, str], Iterable[tuple[str, Buffers | None]]] | None = None
    instead: Callable[[Launch, str], Buffers | None] | None = None


class AnswerHandler(Protocol):
    """What happens with the answers of one kernel; an object per kernel."""

    def begin(self, case: TrialCase) -> None:
        """``case`` is next."""

    def take(self, case: TrialCase, buffers: Buffers, outcome: Outcome) -> Mismatch | None:
        """What is wrong with an answer, if anything; notes in ``outcome`` what else is known of it.

        Raises ``Damage``.
        """

    def is_right(self, case: TrialCase, buffers: Buffers) -> bool:
        """Whether an answer to ``case`` is known to be right; notes nothing."""

    def finish(self, outcome: Outcome, faults: Sequence[Status]) -> None:
        """Set the status and message of ``outcome``, whose cases and failures are counted."""


def run_cases(
    kernel: Kernel,
    cases: Iterable[TrialCase],
    answers: Answers,
    handler: AnswerHandler,
    command: str,
    begin: Callable[[str], None],
) -> Outcome:
    """The outcome of ``kernel`` over ``cases``, each answer handed to ``handler``.

    A fault or time-out costs its case; after three time-outs (after one fault or time-out, where the device's context
    does not survive it) the kernel's remaining cases are not run. A launch that the runtime cannot make leaves a kernel
    ``not_run`` of which no case failed before. Cases that must fault and are not run for it are ``left_out``.
    ``command``, up to the case, reproduces a failure; ``begin`` gets each case id before the case runs.

    Raises ``InfrastructureError`` when the device fails before a launch, or has no room for a case.
    """
    started = time.perf_counter()
    outcome = Outcome(kernel.name, "pass")
    faults: list[Status] = []
    observed = Observed()
    for case in cases:
        if case.must_fault and not answers.must_fault:
            outcome.left_out += 1
            continue
        begin(case.id)
        handler.begin(case)
        outcome.cases += 1
        try:
            failure = _run_case(kernel, case, answers, handler, command, outcome, faults)
        except Unsupported as error:
            if not outcome.failed:
                return Outcome(kernel.name, "not_run", message=str(error), seconds=time.perf_counter() - started)
            outcome.cases -= 1
            outcome.message = str(error)
            break
        if failure is None:
            observed.passed(case.case)
        else:
            observed.failed(case.case, failure.evidence)
            outcome.failed += 1
            _keep(outcome.failures, failure)
        outcome.poisoned = bool(faults) and not answers.survives_faults
        if outcome.poisoned or faults.count("timeout") >= TIMEOUTS_BEFORE_GIVING_UP:
            outcome.message = f"given up after {_counted(faults)}"
            break
    observed.note(outcome)
    handler.finish(outcome, faults)
    if outcome.status in ("crash", "timeout"):  # what the status is about stands first
        outcome.failures.sort(key=lambda failure: failure.evidence.fault is None)
    outcome.seconds = time.perf_counter() - started
    return outcome


def _keep(failures: list[Failure], failure: Failure) -> None:
    """Add ``failure`` while there is room; the first fault always has some."""
    if len(failures) < KEPT_FAILURES:
        failures.append(failure)
    elif failure.evidence.fault and not any(kept.evidence.fault for kept in failures):
        failures[-1] = failure


def _run_case(
    kernel: Kernel,
    case: TrialCase,
    answers: Answers,
    handler: AnswerHandler,
    command: str,
    outcome: Outcome,
    faults: list[Status],
) -> Failure | None:
    """Run ``case`` in every order up to the first that fails; counts launches and notes faults."""
    several = len(answers.orders) > 1
    if case.flaw:
        return Failure(case.id, case.flaw, reproduce=_reproduce(command, case), evidence=case.evidence)
    right: Buffers | None = None
    for order in answers.orders:
        outcome.launches += 1
        try:
            buffers = answers.get(case, order)
            if buffers is right:
                continue
            mismatch = handler.take(case, buffers, outcome)
        except HipError as error:
            if error.is_unsupported:
                raise Unsupported(error.detail) from None
            if case.must_fault and error.is_fault:
                continue
            faults.append(status_of(case, error, outcome.launches > 1))
            evidence = evidence_of_fault(kernel, case.launch, str(error))
            evidence = in_one_order_only(evidence) if right is not None else evidence
            unwritten = () if error.is_timeout else _unwritten(case, order, answers, None)
            evidence = evidence if error.is_timeout else _of_info(kernel, case, order, answers, handler, evidence)
            again = _reproduce(command, case, order if several else None)
            why, evidence = with_unwritten(str(error), evidence, unwritten, "that it faults")
            return Failure(case.id, why, reproduce=again, evidence=evidence)
        except Damage as error:
            evidence = evidence_of_fault(kernel, case.launch, str(error))
            again = _reproduce(command, case, order if several else None)
            return Failure(case.id, str(error), reproduce=again, evidence=evidence)
        if mismatch is None:
            right = buffers
            continue
        wrong = {name: content.copy() for name, content in buffers.items()} if answers.again else {}
        why = f"{mismatch.why} (thread order {order})" if several else mismatch.why
        again = _reproduce(command, case, order if several else None)
        differs = right is not None or _right_later(case, answers, handler, order, buffers, faults)
        evidence = in_one_order_only(mismatch.evidence) if differs else mismatch.evidence
        unwritten = _unwritten(case, order, answers, wrong)
        evidence = _of_info(kernel, case, order, answers, handler, evidence)
        why, evidence = with_unwritten(why, evidence, unwritten, "the answer")
        return Failure(case.id, why, mismatch.index, mismatch.got, mismatch.expected, mismatch.ulp, again, evidence)
    return None


def _counted(faults: Sequence[Status]) -> str:
    """``2 faults and 3 time-outs``."""
    late = faults.count("timeout")
    counts = ((len(faults) - late, "fault"), (late, "time-out"))
    return " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def _right_later(
    case: TrialCase, answers: Answers, handler: AnswerHandler, order: str, wrong: Buffers, faults: list[Status]
) -> bool:
    """Whether ``case``, whose answer in ``order`` is wrong, is answered right in a later one; notes a fault there."""
    for later in answers.orders[answers.orders.index(order) + 1 :]:
        try:
            buffers = answers.get(case, later)
            if buffers is not wrong and handler.take(case, buffers, Outcome(case.case.kernel, "fail")) is None:
                return True
        except HipError as error:
            if not error.is_unsupported and not (case.must_fault and error.is_fault):
                faults.append(status_of(case, error, later=True))
            return False
        except Damage:
            return False
    return False


def _unwritten(case: TrialCase, order: str, answers: Answers, wrong: Buffers | None) -> tuple[str, ...]:
    """On what the ``wrong`` answer (``None``: a fault) of ``case`` depends that nothing has written, in words; on
    nothing where the same launch does not answer the same again."""
    if answers.again is None:
        return ()
    found: list[str] = []
    for what, buffers in answers.again(case, order):
        same = buffers is None if wrong is None else buffers is not None and _equal(wrong, buffers)
        if not what and not same:
            found = []
            break
        found += [] if same else [what]
    return tuple(found)


def _of_info(
    kernel: Kernel, case: TrialCase, order: str, answers: Answers, handler: AnswerHandler, evidence: Evidence
) -> Evidence:
    """``evidence`` of a failing case, and whether the kernel is right once info is as it reads it."""
    if answers.instead is None or case.must_fault:
        return evidence
    for launch in with_narrow_info(kernel, case.launch):
        buffers = answers.instead(launch, order)
        if buffers is not None and handler.is_right(replace(case, launch=launch), buffers):
            return replace(evidence, answers=(RIGHT_WITH_NARROW_INFO, *evidence.answers))
    return evidence


def _equal(one: Buffers, other: Buffers) -> bool:
    return all(np.array_equal(one[name].view(np.uint8), other[name].view(np.uint8)) for name in one)


def _reproduce(command: str, case: TrialCase, order: str | None = None) -> str:
    return f"{command} {f'--order {order} ' if order else ''}{shlex.quote(case.id)}"


def status_of(case: TrialCase, error: HipError, later: bool) -> Status:
    """What ``error`` makes of the kernel. ``later`` says that this is not its first launch here, so that a fault which
    shows before the launch is its own.

    Raises ``InfrastructureError`` for other errors before the launch.
    """
    if error.lacks_memory:
        raise InfrastructureError(f"the device has no room for {case.id}: {error}")
    if error.before_launch and not (later and error.is_fault):
        raise InfrastructureError(f"the device failed before {case.id} was launched: {error}")
    return error.status
