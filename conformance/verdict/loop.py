"""Every case of one kernel, answered in every thread order: the one loop of judging and recording."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from conformance.cases.case import Case
from conformance.cases.large import is_large
from conformance.cases.launch import Launch
from conformance.outcome import Evidence, Failure, Observation, Outcome
from conformance.processes import InfrastructureError
from conformance.runtimes.hip.errors import HipError
from conformance.spec.entry import ROWS
from conformance.spec.kernel import Kernel
from conformance.status import Status
from conformance.verdict.blame import Action, Event, State, decide, launch_event
from conformance.verdict.compare import Mismatch
from conformance.verdict.evidence import (
    RIGHT_IN_ANOTHER_ORDER,
    RIGHT_LAUNCHED_WITH,
    RIGHT_WITH_NARROW_INFO,
    evidence_of_fault,
    in_one_order_only,
    may_be_of_geometry,
    with_unwritten,
)
from conformance.verdict.geometries import in_other_geometries
from conformance.verdict.mistakes import with_narrow_info
from conformance.verdict.trials import TrialCase

KEPT_FAILURES = 20
"""Failures written out per kernel; all are counted."""

_TRIED_OTHERWISE = 3
"""Failing cases of a kernel that are launched again in other ways, of which none may explain them."""

_GEOMETRIES = 6
"""In which a case is found to be right: then no other is tried."""

_LONG = 1.0
"""Seconds that a launch in another geometry may take: after a longer one no other is tried."""

Buffers = dict[str, NDArray[Any]]
"""Every buffer's whole content after a launch, by parameter name."""


class Damage(Exception):
    """A launch that wrote where it must not; the message says where."""


class Unsupported(Exception):
    """A launch that the runtime cannot make, whatever the kernel: there is no verdict. The message says why."""


class NoAddressSpace(Exception):
    """A case whose buffers have gaps found no room for them: a limit of the process, and nothing of the kernel's."""


@dataclass(frozen=True)
class Answers:
    """Where the answers to cases come from.

    ``get`` runs a case in a thread order and returns the very same dictionary as for an earlier order where every byte
    is the same; its arrays may be overwritten once the next case is asked for. It raises ``Damage`` or ``HipError``.
    ``survives_faults`` says that a fault costs no more than its case, ``must_fault`` whether cases that upstream stops
    with an assert are run, ``reserves`` whether those are whose buffers have gaps. ``again`` launches the case that
    failed last once more as it was, and then with other bytes in registers, shared and scratch memory that nothing has
    written: what each leaves, ``None`` for a fault. ``instead`` makes another launch of the same kernel in place of the
    case that failed last, where a fault costs no more than that: what it leaves, or ``None`` for a fault. ``gentler``
    and ``otherwise`` are those of the runtime's kind.
    """

    get: Callable[[TrialCase, str], Buffers]
    orders: tuple[str, ...]
    survives_faults: bool = True
    must_fault: bool = True
    again: Callable[[TrialCase, str], Iterable[tuple[str, Buffers | None]]] | None = None
    instead: Callable[[Launch, str], Buffers | None] | None = None
    gentler: Mapping[str, str] = field(default_factory=dict)
    otherwise: Mapping[str, str] = field(default_factory=dict)
    reserves: bool = True

    def takes(self, case: TrialCase) -> bool:
        """Whether ``case`` is run."""
        return (self.must_fault or not case.must_fault) and (self.reserves or case.launch.spread is None)

    def orders_of(self, case: Case) -> tuple[str, ...]:
        """The thread orders in which ``case`` runs: the first alone of one that takes long."""
        return self.orders[:1] if is_large(case) else self.orders


