"""Members, which are judges or what a mode has in their place, and their executors: a request each at a time, and a new
process for one that died."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from conformance.engine.coding import Expected, receive, send
from conformance.engine.executor_host import ExecutorState, Host, Unusable
from conformance.engine.ipc import Closed, Garbled, Late, Process, Progress, hang_seconds, ready
from conformance.engine.messages import NO_DEVICE, Answer, Refused, Request, Setup, Started
from conformance.engine.modes import Mode, PortMode
from conformance.engine.protocol import (
    EndOfExecutor,
    HandedExecutor,
    Loss,
    LostExecutor,
    NoExecutor,
    Ready,
    ToCommand,
    WantExecutor,
)
from conformance.environment import handed
from conformance.errors import UserError
from conformance.port.compiling.target import CompileLimits
from conformance.processes import InfrastructureError, Supervisor
from conformance.processes.child import fault_line, telling_line
from conformance.runtimes import runtime_kind
from conformance.verdict.blame import Action, Event, State, decide, may_be_mine

SECONDS_TO_START = 120.0

COMPILING = "compiling "
"""How the progress of a process begins that waits for a compiler, which has its own limit."""

_QUIET = 12
"""A judge may wait for an executor this many times the longest launch: other judges' launches come first."""

_LOOK = 0.5
_SENDING = 30.0


GREETING: Expected[Ready | Started | Refused] = Expected(Ready, Started, Refused)
"""What a member says once it has its setup and mode."""


class EngineError(UserError, RuntimeError):
    """The run cannot go on, because of bad input or something that is missing. The message is for the user."""


@dataclass
class _Asked:
    """A request on its way, and how many processes it has outlived."""

    request: Request
    deaths: int = 0


class _Member:
    """One process of the mode, what it is busy with, and the executor that it uses."""

    def __init__(self, supervisor: Supervisor, setup: Setup, mode: Mode, number: int) -> None:
        self.number = number
        self.setup = setup
        self.progress = Progress()
        self.asked: _Asked | None = None
        self.since = time.monotonic()
        self.executor: ExecutorState | None = None
        self._count = 0
        environment = _environment(mode, setup)
        self._process = Process(supervisor, mode.process, [self.progress.fd], environment, not mode.runs_kernels)
        self.channel = self._process.channel
        with suppress(Closed, Late):  # one that has ended already is found when it is greeted
            send(self.channel, setup, seconds=_SENDING)
            send(self.channel, mode, seconds=_SENDING)

    def ask(self, asked: _Asked) -> None:
        """Hand over a request; one that cannot be delivered shows as the end of the process."""
        self.asked, self.since = asked, time.monotonic()
        self._count += 1
        try:
            send(self.channel, asked.request, self._count, seconds=_SENDING)
        except (Closed, Late):
            self.kill()

    def expected(self) -> Expected[ToCommand | Refused | Answer]:
        """What this process may say: something about its executor, or the answer to its request."""
        answers = () if self.asked is None else (self.asked.request.answered_by, Refused)
        return Expected[ToCommand | Refused | Answer](WantExecutor, LostExecutor, *answers)

    def owns(self, number: int) -> bool:
        """Whether an answer with this ``number`` is to the request that this process is busy with."""
        return self.asked is not None and number == self._count

    def stalled(self) -> bool:
        """Whether the current request shows no progress for too long."""
        if self.asked is None:
            return False
        began, doing = self.progress.read()
        limit = hang_seconds() * _QUIET
        if doing.startswith(COMPILING):
            # Two compilers, and what is left of what they refuse.
            limit += 4 * CompileLimits(self.setup.compile_seconds).wall
        return time.monotonic() - max(self.since, began) > limit

    def last_words(self) -> str:
        """How the process ended and the last thing that it wrote to standard error."""
        printed = self._process.printed()
        python = next((line for line in printed.splitlines() if line.startswith("Fatal")), "")
        fatal = fault_line(printed) or python or telling_line(printed)
        return f"{self._process.child.ended_how()}{': ' + fatal if fatal else ''}"

    def kill(self) -> None:
        self._process.child.kill()

    def stop(self) -> None:
        self._process.stop()
        self.progress.close()


def _environment(mode: Mode, setup: Setup) -> dict[str, str]:
    """One numpy thread per process, as the processes are the parallelism, and freed memory that stays the process's.

    By default glibc gives large arrays back to the system, which costs a page fault per 4 KiB of the next one: more
    than half of the time of a whole ``bench``. A judge, whose arrays are smaller, keeps 8 MiB. A timer runs kernels
    and gets what such a process may see of the environment; a judge gets all of it.
    """
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    memory = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40 if mode.runs_kernels else 8 << 20)}
    seen = handed(runtime_kind(setup.runtime).environment, os.environ) if mode.runs_kernels else os.environ
    return {**threads, **memory, **seen}


