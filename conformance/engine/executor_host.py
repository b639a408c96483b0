"""The processes that own devices and fork executors, as the process that runs everything sees them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.engine.coding import receive, send
from conformance.engine.ipc import Closed, Garbled, Late, Process, Progress, pair
from conformance.engine.messages import Setup
from conformance.engine.protocol import (
    FROM_HOST,
    CannotOpen,
    ExecutorReady,
    OpenDevice,
    Ready,
    StartExecutor,
    StopExecutor,
)
from conformance.environment import handed
from conformance.processes import InfrastructureError, Supervisor
from conformance.processes.child import telling_line
from conformance.runtimes import runtime_kind

SECONDS_TO_START = 180.0
"""For a device to be opened: a GPU's first context may take a while, and our runtime may have to be compiled."""

SECONDS_TO_END = 15.0

_LOOK = 0.5


class Unusable(RuntimeError):
    """A device cannot be opened: the input is wrong, or something is missing. The message is for the user."""


@dataclass
class ExecutorState:
    """One forked executor: the links to it that no judge has taken yet, by judge, and what is known of its end."""

    number: int
    page: Progress
    links: dict[int, int] = field(default_factory=dict)
    judges: list[int] = field(default_factory=list)
    ready: Ready | None = None
    how: str | None = None


class Host:
    """A process that owns one device and forks executors for it (``conformance.engine.executor``), seen from
    outside."""

    def __init__(self, supervisor: Supervisor, setup: Setup, printed: list[str]) -> None:
        self._supervisor = supervisor
        self._setup = setup
        self._kind = runtime_kind(setup.runtime)
        self._printed = printed
        self._process: Process | None = None
        self._count = 0
        self._living: dict[int, ExecutorState] = {}
        self.hung = ""
        """Why no more executors are started: the device did not open in time. Every further try would take as long."""

    def begin(self) -> None:
        """Start the process already now, so that it gets ready meanwhile. If that fails, ``start`` says why."""
        with suppress(InfrastructureError, Closed):
            self._open()

    def start(self, judges: list[int]) -> ExecutorState:
        """A fresh executor, with a link for each of ``judges``. Raises ``Unusable`` and ``InfrastructureError``."""
        for attempt in (1, 2):
            if self.hung:
                raise InfrastructureError(self.hung)
            state = self._fork(judges, self._open())
            deadline = time.monotonic() + SECONDS_TO_START
            while state.ready is None and state.how is None and time.monotonic() < deadline:
                self._listen(_LOOK)
            if state.ready is not None:
                return state
            if state.how is None:
                state.how = f"it was not set up within {SECONDS_TO_START:g} s"
                if not self._kind.on_host:
                    self.hung = _hang_message(self._setup)
            self._close_host()
            if self.hung:
                continue
            if attempt == 2:
                raise InfrastructureError(f"an executor ended while it was set up: {state.how}")
        raise AssertionError

    def stop(self, state: ExecutorState) -> None:
        """End an executor, and find out how it ended."""
        if state.how is None and self._process is not None:
            try:
                send(self._process.channel, StopExecutor(state.number), seconds=SECONDS_TO_END)
            except (Closed, Late):
                self._close_host()
        self.ended(state)

    def ended(self, state: ExecutorState) -> str:
        """How an executor ended that is about to end; if it does not end, it is killed with its host."""
        deadline = time.monotonic() + SECONDS_TO_END
        while state.how is None and time.monotonic() < deadline:
            self._listen(_LOOK)
        if state.how is None:
            self._close_host()
        for link in state.links.values():
            os.close(link)
        state.links.clear()
        return state.how or "it had to be killed"

    def close(self) -> None:
        """End the process and all its executors. What kernels printed has been collected by then."""
        for state in list(self._living.values()):
            self.stop(state)
        self._close_host()

    def _open(self) -> Process:
        """The host process, started where there is none."""
        if self._process is None or self._process.child.poll() is not None:
            self._close_host()
            self._process = Process(
                self._supervisor, "conformance.engine.executor", (), handed(self._kind.environment, os.environ)
            )
            setup = self._setup
            send(self._process.channel, OpenDevice(setup.device, setup.threads, setup.of_executors()))
        return self._process

    def _fork(self, judges: list[int], process: Process) -> ExecutorState:
        self._count += 1
        state = ExecutorState(self._count, Progress(), judges=list(judges))
        given: list[int] = []
        for judge in judges:
            ours, theirs = pair()
            state.links[judge] = os.dup(ours.fileno())
            ours.close()
            given.append(theirs.detach())
        try:
            start, descriptors = StartExecutor(state.number), (state.page.fd, *given)
            send(process.channel, start, descriptors=descriptors, seconds=SECONDS_TO_END)
        except (Closed, Late):
            self._listen(_LOOK)  # a host that could not open its device sends why
            state.how = self._last_words()
        finally:
            for descriptor in given:
                os.close(descriptor)
        self._living[state.number] = state
        return state

    def _listen(self, seconds: float) -> None:
        """Take one message of the host, if one comes."""
        if self._process is None:
            return
        try:
            message = receive(self._process.channel, FROM_HOST, seconds).message
        except Late:
            return
        except (Closed, Garbled):
            self._close_host()
            return
        if isinstance(message, CannotOpen):
            raise Unusable(message.why)
        state = self._living.get(message.number)
        if state is None:
            return
        if isinstance(message, ExecutorReady):
            state.ready = message.ready
        else:
            state.how = _end_message(message.how, message.stderr)
            del self._living[state.number]
            if message.stdout:
                self._printed.append(message.stdout)

    def _close_host(self) -> None:
        """Kill the host with its executors."""
        if self._process is not None:
            how = self._last_words() if self._process.child.poll() is not None else "it had to be killed"
            self._process.stop()
            self._process = None
            for state in self._living.values():
                state.how = state.how or how
            self._living.clear()

    def _last_words(self) -> str:
        if self._process is None:
            return "it ended"
        self._process.child.wait(SECONDS_TO_END)
        return _end_message(self._process.child.ended_how(), self._process.printed())


def _hang_message(setup: Setup) -> str:
    return (
        f"device {setup.device} of the {setup.runtime} runtime did not open within {SECONDS_TO_START:g} s, and its "
        "process was killed: the GPU or its driver hangs; see dmesg, reset the GPU or restart the machine, and run it "
        "again"
    )


def _end_message(how: str, stderr: str) -> str:
    last = telling_line(stderr)
    return f"its process ended with {how}{': ' + last if last else ''}"