@dataclass
class Counts:
    """What is known of a kernel while its cases run."""

    cases: int = 0
    failed: int = 0
    launches: int = 0
    left_out: int = 0
    poisoned: bool = False
    message: str | None = None
    failures: list[Failure] = field(default_factory=list)
    faults: list[Status] = field(default_factory=list)
    gives_up: bool = False
    """After the faults so far no more cases are run."""
    passed: list[Case] = field(default_factory=list)
    failing: dict[Evidence, list[Case]] = field(default_factory=dict)

    @property
    def failed_status(self) -> Status:
        """The status of a kernel of which a case failed."""
        return next((status for status in ("crash", "timeout") if status in self.faults), "fail")

    def fault(self, event: Event, survives: bool) -> None:
        """A launch ended in ``event``, a fault or a time-out; ``survives`` is that of ``Answers``."""
        late = event is Event.TIME_OUT
        state = State(survives=survives, timed_out="timeout" in self.faults)
        self.gives_up = self.gives_up or decide(event, state) is Action.FAIL_LAST
        self.faults.append("timeout" if late else "crash")

    def note(self, case: Case, failure: Failure | None) -> None:
        """What became of ``case``; of many failures the first are kept in full, the first fault always."""
        if failure is None:
            self.passed.append(case)
            return
        self.failing.setdefault(failure.evidence, []).append(case)
        self.failed += 1
        if len(self.failures) < KEPT_FAILURES:
            self.failures.append(failure)
        elif failure.evidence.fault and not any(kept.evidence.fault for kept in self.failures):
            self.failures[-1] = failure

    def columns(self) -> dict[str, Any]:
        """As fields of ``Outcome``."""
        names = ("cases", "failed", "launches", "left_out", "poisoned", "message")
        found = {
            "failures": tuple(self.failures),
            "observations": tuple(
                Observation(evidence, tuple(case.text for case in cases)) for evidence, cases in self.failing.items()
            ),
            "passed": tuple(case.text for case in self.passed) if self.failing else (),
        }
        return {**{name: getattr(self, name) for name in names}, **found}


class AnswerHandler(Protocol):
    """What happens with the answers of one kernel; an object per kernel."""

    def begin(self, case: TrialCase) -> None:
        """``case`` is next."""

    def take(self, case: TrialCase, buffers: Buffers, again: bool = False) -> Mismatch | None:
        """What is wrong with an answer, if anything; ``again`` for a case that has failed, whose errors do not count.

        Raises ``Damage``.
        """

    def is_right(self, case: TrialCase, buffers: Buffers) -> bool:
        """Whether an answer to ``case`` is known to be right; notes nothing."""

    def finish(self, counts: Counts) -> dict[str, Any]:
        """The status of the kernel, and what else is known of it, as fields of ``Outcome``."""


def run_cases(
    kernel: Kernel,
    cases: Iterable[TrialCase],
    answers: Answers,
    handler: AnswerHandler,
    command: str,
    begin: Callable[[str], None],
    to_the_first: bool = False,
) -> Outcome:
    """The outcome of ``kernel`` over ``cases``, each answer handed to ``handler``; ``to_the_first`` failure of a
    launch.

    A fault or time-out costs its case; after two time-outs (after one fault or time-out, where the device's context
    does not survive it) the kernel's remaining cases are not run. A launch that the runtime cannot make leaves a kernel
    ``not_run`` of which no case failed before. Cases that ``answers`` does not take are ``left_out``.
    ``command``, up to the case, reproduces a failure; ``begin`` gets each case id before the case runs.

    Raises ``InfrastructureError`` when the device fails before a launch, or has no room for a case.
    """
    started = time.perf_counter()
    counts = Counts()
    loop = _Loop(kernel, answers, handler, command, counts)

    def outcome(**columns: Any) -> Outcome:
        return Outcome(name=kernel.name, seconds=round(time.perf_counter() - started, 6), **columns)

    for case in cases:
        if not answers.takes(case):
            counts.left_out += 1
            continue
        begin(case.id)
        handler.begin(case)
        counts.cases += 1
        try:
            failure = loop.run(case)
        except NoAddressSpace:
            counts.cases, counts.left_out = counts.cases - 1, counts.left_out + 1
            continue
        except Unsupported as error:
            if decide(Event.UNSUPPORTED, State(case_failed=counts.failed > 0)) is Action.NOBODY:
                return outcome(status="not_run", message=str(error))
            counts.cases -= 1
            counts.message = str(error)
            break
        counts.note(case.case, failure)
        if to_the_first and counts.failed and counts.launches:
            break
        if counts.gives_up:
            counts.poisoned = not answers.survives_faults
            counts.message = f"given up after {_counted(counts.faults)}"
            break
    found = handler.finish(counts)
    if found["status"] in ("crash", "timeout"):  # what the status is about stands first
        counts.failures.sort(key=lambda failure: failure.evidence.fault is None)
    return outcome(**{**counts.columns(), **found})


