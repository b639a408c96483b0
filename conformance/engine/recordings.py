"""Recorded launches: as a source of cases, and as what becomes of answers.

The modes of ``replay`` (judge a port, or the reference, by what somebody recorded) and of ``record`` (keep what a port
answers to generated cases).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import reference
from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch
from conformance.engine.messages import add_checked_kinds
from conformance.engine.modes import CaseMode, JudgeGenerated, PortMode, Tree
from conformance.processes import InfrastructureError
from conformance.replay.archive import SUFFIX
from conformance.replay.recorder import Recorder
from conformance.replay.traces import Trace, Traces
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import Mismatch, judge_argument
from conformance.verdict.loop import AnswerHandler, Buffers, Counts, Damage
from conformance.verdict.trials import Parts, Subject, TrialCase, expected_of, generated, parts_of, with_equivalents
from reference.expected import Expected


def recorded_parts(kernel: Kernel, traces: Path) -> Parts:
    """All recorded cases of ``kernel``; raises ``TraceError``."""
    return parts_of(kernel, _traces(traces).cases(kernel.name))


def launches_of(kernel: Kernel, cases: Iterable[Case], traces: Path) -> Iterator[tuple[Case, Launch]]:
    """The recorded ones of ``cases`` of ``kernel`` with their launches."""
    ids = {case.id for case in cases}
    return ((one.case, one.launch) for one in _traces(traces).of(kernel) if one.case.id in ids)


def recorded(kernel: Kernel, cases: Iterable[Case] | None, traces: Path, subject: Subject) -> Iterator[TrialCase]:
    """The trials of ``kernel`` by recorded launches: of ``cases``, or of all for ``None``.

    What is expected is the reference's answer, or the recorded one if ``subject`` is ``kernels``. For the launches of a
    program (``Trace.of_program``) it is always the reference's, and launches that the reference does not take are left
    out.
    """
    ids = None if cases is None else {case.id for case in cases}
    for trace in _traces(traces).of(kernel):
        if ids is not None and trace.case.id not in ids:
            continue
        try:
            bound = expected_of(kernel, trace.launch)
        except reference.Faults as fault:
            yield TrialCase(
                trace.case, trace.launch, {}, flaw=f"an answer was recorded, but Candle stops this launch: {fault}"
            )
            continue
        except InfrastructureError:
            if trace.of_program:  # it may launch what no reference takes: no case, and no doing of the reference
                continue
            raise
        if trace.of_program:  # the answer is that of the program's own kernel, right or wrong
            yield TrialCase(trace.case, trace.launch, bound, trace.answer)
        elif subject == "reference":
            order = {name: replace(expected, exact=None) for name, expected in bound.items()}
            yield TrialCase(trace.case, trace.launch, order, trace.answer)
        else:
            yield against_recording(kernel, trace, bound)


def against_recording(kernel: Kernel, trace: Trace, bound: dict[str, Expected]) -> TrialCase:
    """The trial of a kernel by the recorded answer of ``trace``.

    Expected is that answer. Where the reference allows an interval (a library function, a free order of summation) the
    kernel may answer anything in the interval, as the recording did. A recorded answer outside of the interval judges
    nobody. Where the port mends a defect of Candle's, the reference's answer is expected.
    """
    expected: dict[str, Expected] = {}
    flaw: str | None = None
    after = {arg.name: trace.answer.get(arg.name, arg.data) for arg in trace.launch.args if isinstance(arg, Buffer)}
    for argument in trace.launch.args:
        if not isinstance(argument, Buffer) or argument.name not in trace.answer:
            continue
        answer, ulp = trace.answer[argument.name], kernel.tolerance.ulp
        allowed = bound.get(argument.name, Expected(argument.data[argument.start :]))
        order = replace(allowed, exact=None)  # Candle's own answer is in its own order of operations
        mismatch = judge_argument(argument, answer, order, ulp)
        if mismatch is not None:
            others = with_equivalents(kernel, trace.launch, argument.name, order, after)
            mismatch = judge_argument(argument, answer, others, ulp)
        if mismatch is not None:
            flaw = f"the recorded answer is not what the reference allows: {mismatch.why}"
        if kernel.is_fixed:
            expected[argument.name], flaw = allowed, None
            continue
        limits = (allowed.low, allowed.high, allowed.free)
        expected[argument.name] = Expected(answer[argument.start :], *limits, exact=allowed.exact)
    return TrialCase(trace.case, trace.launch, expected, trace.answer, flaw=flaw)


@lru_cache(maxsize=1)
def _traces(folder: Path) -> Traces:
    return Traces(folder)


class RecordingHandler:
    """Writes the answers of ``kernel`` to ``folder`` and judges none.

    The outcome is ``pass`` if every case has an answer. A launch has none if it faults, does not end, or writes where
    it must not (outside of a buffer, into an input). It counts as failed, and the other cases are kept.
    """

    def __init__(self, kernel: Kernel, folder: Path) -> None:
        self._kernel, self._folder = kernel.name, folder
        self._recorder = Recorder(kernel.entry)

    def begin(self, case: TrialCase) -> None:
        """Does nothing: before its answer nothing is known of a case."""

    def take(self, case: TrialCase, buffers: Buffers, again: bool = False) -> Mismatch | None:
        """Keep a copy of an answer, as the next launch overwrites the buffers. Raises ``Damage``."""
        _refuse_written_inputs(case, buffers)
        self._recorder.add(case.case, case.launch, {name: content.copy() for name, content in buffers.items()})
        return None

    def is_right(self, case: TrialCase, buffers: Buffers) -> bool:
        """Always false: an answer that is recorded is not judged."""
        return False

    def finish(self, counts: Counts) -> dict[str, Any]:
        """Write what was kept; returns the outcome's fields, whose status is about the launches."""
        self._recorder.write(self._folder, self._kernel)
        if not counts.cases and not counts.left_out:
            return {"status": "not_run", "message": "it has no cases"}
        return {"status": counts.failed_status if counts.failed else "pass"}


