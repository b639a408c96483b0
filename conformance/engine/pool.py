"""Judges and their executors: a request each at a time, and a new process for one that died."""

from __future__ import annotations

import os
import select
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from conformance.engine.executor_host import ExecutorState, Host, Unusable
from conformance.engine.ipc import Closed, Garbled, Late, Progress, hang_seconds, pair
from conformance.engine.messages import (
    NO_DEVICE,
    Compile,
    Compiled,
    Ready,
    Refused,
    RunCases,
    Setup,
    Time,
    Timed,
    from_map,
    to_map,
)
from conformance.engine.modes import Mode, PortMode, TimeTrees
from conformance.files import own_module
from conformance.outcome import Outcome
from conformance.processes import Child, InfrastructureError, Supervisor
from conformance.processes.child import fault_line, parent_word, telling_line
from conformance.runtimes import runtime_kind

JUDGE = "conformance.engine.judge_process"
TIMER = "conformance.engine.timing.timer"

SECONDS_TO_START = 120.0

COMPILING = "compiling "
"""How the progress of a process begins that waits for a compiler, which has its own limit."""

_QUIET = 12
"""A judge may wait for an executor this many times the longest launch: other judges' launches come first."""

_LOOK = 0.5
_SENDING = 30.0

Request = Compile | RunCases | Time
Answer = Compiled | Outcome | Timed


class EngineError(RuntimeError):
    """The run cannot go on: bad input or a missing piece, in words for the user."""


@dataclass
class _Asked:
    """A request on its way, and how many processes it has outlived."""

    request: Request
    deaths: int = 0


class _Member:
    """One judge or timer, what it is busy with, and the executor that it uses."""

    def __init__(self, supervisor: Supervisor, setup: Setup, mode: Mode, number: int) -> None:
        self.number = number
        self.setup = setup
        self.progress = Progress()
        self.asked: _Asked | None = None
        self.since = time.monotonic()
        self.executor: ExecutorState | None = None
        self.greeted = False
        self._count = 0
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self.channel, theirs = pair()
        with theirs:
            module = TIMER if isinstance(mode, TimeTrees) else JUDGE
            words = [*own_module(module), str(theirs.fileno()), str(self.progress.fd), str(parent_word())]
            errors = self._errors.fileno()
            self.child: Child = supervisor.start(
                words,
                pass_fds=(theirs.fileno(), self.progress.fd),
                stdout=errors,
                stderr=errors,
                environment=_environment(),
            )
        self.channel.send({**to_map(setup), "mode": to_map(mode)})

    def send(self, asked: _Asked) -> None:
        """Hand over a request; one that cannot be delivered shows as the end of the process."""
        self.asked, self.since = asked, time.monotonic()
        self._count += 1
        try:
            self.channel.send({"id": self._count, **to_map(asked.request)}, seconds=_SENDING)
        except (Closed, Late):
            self.child.kill()

    def owns(self, message: dict[str, Any]) -> bool:
        """Whether ``message`` answers the request that this process is busy with."""
        return self.asked is not None and message.get("id") == self._count

    def stalled(self) -> bool:
        """Whether the current request shows no progress for too long."""
        if self.asked is None:
            return False
        began, doing = self.progress.read()
        limit = hang_seconds() * _QUIET
        if doing.startswith(COMPILING):
            limit += 4 * self.setup.compile_seconds  # two compilers, and what is left of what they refuse
        return time.monotonic() - max(self.since, began) > limit

    def last_words(self) -> str:
        """How the process ended and the last thing that it wrote to standard error."""
        size = os.fstat(self._errors.fileno()).st_size
        words = os.pread(self._errors.fileno(), 8192, max(0, size - 8192)).decode(errors="replace")
        python = next((line for line in words.splitlines() if line.startswith("Fatal")), "")
        fatal = fault_line(words) or python or telling_line(words)
        return f"{self.child.ended_how()}{': ' + fatal if fatal else ''}"

    def stop(self) -> None:
        self.child.kill()
        self.channel.close()
        self.progress.close()
        self._errors.close()


