"""Workers in processes of their own: a request each at a time, and a new worker for one that died."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from conformance.engine.progress import Progress
from conformance.engine.tasks import (
    CaseFailure,
    Compile,
    Compiled,
    Outcome,
    Ready,
    Refused,
    Setup,
    Time,
    Timed,
    Trial,
)

HANG_SECONDS = 90.0
"""A case (or a kernel between cases) that takes longer is stopped with its worker. The cpu runtime ends endless loops
itself well before; a GPU that hangs does not."""

COMPILE_SECONDS = 900.0


Request = Compile | Trial | Time
Answer = Compiled | Outcome | Timed


class EngineError(RuntimeError):
    """The run cannot go on: bad input or a missing piece, in words for the user."""


class _Worker:
    """One child process and what it is busy with."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.progress = Progress()
        self.request: Request | None = None
        self.since = time.monotonic()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "conformance.engine.worker", str(theirs.fileno()), str(self.progress.fd)]
            self.process = subprocess.Popen(
                command,
                pass_fds=(theirs.fileno(), self.progress.fd),
                stdin=subprocess.DEVNULL,
                stderr=self._errors,
                env=_environment(),
            )
        self.connection = Connection(ours.detach())
        self.connection.send(setup)
        self.info: Ready | None = None

    def greet(self) -> Ready:
        """Wait until the worker is set up; raises ``EngineError`` with its reason when it cannot be."""
        if self.info is None:
            try:
                answer = self.connection.recv()
            except (EOFError, OSError):
                self.process.wait()
                raise EngineError(f"a worker died while it was set up: {self.last_words()}") from None
            if isinstance(answer, Refused):
                raise EngineError(answer.why)
            assert isinstance(answer, Ready)
            self.info = answer
        return self.info

    def send(self, request: Request) -> None:
        self.request, self.since = request, time.monotonic()
        self.connection.send(request)

    def stalled(self) -> bool:
        """Whether the current request shows no progress for too long."""
        if self.request is None:
            return False
        limit = COMPILE_SECONDS if isinstance(self.request, Compile) else HANG_SECONDS
        return time.monotonic() - max(self.since, self.progress.read()[0]) > limit

    def last_words(self) -> str:
        """How the process ended and the last thing that it wrote to standard error."""
        code = self.process.returncode
        how = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        fatal = next((line for line in lines if line.startswith("Fatal")), lines[-1] if lines else "")
        return f"{how}{': ' + fatal if fatal else ''}"

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.close()
        self.process.kill()
        self.process.wait()
        self.progress.close()
        self._errors.close()


def _environment() -> dict[str, str]:
    """One numpy thread per worker, as the workers are the parallelism, and freed memory that stays the process's.

    By default glibc gives large arrays back to the system, which costs a page fault per 4 KiB of the next one: more
    than half of the time of a whole ``bench``.
    """
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    memory = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    return {**threads, **memory, **os.environ}


class Pool:
    """``setups`` gives one worker each; use as a context manager."""

    def __init__(self, setups: Iterable[Setup]) -> None:
        self._workers = [_Worker(setup) for setup in setups]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._workers:
            worker.stop()

    def greet(self) -> Ready:
        """What the workers run on; raises ``EngineError`` when one cannot be set up."""
        first, *others = self._workers
        ready = first.greet()
        for worker in others:
            worker.greet()
        return ready

    def answers(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Each request's answer as it comes, in any order. A worker's death is an answer too: ``crash`` or
        ``timeout`` for a trial, an error for a compilation. Raises ``EngineError`` when a worker refuses."""
        waiting = deque(requests)
        try:
            for worker in self._workers:
                if waiting:
                    worker.send(waiting.popleft())
            while any(worker.request for worker in self._workers):
                busy = {worker.connection: worker for worker in self._workers if worker.request}
                for connection in wait(list(busy), timeout=1.0):
                    worker = busy[connection]  # type: ignore[index]
                    answer = self._receive(worker)
                    if waiting:
                        self._ready(worker).send(waiting.popleft())
                    yield answer
                for worker in [worker for worker in self._workers if worker.stalled()]:
                    answer = self._lost(worker, "timeout")
                    if waiting:
                        self._ready(worker).send(waiting.popleft())
                    yield answer
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Replace the workers that are still busy because the caller stopped asking."""
        for worker in [worker for worker in self._workers if worker.request]:
            self._replace(worker)

    def _receive(self, worker: _Worker) -> Answer:
        try:
            answer: Any = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.wait()
            return self._lost(worker, "crash")
        worker.request = None
        if isinstance(answer, Refused):
            raise EngineError(answer.why)
        if isinstance(answer, Compiled):
            return answer
        assert isinstance(answer, Outcome | Timed)
        if answer.poisoned:
            self._replace(worker)
        return answer

    def _lost(self, worker: _Worker, status: str) -> Answer:
        """The answer in place of the one that a dead or hung worker never gave; replaces the worker."""
        began, doing = worker.progress.read()
        if status == "timeout":
            worker.process.kill()
            worker.process.wait()
            why = f"no progress for {time.monotonic() - max(began, worker.since):.0f} s; its process was stopped"
        else:
            why = f"the process died ({worker.last_words()})"
        request, setup = worker.request, worker.setup
        self._replace(worker)
        if isinstance(request, Compile):
            return Compiled(request.source, 0.0, why, request.against)
        assert request is not None
        if isinstance(request, Time):
            return Timed(request.kernel, request.case, error=f"{doing}: {why}" if doing != request.case else why)
        case = doing if "(" in doing else request.kernel
        failure = CaseFailure(case, why, reproduce=f"{setup.command} '{case}'")
        outcome = Outcome(request.kernel, "timeout" if status == "timeout" else "crash", message=why)
        outcome.cases = outcome.failed = 1
        outcome.failures.append(failure)
        return outcome

    def _replace(self, worker: _Worker) -> None:
        self._workers[self._workers.index(worker)] = _Worker(worker.setup)
        worker.stop()

    def _ready(self, worker: _Worker) -> _Worker:
        """``worker``, or the one that took its place, set up."""
        if worker not in self._workers:
            worker = next(candidate for candidate in self._workers if candidate.info is None)
        worker.greet()
        return worker