def _refuse_written_inputs(case: TrialCase, after: Buffers) -> None:
    """Raises ``Damage`` where an input was overwritten: a trace has no place for it, and no kernel may do it."""
    for argument in case.launch.args:
        if isinstance(argument, Buffer) and argument.role == "in":
            changed = np.count_nonzero(after[argument.name].view(np.uint8) != argument.data.view(np.uint8))
            if changed:
                raise Damage(f"{changed} bytes of input {argument.name} were overwritten")


@dataclass(frozen=True)
class RecordedMode(CaseMode):
    """The base of modes whose cases are the recorded launches in ``folder``."""

    folder: Path

    @property
    def traces(self) -> Path:
        return self.folder

    def launches(self, kernel: Kernel, cases: Iterable[Case], salt: str) -> Iterator[tuple[Case, Launch]]:
        return launches_of(kernel, cases, self.folder)

    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        return recorded(kernel, cases, self.folder, self.subject)


@dataclass(frozen=True)
class JudgeRecorded(RecordedMode, PortMode):
    """``replay``: judge a port by recorded launches."""

    def parts(self, kernel: Kernel) -> Parts:
        return recorded_parts(kernel, self.folder)


@dataclass(frozen=True)
class JudgeWithPinned(JudgeGenerated):
    """Judge a port by generated cases, and by launches of programs that it keeps in ``pinned_folder``: ``run`` of a
    port with pinned cases. ``digest`` is that of the folder (``digest_of_traces``)."""

    pinned_folder: Path
    digest: str

    @property
    def data(self) -> str:
        return self.digest

    def parts(self, kernel: Kernel) -> Parts:
        judged, others = super().parts(kernel)
        return Parts((*judged, *_traces(self.pinned_folder).cases(kernel.name)), others)

    def pinned(self, cases: Iterable[Case]) -> int:
        return sum(map(is_recorded, cases))

    def launches(self, kernel: Kernel, cases: Iterable[Case], salt: str) -> Iterator[tuple[Case, Launch]]:
        made, kept = _apart(cases)
        yield from super().launches(kernel, made, salt)
        yield from ((case, _as_recorded(launch)) for case, launch in launches_of(kernel, kept, self.pinned_folder))

    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        made, kept = (None, _traces(self.pinned_folder).cases(kernel.name)) if cases is None else _apart(cases)
        yield from generated(kernel, made, salt)
        left = {case.id for case in kept}
        for trial in recorded(kernel, kept, self.pinned_folder, self.subject):
            left.discard(trial.id)
            yield replace(trial, launch=_as_recorded(trial.launch))
        if left:  # it was judged when it was pinned: without it the verdict would be of fewer cases than the port wants
            raise InfrastructureError(
                f"the reference does not take the arguments of the pinned case {min(left)}; remove it from "
                f"{self.pinned_folder}, or pin it anew"
            )


def _as_recorded(launch: Launch) -> Launch:
    """``launch`` with the geometry that its program gave it, whatever the port declares for Candle's launches."""
    return replace(launch, own_geometry=True)


def _apart(cases: Iterable[Case]) -> tuple[list[Case], list[Case]]:
    """The generated ones of ``cases``, and the recorded ones."""
    every = list(cases)
    return [case for case in every if not is_recorded(case)], [case for case in every if is_recorded(case)]


def is_recorded(case: Case) -> bool:
    """Whether ``case`` is a recorded launch: its one field is the label of its trace."""
    return len(case.fields) == 1 and case.fields[0][0] == "trace"


def digest_of_traces(folder: Path) -> str:
    """A digest of the archives in ``folder``, names and content."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        digest.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class RecordAnswers(PortMode):
    """``record``: write what a port answers to generated cases to ``folder``, without judging it."""

    launches_faults: ClassVar[bool] = False  # what is recorded has an answer
    launches_spread: ClassVar[bool] = False  # and its arguments are what the kernel was given

    folder: Path

    def cases(self, kernel: Kernel, cases: Iterable[Case] | None, salt: str) -> Iterator[TrialCase]:
        return generated(kernel, cases, salt)

    def handler(self, kernel: Kernel) -> AnswerHandler:
        return RecordingHandler(kernel, self.folder)


@dataclass(frozen=True)
class JudgeReference(RecordedMode):
    """``replay --subject reference``: judge the reference by recorded launches. No kernel is launched."""

    subject: ClassVar[Subject] = "reference"
    process: ClassVar[str] = "conformance.engine.reference_judge"

    @property
    def trees(self) -> tuple[Tree, ...]:
        return ()


add_checked_kinds(JudgeRecorded, JudgeWithPinned, RecordAnswers, JudgeReference)