def _has_no_verdict(answer: Answer) -> bool:
    """Whether ``answer`` says nothing of what it was asked about, for lack of an executor."""
    if isinstance(answer, Outcome):
        return answer.status == "not_run"
    return isinstance(answer, Compiled) and answer.infrastructure is not None


def _environment() -> dict[str, str]:
    """One numpy thread per process, as the processes are the parallelism, and freed memory that stays the process's.

    By default glibc gives large arrays back to the system, which costs a page fault per 4 KiB of the next one: more
    than half of the time of a whole ``bench``.
    """
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    memory = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    return {**threads, **memory, **os.environ}


class Pool:
    """``setups`` gives one judge (or timer, where ``mode`` is to time) each; those of one device share an executor, but
    on the cpu runtime, where each judge has its own. Use as a context manager."""

    def __init__(self, setups: Iterable[Setup], mode: Mode) -> None:
        self._supervisor = Supervisor()
        self._mode = mode
        self.printed: list[str] = []
        """What kernels printed."""
        try:
            self._members = [_Member(self._supervisor, setup, mode, number) for number, setup in enumerate(setups)]
        except BaseException:
            self._supervisor.close()
            raise
        self._hosts: dict[int, Host] = {}
        self._shared: dict[int, ExecutorState] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        for member in self._members:
            member.stop()
        for host in self._hosts.values():
            host.close()
        self._supervisor.close()

    def greet(self) -> Ready:
        """What the run runs on, once every process is set up.

        Raises ``EngineError`` when one cannot be.
        """
        ready = NO_DEVICE
        try:
            if isinstance(self._mode, PortMode):
                executor = self._start(self._members[0])
                assert executor.ready is not None
                ready = executor.ready
            for member in self._members:
                ready = self._greet(member) or ready
        except (Unusable, InfrastructureError) as error:
            raise EngineError(str(error)) from None
        return ready

    def answers(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Each request's answer as it comes, in any order.

        A judge that dies costs a second try, and a second death is an answer without a verdict. Raises ``EngineError``
        when a request is refused.
        """
        waiting = deque(_Asked(request) for request in requests)
        try:
            while waiting or any(member.asked for member in self._members):
                for member in self._members:
                    if waiting and member.asked is None and not self._leaves_to_others(member):
                        member.send(waiting.popleft())
                for member in self._readable_members():
                    yield from self._handle_message(member, waiting)
                for member in [member for member in self._members if member.stalled()]:
                    yield from self._lost(member, waiting, "it made no progress and was stopped")
        finally:
            for member in [member for member in self._members if member.asked]:
                self._replace(member)  # the caller stopped asking

    # ---- judges

    def _greet(self, member: _Member) -> Ready | None:
        try:
            message, _ = member.channel.receive(SECONDS_TO_START)
        except (Closed, Garbled, Late):
            member.child.kill()
            raise InfrastructureError(f"a process died while it was set up: {member.last_words()}") from None
        member.greeted = True
        if message["kind"] is None:
            return None
        answer = from_map(message)
        if isinstance(answer, Refused):
            raise EngineError(answer.why)
        assert isinstance(answer, Ready)
        return answer

    def _readable_members(self) -> list[_Member]:
        poll = select.poll()
        by_number = {member.channel.fileno(): member for member in self._members if member.asked}
        for number in by_number:
            poll.register(number, select.POLLIN)
        return [by_number[number] for number, _ in poll.poll(_LOOK * 1000)]

    def _handle_message(self, member: _Member, waiting: deque[_Asked]) -> Iterator[Answer]:
        """Take one message of a member."""
        try:
            message, _ = member.channel.receive(_SENDING)
            if message["say"] == "answer" and member.owns(message):
                answer = from_map(message)
            elif message["say"] == "answer":
                raise Garbled("an answer to another request")
            else:
                self._serve(member, message)
                return
        except (Closed, Garbled, Late, ValueError, KeyError) as error:
            member.child.kill()
            why = member.last_words() if isinstance(error, Closed) else f"it sent what is not an answer: {error}"
            yield from self._lost(member, waiting, why)
            return
        asked, member.asked = member.asked, None
        if isinstance(answer, Refused):
            raise EngineError(answer.why)
        assert asked is not None
        if self._leaves_to_others(member) and _has_no_verdict(answer):
            waiting.appendleft(asked)
            return
        if isinstance(answer, Timed) and answer.poisoned:
            self._replace(member)
        yield answer

    def _leaves_to_others(self, member: _Member) -> bool:
        """Whether the device of ``member`` hangs, while there are others."""
        return self._hangs(member) and not all(self._hangs(other) for other in self._members)

    def _hangs(self, member: _Member) -> bool:
        host = self._hosts.get(member.setup.device)
        return host is not None and bool(host.hung)

    def _lost(self, member: _Member, waiting: deque[_Asked], why: str) -> Iterator[Answer]:
        """Replace a dead or hung member; its request is asked once more, then it has no verdict."""
        asked = member.asked
        doing = member.progress.read()[1]
        self._replace(member)
        assert asked is not None
        asked.deaths += 1
        request = asked.request
        if isinstance(request, Time):
            case = request.case.id
            yield Timed(request.kernel.name, case, error=f"{doing}: {why}" if doing != case else why)
        elif asked.deaths == 1:
            waiting.appendleft(asked)
        elif isinstance(request, Compile):
            why = f"the process that compiled it died twice ({why})"
            yield Compiled(request.source, 0.0, None, request.tree, infrastructure=why)
        else:
            yield Outcome.infrastructure(request.kernel.name, f"the process that judged it died twice ({why})")

    def _replace(self, member: _Member) -> None:
        """A new process in place of ``member``; what it asked of an executor is stopped with it."""
        self._dismiss(member)
        member.stop()
        fresh = _Member(self._supervisor, member.setup, self._mode, member.number)
        self._members[self._members.index(member)] = fresh
        try:
            self._greet(fresh)
        except InfrastructureError as error:
            raise EngineError(str(error)) from None

    # ---- executors

    def _serve(self, member: _Member, message: dict[str, Any]) -> None:
        """Answer what a judge asks about executors."""
        try:
            if message["say"] == "lost":
                member.channel.send(self._end(member, bool(message["stop"])), seconds=_SENDING)
                return
            try:
                state = self._provide(member, bool(message["alone"]))
            except (Unusable, InfrastructureError) as error:
                member.channel.send({"why": str(error)}, seconds=_SENDING)
                return
            link = state.links.pop(member.number)
            answer = {"ready": to_map(state.ready), "shared": len(state.judges) > 1}
            try:
                member.channel.send(answer, [link, state.page.fd], _SENDING)
            finally:
                os.close(link)
        except Late:
            member.child.kill()

    def _end(self, member: _Member, stop: bool) -> dict[str, Any]:
        """How the executor that ``member`` lost has ended, and whether the member's own request may be to blame."""
        state, member.executor = member.executor, None
        if state is None:
            return {"how": "its process ended", "suspect": True}
        host = self._hosts[member.setup.device]
        if stop:
            host.stop(state)
        running = state.page.read()[1].split(" ")[0]
        mine = str(state.judges.index(member.number))
        how = host.ended(state)
        if len(state.judges) == 1:
            state.page.close()
        return {"how": how, "suspect": len(state.judges) == 1 or running in ("", mine)}

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
        device = member.setup.device
        if device not in self._hosts:
            self._hosts[device] = Host(self._supervisor, member.setup, self.printed)
        host = self._hosts[device]
        if alone or runtime_kind(member.setup.runtime).on_host:
            member.executor = host.start([member.number])
        else:
            judges = [one.number for one in self._members if one.setup.device == device]
            self._shared[device] = member.executor = host.start(judges)
        return member.executor

    def _dismiss(self, member: _Member) -> None:
        """Stop the executor of ``member`` if nobody else uses it."""
        state, member.executor = member.executor, None
        if state is not None and len(state.judges) == 1:
            self._hosts[member.setup.device].stop(state)
            state.page.close()