Group = Callable[[Request], Hashable]
"""The group of a request; ``None`` for one that is in none."""


def ungrouped(_: Request) -> None:
    """No request is in a group."""


def taken(queue: deque[Request], member: int, group: Group, have_had: dict[Hashable, set[int]]) -> Request:
    """Take the request that is ``member``'s turn out of ``queue``: the first whose group no other member has had, or
    else the first of all.

    ``have_had`` are the members that have had a request of each group.
    """
    fits = (at for at, one in enumerate(queue) if member in have_had.get(group(one), {member}))
    at = next(fits, 0)
    request = queue[at]
    del queue[at]
    if group(request) is not None:
        have_had.setdefault(group(request), set()).add(member)
    return request


class Pool:
    """The members of a run, and their executors. Use it as a context manager.

    There is one member for each of ``setups``: a judge, or a timer if ``mode`` is to time. The judges of a device share
    an executor; on the cpu runtime each has its own. A member has one request at a time, and one that dies is replaced.
    """

    def __init__(self, setups: Iterable[Setup], mode: Mode) -> None:
        self._supervisor = Supervisor()
        self._mode = mode
        self.printed: list[str] = []
        """What kernels printed."""
        self._hosts: dict[int, Host] = {}
        self._shared: dict[int, ExecutorState] = {}
        chosen = list(setups)
        try:
            if isinstance(mode, PortMode):
                self._host(chosen[0]).begin()  # it takes longer than a judge
            self._members = [_Member(self._supervisor, setup, mode, number) for number, setup in enumerate(chosen)]
        except BaseException:
            self._supervisor.close()
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        for member in self._members:
            member.stop()
        for host in self._hosts.values():
            host.close()
        self._supervisor.close()

    def greet(self) -> Ready:
        """What the run runs on, once every member is set up. Raises ``EngineError`` where one cannot be."""
        ready = NO_DEVICE
        try:
            if isinstance(self._mode, PortMode):
                executor = self._start(self._members[0])
                assert executor.ready is not None
                ready = executor.ready
            for member in [*self._members]:
                ready = self._greeted(member) or ready
        except (Unusable, InfrastructureError) as error:
            raise EngineError(str(error)) from None
        return ready

    def answers(self, requests: Iterable[Request], group: Group = ungrouped) -> Iterator[Answer]:
        """The answers to ``requests``, each as it comes, in any order. If ``requests`` is a deque, it may grow
        meanwhile.

        Requests with the same ``group`` need the same code to be loaded. They go to the member that had the first of
        them, as long as the others have something else to do.

        A request whose member dies is tried a second time; if it dies again, the answer is one without a verdict.
        Raises ``EngineError`` for a request that is refused.
        """
        queue = requests if isinstance(requests, deque) else deque(requests)
        waiting: deque[_Asked] = deque()
        have_had: dict[Hashable, set[int]] = {}
        try:
            while queue or waiting or any(member.asked for member in self._members):
                for member in self._members:
                    if (queue or waiting) and member.asked is None and not self._leaves_to_others(member):
                        member.ask(
                            waiting.popleft() if waiting else _Asked(taken(queue, member.number, group, have_had))
                        )
                asked = {member.channel: member for member in self._members if member.asked}
                for channel in ready(asked, _LOOK):
                    yield from self._handle_message(asked[channel], waiting)
                for member in [member for member in self._members if member.stalled()]:
                    yield from self._lost(member, waiting, "it made no progress and was stopped")
        finally:
            for member in [member for member in self._members if member.asked]:
                self._replace(member)  # the caller stopped asking

    # ---- judges

    def _greeted(self, member: _Member) -> Ready | None:
        """What ``_greet`` gives, of a second process where the first died: something from outside killed it, or it will
        die again."""
        second = False
        while True:
            try:
                return self._greet(member)
            except InfrastructureError:
                if decide(Event.STARTING, State(last_try=second)) is Action.END_RUN:
                    raise
                member, second = self._renew(member), True

    def _greet(self, member: _Member) -> Ready | None:
        try:
            answer = receive(member.channel, GREETING, SECONDS_TO_START).message
        except (Closed, Garbled, Late):
            member.kill()
            raise InfrastructureError(f"a process died while it was set up: {member.last_words()}") from None
        if isinstance(answer, Refused):
            raise EngineError(answer.why)
        return answer if isinstance(answer, Ready) else None

    def _handle_message(self, member: _Member, waiting: deque[_Asked]) -> Iterator[Answer]:
        """Take one message of a member."""
        try:
            message, number, _ = receive(member.channel, member.expected(), _SENDING)
            if isinstance(message, ToCommand):
                self._serve(member, message)
                return
            if not member.owns(number):
                raise Garbled("an answer to another request")
        except (Closed, Garbled, Late) as error:
            member.kill()
            why = member.last_words() if isinstance(error, Closed) else f"it sent what is not an answer: {error}"
            yield from self._lost(member, waiting, why)
            return
        asked, member.asked = member.asked, None
        if isinstance(message, Refused):
            raise EngineError(message.why)
        assert asked is not None
        if self._leaves_to_others(member) and message.is_open:
            waiting.appendleft(asked)
            return
        if message.ends_member:
            self._replace(member)
        yield message

    def _leaves_to_others(self, member: _Member) -> bool:
        """Whether the device of ``member`` hangs, while there are others."""
        return self._hangs(member) and not all(self._hangs(other) for other in self._members)

    def _hangs(self, member: _Member) -> bool:
        host = self._hosts.get(member.setup.device)
        return host is not None and bool(host.hung)

    def _lost(self, member: _Member, waiting: deque[_Asked], why: str) -> Iterator[Answer]:
        """Replace a dead or hung member; its request is asked again as often as it may be, then it has no answer."""
        asked = member.asked
        doing = member.progress.read()[1]
        self._replace(member)
        assert asked is not None
        asked.deaths += 1
        if decide(Event.MEMBER, State(last_try=asked.deaths >= asked.request.tries)) is Action.ANEW:
            waiting.appendleft(asked)
        else:
            yield asked.request.unanswered(asked.request.lost(doing, why))

    def _replace(self, member: _Member) -> None:
        """A new process in place of ``member``; what it asked of an executor is stopped with it."""
        self._dismiss(member)
        try:
            self._greeted(self._renew(member))
        except InfrastructureError as error:
            raise EngineError(str(error)) from None

    def _renew(self, member: _Member) -> _Member:
        """A new process in place of ``member``, which may ask for its executor."""
        member.stop()
        fresh = _Member(self._supervisor, member.setup, self._mode, member.number)
        fresh.executor = member.executor
        self._members[self._members.index(member)] = fresh
        return fresh

    # ---- executors

    def _serve(self, member: _Member, message: ToCommand) -> None:
        """Answer what a judge asks about executors."""
        try:
            if isinstance(message, LostExecutor):
                send(member.channel, self._end(member, message.loss), seconds=_SENDING)
                return
            try:
                state = self._provide(member, message.alone)
            except (Unusable, InfrastructureError) as error:
                send(member.channel, NoExecutor(str(error)), seconds=_SENDING)
                return
            assert state.ready is not None
            link = state.links.pop(member.number)
            handed = HandedExecutor(state.ready, shared=len(state.judges) > 1)
            try:
                send(member.channel, handed, descriptors=(link, state.page.fd), seconds=_SENDING)
            finally:
                os.close(link)
        except Late:
            member.kill()

    def _end(self, member: _Member, loss: Loss) -> EndOfExecutor:
        """How the executor that ``member`` lost has ended, and whether the member's own request may be to blame."""
        state, member.executor = member.executor, None
        if state is None:
            return EndOfExecutor("its process ended", suspect=True)
        host = self._hosts[member.setup.device]
        if loss != "ended":
            host.stop(state)
        running = state.page.read()[1].split(" ")[0]
        mine = str(state.judges.index(member.number))
        how = host.ended(state)
        if len(state.judges) == 1:
            state.page.close()
        return EndOfExecutor(how, suspect=may_be_mine(len(state.judges), running, mine))

    def _provide(self, member: _Member, alone: bool) -> ExecutorState:
        """An executor for ``member``: a fresh one of its own, or the one that the judges of its device share."""
        state = member.executor
        if not alone and state is not None and state.how is None and member.number in state.links:
            return state
        self._dismiss(member)
        shared = self._shared.get(member.setup.device)
        if not alone and shared is not None and shared.how is None and member.number in shared.links:
            member.executor = shared
            return shared
        return self._start(member, alone)

    def _start(self, member: _Member, alone: bool = False) -> ExecutorState:
        """A new executor: for ``member`` alone, as always where kernels run on the host, or for all judges of its
        device."""
        device, host = member.setup.device, self._host(member.setup)
        if alone or runtime_kind(member.setup.runtime).on_host:
            member.executor = host.start([member.number])
        else:
            judges = [one.number for one in self._members if one.setup.device == device]
            self._shared[device] = member.executor = host.start(judges)
        return member.executor

    def _host(self, setup: Setup) -> Host:
        """The process that forks the executors of the device of ``setup``."""
        if setup.device not in self._hosts:
            self._hosts[setup.device] = Host(self._supervisor, setup, self.printed)
        return self._hosts[setup.device]

    def _dismiss(self, member: _Member) -> None:
        """Stop the executor of ``member`` if nobody else uses it."""
        state, member.executor = member.executor, None
        if state is not None and len(state.judges) == 1:
            self._hosts[member.setup.device].stop(state)
            state.page.close()
