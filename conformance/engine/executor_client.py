"""How a judge comes to executors and has cases run there.

Executors are asked of the process that started the judge, which also says how a lost one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from conformance.cases.launch import Launch
from conformance.engine.coding import Expected, Message, receive, send
from conformance.engine.executor_server import Counts
from conformance.engine.ipc import Channel, Closed, Garbled, Late, Progress, hang_seconds
from conformance.engine.protocol import (
    AN_END,
    AN_EXECUTOR,
    EndOfExecutor,
    LostExecutor,
    NoExecutor,
    Ready,
    ToCommand,
    WantExecutor,
)
from conformance.engine.remote_executor import Executor, Lost, RemoteFunction, Submitted
from conformance.processes import InfrastructureError
from conformance.runtimes.hip.calling import Misuse
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.kind import SHARED_MEMORY
from conformance.verdict.blame import TRIES, Action, Event, State, decide
from conformance.verdict.loop import Answers, Buffers, Damage
from conformance.verdict.trials import TrialCase

SECONDS_FOR_AN_EXECUTOR = 600.0
"""For the process that started us to answer; it has limits of its own, well below."""


class ExecutorClient:
    """The executor that a judge currently uses, if it has one.

    ``changed`` is called whenever another executor takes its place. ``launch`` is the number of seconds of CPU time
    after which the runtime itself ends a launch.
    """

    def __init__(self, channel: Channel, changed: Callable[[], None], launch: float = 0.0) -> None:
        self._patience = hang_seconds(launch)
        self._channel = channel
        self._changed = changed
        self._executor: Executor | None = None
        self._ready: Ready | None = None
        self._borrowed = False
        self._touched = False

    @property
    def ready(self) -> Ready:
        """What executors run on: device, architecture, wave size. Raises ``InfrastructureError``."""
        if self._ready is None:
            self.current()
        assert self._ready is not None
        return self._ready

    def current(self) -> Executor:
        """The executor to use; one is asked for if there is none. Raises ``InfrastructureError`` where none can be
        had."""
        if self._executor is None:
            self._take(alone=False)
        assert self._executor is not None
        return self._executor

    def settle(self) -> None:
        """After a trial alone, return to the executor that the judges of a device share, where there is one."""
        if self._borrowed and not self.ready.guards_memory:
            self.discard()

    def touch(self) -> bool:
        """Note that the executor is about to load or run something; returns whether this is the first time."""
        self.current()
        fresh, self._touched = not self._touched, True
        return fresh

    def alone(self) -> None:
        """Replace the current executor by a fresh one that no other judge uses."""
        self.discard()
        self._take(alone=True)

    def discard(self) -> None:
        """Give up the current executor. One that is shared stays there for the other judges."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None

    def lost(self, lost: Lost) -> EndOfExecutor:
        """Report that the current executor is lost, have it killed if it still runs, and return how it ended."""
        self.discard()
        end, _ = self._ask(LostExecutor(lost.kind), AN_END)
        return end if lost.kind == "ended" else replace(end, how=str(lost))

    def _take(self, alone: bool) -> None:
        for number in range(1, TRIES + 1):
            answer, descriptors = self._ask(WantExecutor(alone), AN_EXECUTOR)
            if isinstance(answer, NoExecutor):
                raise InfrastructureError(answer.why)
            link, page = descriptors
            self._ready = answer.ready
            channel = Channel.adopt(link)
            try:
                self._executor = Executor(channel, Progress(page), self._ready.pad, self._patience)
            except Lost as lost:  # to a kernel of another judge that shares it, since it was handed to us
                channel.close()
                self.lost(lost)
                if decide(Event.UNUSED, State(last_try=number == TRIES)) is Action.NOBODY:
                    raise InfrastructureError(f"{TRIES} executors in a row ended before they got a request") from None
                continue
            self._touched = answer.shared
            self._borrowed = alone
            self._changed()
            return

    def _ask(self, message: ToCommand, expected: Expected[Message]) -> tuple[Message, list[int]]:
        try:
            send(self._channel, message)
            answer, _, descriptors = receive(self._channel, expected, SECONDS_FOR_AN_EXECUTOR, descriptors=True)
        except (Closed, Garbled, Late) as error:
            raise SystemExit(f"the process that started this judge does not answer: {error}") from None
        return answer, descriptors


NOTHING: Mapping[str, str] = MappingProxyType({})