@dataclass
class _Explained:
    """What has made failing cases of a kernel right: names behind a ``+`` in their order, and the launch geometries in
    which all that were tried are; ``None`` where none was tried yet."""

    otherwise: set[str] = field(default_factory=set)
    geometries: frozenset[str] | None = None


@dataclass(frozen=True)
class _Loop:
    """One kernel, whose cases are run one after the other."""

    kernel: Kernel
    answers: Answers
    handler: AnswerHandler
    command: str
    counts: Counts
    explained: _Explained = field(default_factory=_Explained)

    def run(self, case: TrialCase) -> Failure | None:
        """Run ``case`` in every order up to the first that fails; counts launches and notes faults."""
        if case.flaw:
            return Failure(case.id, case.flaw, reproduce=self._reproduce(case), evidence=case.evidence)
        answers, several, right = self.answers, len(self.answers.orders) > 1, None
        for order in answers.orders_of(case.case):
            self.counts.launches += 1
            try:
                buffers = answers.get(case, order)
                if buffers is right:
                    continue
                mismatch = self.handler.take(case, buffers)
            except HipError as error:
                event = launch_event(error, bool(case.must_fault), later=self.counts.launches > 1)
                action = decide(event)
                if action is Action.PASS_CASE:
                    continue
                if action is Action.LEAVE_OUT:
                    raise NoAddressSpace from None
                if event is Event.UNSUPPORTED:
                    raise Unsupported(error.detail) from None
                self._note_fault(case, error, event)
                evidence = evidence_of_fault(self.kernel, case.launch, str(error))
                evidence = in_one_order_only(evidence) if right is not None else evidence
                unwritten = () if error.is_timeout else self._unwritten(case, order, None)
                evidence = evidence if error.is_timeout else self._if_launched_otherwise(case, order, evidence)
                why, evidence = with_unwritten(str(error), evidence, unwritten, "that it faults")
                return Failure(case.id, why, reproduce=self._reproduce(case, order), evidence=evidence)
            except Damage as error:
                evidence = evidence_of_fault(self.kernel, case.launch, str(error))
                return Failure(case.id, str(error), reproduce=self._reproduce(case, order), evidence=evidence)
            if mismatch is None:
                right = buffers
                continue
            wrong = {name: content.copy() for name, content in buffers.items()} if answers.again else {}
            why = f"{mismatch.why} (thread order {order})" if several else mismatch.why
            differs = right is not None or self._right_later(case, order, buffers)
            evidence = in_one_order_only(mismatch.evidence) if differs else mismatch.evidence
            unwritten = self._unwritten(case, order, wrong)
            evidence = self._if_launched_otherwise(case, order, evidence)
            why, evidence = with_unwritten(why, evidence, unwritten, "the answer")
            again = self._reproduce(case, order)
            return Failure(case.id, why, mismatch.index, mismatch.got, mismatch.expected, mismatch.ulp, again, evidence)
        return None

    def _note_fault(self, case: TrialCase, error: HipError, event: Event) -> None:
        """Note that a launch of ``case`` faults, or takes too long; raises ``InfrastructureError`` where ``event`` is
        another one: nobody is to blame for it."""
        if event is Event.NO_ROOM:
            raise InfrastructureError(f"the device has no room for {case.id}: {error}")
        if event not in (Event.FAULT, Event.TIME_OUT):
            raise InfrastructureError(f"the device failed before {case.id} was launched: {error}")
        self.counts.fault(event, self.answers.survives_faults)

    def _right_later(self, case: TrialCase, order: str, wrong: Buffers) -> bool:
        """Whether ``case``, whose answer in ``order`` is wrong, is answered right in a later one; notes a fault
        there."""
        orders = self.answers.orders_of(case.case)
        for later in orders[orders.index(order) + 1 :]:
            try:
                buffers = self.answers.get(case, later)
                if buffers is not wrong and self.handler.take(case, buffers, again=True) is None:
                    return True
            except HipError as error:
                event = launch_event(error, bool(case.must_fault), later=True)
                if event not in (Event.UNSUPPORTED, Event.DUE):
                    self._note_fault(case, error, event)
                return False
            except Damage:
                return False
        return False

    def _unwritten(self, case: TrialCase, order: str, wrong: Buffers | None) -> tuple[str, ...]:
        """On what the ``wrong`` answer (``None``: a fault) of ``case`` depends that nothing has written, in words; on
        nothing where the same launch does not answer the same again."""
        if self.answers.again is None:
            return ()
        found: list[str] = []
        for what, buffers in self.answers.again(case, order):
            same = buffers is None if wrong is None else buffers is not None and _equal(wrong, buffers)
            if not what and not same:
                return ()
            found += [] if same else [what]
        return tuple(found)

    def _if_launched_otherwise(self, case: TrialCase, order: str, evidence: Evidence) -> Evidence:
        """``evidence`` of a failing case, and whether the kernel is right once info is as it reads it, with exact
        functions, on a gentler machine, or in another launch geometry. What may explain none of its cases is tried of
        the first ones only."""
        if self.answers.instead is None or case.must_fault or not ROWS[self.kernel.entry].tried_otherwise:
            return evidence
        first = self.counts.failed < _TRIED_OTHERWISE
        for launch in with_narrow_info(self.kernel, case.launch):
            if self._is_right_instead(case, launch, order):
                return _with_answers(evidence, RIGHT_WITH_NARROW_INFO)
        for name, answer in self.answers.otherwise.items():
            known = name in self.explained.otherwise
            if (first or known) and self._is_right_instead(case, case.launch, f"{order}+{name}"):
                self.explained.otherwise.add(name)
                return _with_answers(evidence, answer)
        gentler: list[tuple[str, str]] = []
        if RIGHT_IN_ANOTHER_ORDER in evidence.answers:
            gentler = [(answer, f"{order}+{name}") for name, answer in self.answers.gentler.items()]
        elif first:
            later = self.answers.orders[self.answers.orders.index(order) + 1 :]
            gentler = [(RIGHT_IN_ANOTHER_ORDER, f"{each}+{name}") for each in later for name in self.answers.gentler]
        for answer, how in gentler:
            if self._is_right_instead(case, case.launch, how):
                return _with_answers(evidence, answer)
        if (first or self.explained.geometries) and may_be_of_geometry(evidence):
            return _with_answers(evidence, *self._geometries(case, order))
        return evidence

    def _is_right_instead(self, case: TrialCase, launch: Launch, how: str) -> bool:
        """Whether ``case`` is answered right by ``launch`` in an order that ``how`` says."""
        assert self.answers.instead is not None
        buffers = self.answers.instead(launch, how)
        return buffers is not None and self.handler.is_right(replace(case, launch=launch), buffers)

    def _geometries(self, case: TrialCase, order: str) -> list[str]:
        """The launch geometries in which ``case`` is answered right, of those in which all cases before were; as what
        holds of it."""
        found: list[str] = []
        before = self.explained.geometries
        for text, launch in in_other_geometries(self.kernel.launch, case.case, case.launch):
            if before is not None and text not in before:
                continue
            started = time.perf_counter()
            if self._is_right_instead(case, launch, order):
                found.append(text)
            if len(found) == _GEOMETRIES or time.perf_counter() - started > _LONG:
                break
        self.explained.geometries = frozenset(found)
        return [f"{RIGHT_LAUNCHED_WITH}{text}" for text in found]

    def _reproduce(self, case: TrialCase, order: str | None = None) -> str:
        named = order and len(self.answers.orders) > 1
        return f"{self.command} {f'--order {order} ' if named else ''}{shlex.quote(case.id)}"


def _counted(faults: list[Status]) -> str:
    """``2 faults and 3 time-outs``."""
    late = faults.count("timeout")
    counts = ((len(faults) - late, "fault"), (late, "time-out"))
    return " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def _with_answers(evidence: Evidence, *answers: str) -> Evidence:
    return replace(evidence, answers=(*answers, *evidence.answers))


def _equal(one: Buffers, other: Buffers) -> bool:
    return all(np.array_equal(one[name].view(np.uint8), other[name].view(np.uint8)) for name in one)
