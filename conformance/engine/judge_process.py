"""A judge: owns cases, reference and verdict, and never loads anything of a port.

Started as ``python -m conformance.engine.judge_process SOCKET_FD PROGRESS_FD PARENT_PID``. Where executors are this
judge's own (the cpu runtime, whose kernels share a process with what runs them), a verdict other than ``pass`` counts
only from an executor that had run nothing else: whatever a kernel did to its process, no other kernel is blamed for it.
Where judges share one, the same holds for faults.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from conformance.engine.compiling import Compiler
from conformance.engine.launching import Launching
from conformance.engine.library import Library, LostLoading
from conformance.engine.member import defect, run_member
from conformance.engine.progress import Progress
from conformance.engine.recording import record
from conformance.engine.remote import Lost
from conformance.engine.supply import Supply
from conformance.engine.tasks import Compile, Compiled, Refused, Setup, Trial, from_map, to_map
from conformance.engine.wire import Channel
from conformance.outcome import Failure, Outcome
from conformance.port.sources import SourceError
from conformance.processes import InfrastructureError, Supervisor
from conformance.replay import TraceError
from conformance.runtimes.hip.errors import CompileError, HipError
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.judge import from_recording, put_on_trial
from conformance.verdict.trials import TrialCase, case_ids, generated, recorded
from reference import NoReference

SECONDS_TO_SET_UP = 60.0

TRIES = 5
"""Executors that a kernel may take up, most of them lost to its neighbours on a shared device."""

DEATHS = 2
"""Executors that a kernel has to bring down, the second one alone, before it is called the cause."""


class Judge:
    """Answers the requests of the process that started it; see ``serve``."""

    def __init__(self, channel: Channel, progress: Progress, setup: Setup, supervisor: Supervisor) -> None:
        self._progress = progress
        self._setup = setup
        self._specs = load_specs(setup.specs)
        self._supply = Supply(channel, self._renewed)
        self._losses: dict[int, int] = {}
        self._deadly: dict[int, str] = {}
        self._compiler = Compiler(setup, setup.options, supervisor, progress.begin, lambda: self._supply.ready)
        self._library: Library | None = None
        if setup.kernels is not None:
            compiled, loader = self._compiler.compiled, self._supply.current
            self._library = Library(
                setup.kernels,
                setup.options,
                setup.runtime,
                compiled,
                loader,
                progress.begin,
                lambda: self._supply.ready.arch,
            )

    def compile(self, request: Compile) -> Compiled:
        """Compile and load one source."""
        assert self._library is not None
        started = time.perf_counter()
        error: str | None = None
        infrastructure: str | None = None
        try:
            while error is None:
                fresh = self._supply.touch()
                try:
                    self._library.compile(request.source)
                    break
                except LostLoading as lost:
                    self._lost_loading(lost, fresh)
                    error = self._deadly.get(request.source)
                except HipError as refused:
                    error = str(refused) if fresh else None
                if error is None:
                    self._supply.alone()
        except CompileError as refused:
            error = refused.log
        except SourceError as refused:
            error = str(refused)
        except InfrastructureError as failed:
            infrastructure = str(failed)
        if error is not None:
            self._supply.discard()
        seconds = time.perf_counter() - started
        return Compiled(request.source, seconds, error, False, infrastructure, tuple(self._compiler.told()))

    def _lost_loading(self, lost: LostLoading, fresh: bool) -> None:
        """Remember that loading a source cost an executor; the second time, or a hang with nothing before it, it is
        known as deadly. One that was lost to another judge's kernel meanwhile says nothing of the source."""
        end = self._supply.lost(lost.lost)
        if not end.suspect:
            return
        self._losses[lost.index] = self._losses.get(lost.index, 0) + 1
        if self._losses[lost.index] == DEATHS or (fresh and lost.lost.kind == "silent"):
            self._deadly[lost.index] = f"error: its code cannot be loaded: {end.how}"

    def trial(self, request: Trial) -> Outcome:
        """The outcome of one kernel; raises ``TraceError``, ``NoReference`` and ``ValueError`` for bad input."""
        kernel = self._specs.kernels[request.kernel]
        self._progress.begin(kernel.name)
        if self._library is None:
            return self._reference_on_trial(kernel, request)
        try:
            outcome = self._trial(self._library, kernel, request)
        except InfrastructureError as failed:
            outcome = Outcome.infrastructure(kernel.name, str(failed))
        self._compiler.sign(outcome)
        outcome.warnings.extend(self._compiler.told())
        return outcome

    def _reference_on_trial(self, kernel: Kernel, request: Trial) -> Outcome:
        assert self._setup.traces is not None
        cases = _selected(recorded(kernel, self._setup.traces, "reference"), request.cases)
        return put_on_trial(kernel, cases, from_recording, ("recorded",), self._setup.command, self._progress.begin)

    def _trial(self, library: Library, kernel: Kernel, request: Trial) -> Outcome:
        deaths = 0
        self._supply.settle()
        for attempt in range(TRIES):
            library.broken = {**request.broken, **self._deadly}
            library.unavailable = dict(request.unavailable)
            library.refused.clear()
            fresh = self._supply.touch()
            try:
                outcome = self._attempt(library, kernel, request)
            except InfrastructureError:  # unless a kernel before this one has taken all memory
                if fresh:
                    raise
                self._supply.alone()
                continue
            except LostLoading as lost:
                self._lost_loading(lost, fresh)
                self._supply.alone()
                continue
            except Lost as lost:
                end = self._supply.lost(lost)
                if not end.suspect:
                    if attempt:  # neighbours that fault again and again must not keep it from a verdict
                        self._supply.alone()
                    continue
                deaths += 1
                if deaths == DEATHS or (fresh and lost.kind == "silent"):
                    return self._died(kernel, lost, end.how)
                self._supply.alone()
                continue
            if outcome.status == "pass" or not self._doubtful(library, request, outcome):
                return outcome
            if fresh:
                self._deadly.update(library.broken)  # learned where nothing else had run: not to be tried again
                self._supply.discard()
                return outcome
            self._supply.alone()
        raise InfrastructureError(f"{TRIES} executors were lost while {kernel.name} was on trial, not all to it")

    def _doubtful(self, library: Library, request: Trial, outcome: Outcome) -> bool:
        """Whether another kernel, earlier in the same process, may have caused this."""
        if not self._supply.ready.guards_memory:
            return outcome.poisoned or bool(library.refused)
        return bool(outcome.launches) or library.broken != {**request.broken, **self._deadly}

    def _attempt(self, library: Library, kernel: Kernel, request: Trial) -> Outcome:
        setup, begin = self._setup, self._progress.begin
        found = library.find(kernel)
        if found.function is None:
            return Outcome(kernel.name, found.status, source=found.source, message=found.message)
        if setup.traces is not None:
            cases = _selected(recorded(kernel, setup.traces, "kernels"), request.cases)
        else:
            cases = self._generated(kernel, request.cases)
        executor, survives = self._supply.current(), self._supply.ready.guards_memory
        # What is recorded has an answer: a case that must fault is left out, not launched.
        launching = Launching(executor, found.function, setup.orders, survives and setup.parts is None)
        ahead = launching.ahead(cases)
        if setup.parts is not None:
            kept, order = launching.copied, setup.orders[0]
            outcome = record(kernel, ahead, kept, order, setup.parts, setup.command, begin, survives)
        else:
            outcome = put_on_trial(
                kernel, ahead, launching.answer, setup.orders, setup.command, begin, survives_faults=survives
            )
        if not outcome.poisoned:
            executor.drain()
        outcome.source = found.source
        return outcome

    def _died(self, kernel: Kernel, lost: Lost, how: str) -> Outcome:
        """The outcome of a kernel that brings its process down, or does not let it go on."""
        doing = self._progress.read()[1]
        case = doing if "(" in doing else kernel.name
        outcome = Outcome(kernel.name, "timeout" if lost.kind == "silent" else "crash", 1, 1, message=how)
        outcome.failures.append(Failure(case, how, reproduce=f"{self._setup.command} '{case}'"))
        return outcome

    def _generated(self, kernel: Kernel, ids: tuple[str, ...] | None) -> Iterator[TrialCase]:
        for case_id in case_ids(kernel) if ids is None else ids:
            yield generated(kernel, case_id, self._setup.salt)

    def _renewed(self) -> None:
        if self._library is not None:
            self._library.renewed()