class Launching:
    """Runs the cases of one kernel: iterate over ``ahead(cases)``, and take the ``answers`` of each.

    ``survives_faults`` and ``must_fault`` are as in ``Answers``. ``with_places`` adds lines of the source to the
    runtime's message about a fault. ``unwritten``, ``gentler``, ``otherwise`` and ``reserves`` are those of the
    runtime's kind.
    """

    def __init__(
        self,
        executor: Executor,
        function: RemoteFunction,
        orders: tuple[str, ...],
        survives_faults: bool,
        must_fault: bool,
        with_places: Callable[[str], str] = str,
        unwritten: Mapping[str, str] = NOTHING,
        gentler: Mapping[str, str] = NOTHING,
        otherwise: Mapping[str, str] = NOTHING,
        reserves: bool = False,
    ) -> None:
        again = self._again if unwritten else None
        instead = self._instead if survives_faults else None
        self.answers = Answers(
            self._answer, orders, survives_faults, must_fault, again, instead, gentler, otherwise, reserves
        )
        self._unwritten = unwritten
        self._executor = executor
        self._function = function
        self._with_places = with_places
        self._submitted: dict[int, Submitted] = {}
        self.leak: str | None = None
        """Text: resources leaked per launcher call."""
        self.misaligned: str | None = None
        """What the first such case accessed that was not aligned."""

    def ahead(self, cases: Iterable[TrialCase]) -> Iterator[TrialCase]:
        """``cases`` one by one. Each is launched before its predecessor is handed out, so that the device does not
        wait. Raises ``Lost``."""
        waiting: TrialCase | None = None
        for case in cases:
            # A launch that is right to fault may cost a device its context; a flawed case is judged as it is.
            if not case.flaw and self.answers.takes(case):
                self._submitted[id(case)] = self._executor.submit(
                    self._function, case.launch, self.answers.orders_of(case.case), bool(case.must_fault)
                )
            if waiting is not None:
                yield waiting
            waiting = case
        if waiting is not None:
            yield waiting

    def _answer(self, case: TrialCase, order: str) -> Buffers:
        """Every buffer's whole content after ``case`` in ``order``; views that hold until the case after next.

        Raises ``Damage``, ``HipError`` and ``Lost``.
        """
        submitted = self._judged = self._submitted[id(case)]
        if order == self.answers.orders_of(case.case)[-1]:
            del self._submitted[id(case)]
        try:
            buffers, damaged = self._executor.result(submitted, order)
            answer = submitted.answer
            assert answer is not None
            if answer.misaligned and self.misaligned is None:
                self.misaligned = f"{case.id} {answer.misaligned}"
            if answer.leak is not None and self.leak is None:
                calls, *left = answer.leak
                self.leak = described(tuple(left), calls, case.id)
        except HipError as error:
            raise error.with_places(self._with_places) from None
        except Misuse as misuse:
            raise Damage(str(misuse)) from None
        if damaged:
            raise Damage("; ".join(f"{name}: {what}" for name, what in damaged.items()))
        return buffers

    def _again(self, case: TrialCase, order: str) -> Iterator[tuple[str, Buffers | None]]:
        """What ``case``, whose answer was asked for last, leaves when it is launched again: as it was, then with other
        bytes in what nothing has written, by name. ``None`` is a fault. Raises ``Lost``."""
        shared = case.launch.shared or self._function.shared != 0
        unwritten = {what: name for name, what in self._unwritten.items() if shared or what != SHARED_MEMORY}
        if not unwritten:
            return
        orders = {"": order, **{what: f"{order}+{name}" for what, name in unwritten.items()}}
        launched = tuple(orders.values())
        submitted = self._executor.submit(self._function, case.launch, launched, must_fault=True, over=self._judged)
        for what, each in orders.items():
            try:
                yield what, self._executor.result(submitted, each)[0]
            except HipError:
                yield what, None

    def _instead(self, launch: Launch, order: str) -> Buffers | None:
        """What ``launch`` leaves in place of the case whose answer was asked for last, ``None`` for a fault or damage.
        Raises ``Lost``."""
        submitted = self._executor.submit(self._function, launch, (order,), must_fault=True, over=self._judged)
        try:
            buffers, damaged = self._executor.result(submitted, order)
        except (HipError, Misuse):
            return None
        return None if damaged else buffers


_KINDS = (
    (0, 1, "allocation of device memory"),
    (2, 3, "allocation of host memory"),
    (4, None, "stream"),
    (5, None, "event"),
)
"""Where the number of objects and their bytes are in ``Counts``, and what one is."""


def described(left: Counts, calls: int, case: str) -> str:
    """What a launcher left behind, in words: ``each of 20 calls of CASE left 1 stream behind``."""
    things = [_things(left[count], 0 if size is None else left[size], what) for count, size, what in _KINDS]
    return f"each of {calls} calls of {case} left {' and '.join(filter(None, things))} behind"


def _things(count: int, size: int, what: str) -> str:
    """``2 streams``, ``1 allocation of device memory (64 bytes)``, or bytes alone where one is always replaced by a
    larger one."""
    if not count:
        return f"{size:,} bytes more in {what.replace('allocation', 'allocations')}" if size else ""
    head, _, tail = what.partition(" ")
    text = f"{count} {head}{'s' if count > 1 else ''}{f' {tail}' if tail else ''}"
    return f"{text} ({size:,} bytes)" if size else text
