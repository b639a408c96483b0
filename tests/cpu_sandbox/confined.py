"""Confined processes: copies of one process that has the runtime open, hip-python imported and the device taken.

A process cannot leave the sandbox, and many of these tests end theirs, so each gets a copy (``os.fork``) that is
confined first: a start from nothing would take half a second each.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import select
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.runtimes.cpu.control import Limits, open_cpu_runtime
from conformance.runtimes.hip.errors import HipError
from tests.device import LaunchingDevice

SOURCE = Path(__file__).with_name("attempts.hip")
_SECONDS = 30


@dataclass(frozen=True)
class Launched:
    """A launch: the error code or 0, the message, whether it counts as the kernel's fault, and ``out`` afterwards."""

    code: int
    message: str
    is_fault: bool
    out: list[int]


@dataclass(frozen=True)
class Ended:
    """How a confined process ended: its function's answer (``None`` if it did not come to one), exit code, output."""

    answer: Any
    code: int
    stdout: str
    stderr: str


class Executor:
    """Lives in a copy: a device whose process is confined, a loaded module, and what an executor is handed."""

    def __init__(self, device: LaunchingDevice, codes: Mapping[str, bytes], threads: int) -> None:
        self.device, self.runtime, self.codes = device, device.runtime, codes
        self.runtime.set_option("threads", threads)
        self.guards = ""
        self.sockets = socket.socketpair()
        self.memory_file = os.memfd_create("shared")
        os.truncate(self.memory_file, 4096)

    def confine(self, limits: Limits | None = None) -> str:
        self.guards = self.runtime.confine(limits)
        return self.guards

    def load(self, which: str = "attempts") -> None:
        self.module = self.device.load(self.codes[which])

    def launch(self, kernel: str, *values: Any, blocks: int = 1, threads: int = 1) -> Launched:
        """``values``: numpy arrays are buffers, the last of them is read back; numpy scalars go by value."""
        args = tuple(
            Buffer(f"b{i}", "", "inout", value) if isinstance(value, np.ndarray) else Scalar(f"s{i}", "", value)
            for i, value in enumerate(values)
        )
        function = self.device.function(self.module, kernel)
        assert function is not None
        try:
            result = self.device.launch(function, Launch(kernel, (blocks, 1, 1), (threads, 1, 1), 0, args))
        except HipError as error:
            return Launched(error.code, error.detail, error.is_fault, [])
        outs = [array.tolist() for array in result.buffers.values()]
        return Launched(0, "", False, outs[-1] if outs else [])

    def bare_call(self, number: int, *arguments: int) -> Launched:
        words = [np.int64(word) for word in (number, *arguments, *[0] * (4 - len(arguments)))]
        return self.launch("bare_call", *words, np.zeros(1, np.int64))

    def works(self) -> bool:
        """Whether a healthy kernel answers rightly."""
        given = np.arange(256, dtype=np.int32)
        done = self.launch("doubles", given, np.zeros(256, np.int32), blocks=4, threads=64)
        return done.code == 0 and done.out == (2 * given).tolist()


Task = Callable[..., Any]


class ForkServer:
    """The process that is copied, seen from the tests."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, end = context.Pipe()
        self._process = context.Process(target=_serve, args=(end,))
        self._process.start()
        end.close()
        self._receive()

    def run(self, task: Task, *arguments: Any, **environment: str) -> Ended:
        """``task(executor, ...)`` in a confined copy with the attempts loaded."""
        return self._ask(True, task, arguments, environment)

    def run_before(self, task: Task, *arguments: Any, **environment: str) -> Ended:
        """The same, not confined and with nothing loaded yet: the task does that itself."""
        return self._ask(False, task, arguments, environment)

    def _ask(self, *request: Any) -> Ended:
        self._connection.send(request)
        ended = self._receive()
        assert isinstance(ended, Ended)
        return ended

    def _receive(self) -> Any:
        assert self._connection.poll(4 * _SECONDS), "the process that is copied does not answer"
        return self._connection.recv()

    def close(self) -> None:
        self._connection.send(None)
        self._process.join(10)


def _serve(connection: Connection) -> None:
    device = LaunchingDevice(open_cpu_runtime(64, 2))
    text = SOURCE.read_text()
    codes = {
        "attempts": device.compile(text, SOURCE.name, ()),
        "at load": device.compile(text, SOURCE.name, ("-DAT_LOAD",)),
    }
    connection.send(None)
    while (request := connection.recv()) is not None:
        connection.send(_copy(device, codes, *request))


def _copy(
    device: LaunchingDevice,
    codes: Mapping[str, bytes],
    prepared: bool,
    task: Task,
    arguments: tuple[Any, ...],
    environment: Mapping[str, str],
) -> Ended:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            os.setsid()  # an attempt on the group reaches nobody else even if the sandbox fails
            os.close(reading)
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            os.environ.update(environment)
            _perform(Executor(device, codes, 2), prepared, task, arguments, writing)
        os.close(writing)
        answer = _read(reading)
        code = os.waitstatus_to_exitcode(_reap(pid))
        stdout.seek(0), stderr.seek(0)
        texts = [file.read().decode(errors="replace") for file in (stdout, stderr)]
    return Ended(pickle.loads(answer) if answer else None, code, *texts)


def _perform(executor: Executor, prepared: bool, task: Task, arguments: tuple[Any, ...], writing: int) -> None:
    status = 1
    try:
        if prepared:
            executor.confine()
            executor.load()
        answer = pickle.dumps(task(executor, *arguments))
        while answer:
            answer = answer[os.write(writing, answer) :]
        status = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    os._exit(status)


def _read(reading: int) -> bytes:
    """All that a copy has to say; it ends with the copy, or when its time is over."""
    parts, deadline = [], time.monotonic() + _SECONDS
    while select.select([reading], [], [], max(deadline - time.monotonic(), 0))[0]:
        part = os.read(reading, 1 << 16)
        if not part:
            break
        parts.append(part)
    os.close(reading)
    return b"".join(parts)


def _reap(pid: int) -> int:
    for _ in range(200):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]