def _selected(cases: Iterator[TrialCase], ids: tuple[str, ...] | None) -> Iterator[TrialCase]:
    return (case for case in cases if ids is None or case.id in ids)


def serve(channel: Channel, progress: Progress, supervisor: Supervisor) -> None:
    """Take a ``Setup``, then answer requests until the other side closes."""
    setup = from_map(channel.receive(SECONDS_TO_SET_UP)[0])
    try:
        judge = Judge(channel, progress, setup, supervisor)
    except (SourceError, RuntimeError, OSError, ValueError) as error:
        channel.send({"say": "answer", "id": 0, **to_map(Refused(str(error)))})
        return
    channel.send({"say": "answer", "id": 0, "kind": None})
    while True:
        message, _ = channel.receive()
        request = from_map(message)
        answer = _answer(judge, request)
        progress.begin("")
        channel.send({"say": "answer", "id": message["id"], **to_map(answer)})


def _answer(judge: Judge, request: Any) -> Any:
    try:
        return judge.compile(request) if isinstance(request, Compile) else judge.trial(request)
    except (TraceError, ValueError) as error:
        return Refused(str(error))
    except NoReference as error:
        return Outcome(request.kernel, "not_run", message=str(error))
    except Exception as error:  # a defect of the harness must cost one kernel, not the record
        why = defect(error)
        if isinstance(request, Compile):
            return Compiled(request.source, 0.0, None, infrastructure=why)
        return Outcome.infrastructure(request.kernel, why)


if __name__ == "__main__":
    run_member(serve)
