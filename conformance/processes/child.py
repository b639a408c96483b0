"""A child process in a group of its own: how it begins, how it is ended, and what it wrote before its end."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import select
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from conformance.errors import UserError


def how_ended(code: int) -> str:
    """How a process ended, by the code that ``subprocess`` gives: ``exit code 3``, or ``signal SIGSEGV`` for -11."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:  # most real-time signals have no name
        return f"signal {-code}"


class InfrastructureError(UserError, RuntimeError):
    """Something failed that is no kernel's doing: a full disk, a process that cannot be started, a folder that cannot
    be written.

    The message is one sentence that names the thing and says what to do.
    """


_PR_SET_PDEATHSIG = 1
_DYING = 10.0
"""Seconds that a killed process may take to end; one that waits for a broken disk may take longer, and is left."""


class StartedChild(Protocol):
    """What ``Child`` needs of a started process; ``subprocess.Popen`` has it."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def wait(self, timeout: float) -> int: ...


class Child:
    """A started process, the leader of its process group; ``Supervisor.start`` makes it.

    When the leader has ended, the rest of the group is killed, and then the exit code is returned. A selector can wait
    for the end on ``fileno()``.
    """

    def __init__(self, process: StartedChild, gone: Callable[[Child], None]) -> None:
        self.pid = process.pid
        self._process = process
        self._gone = gone
        self._lock = threading.RLock()
        self._pidfd = -1
        try:
            self._pidfd = os.pidfd_open(process.pid)
        except OSError as error:
            self._end()
            raise InfrastructureError(
                f"a child process cannot be watched ({error.strerror}); Linux 5.3 or newer with free file descriptors "
                "is needed"
            ) from error

    def fileno(self) -> int:
        """A descriptor (pidfd) that becomes readable when the process has ended. ``poll`` and ``wait`` close it when
        they return the exit code; afterwards this raises ``ValueError``."""
        if self._pidfd < 0:
            raise ValueError(f"process {self.pid} has ended, its descriptor is closed")
        return self._pidfd

    def poll(self) -> int | None:
        """The exit code, negative for a signal; ``None`` while the process is running."""
        with self._lock:
            if self._process.returncode is None and self._has_ended():
                self._end()
            return self._process.returncode

    def wait(self, timeout: float) -> int | None:
        """The exit code, negative for a signal; ``None`` if the process has not ended after ``timeout`` seconds."""
        code = self.poll()
        if code is None and self._pidfd >= 0:
            waiting = select.poll()
            waiting.register(self._pidfd, select.POLLIN)
            waiting.poll(max(0.0, timeout) * 1000)
            code = self.poll()
        return code

    def kill(self) -> None:
        """Kill the whole group (SIGKILL), and wait for the leader for a bounded time."""
        with self._lock:
            if self._process.returncode is None:
                _kill_group(self.pid)
        self.wait(_DYING)

    def ended_how(self) -> str:
        """How the process ended, in words: ``exit code 3``, ``signal SIGSEGV``, or ``still running``."""
        code = self.poll()
        return "still running" if code is None else how_ended(code)

    def _has_ended(self) -> bool:
        """Whether the leader is a zombie; it is not reaped, so that its number stays taken."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # SIGCHLD is ignored here: the exit code is lost, the end is not
            return True

    def _end(self) -> None:
        """Kill what is left of the group, have the supervisor forget it, and only then reap the leader."""
        _kill_group(self.pid)
        self._gone(self)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING)
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # empty, or what is left of it is not ours any more
        os.killpg(group, signal.SIGKILL)


def parent_word() -> int:
    """The number to hand to a child for ``die_with_parent``: this process's id, or 0 in another thread than the main
    one.

    Linux sends the signal when the *thread* that started the child ends, so only children of the main thread may ask
    for it. The guard ends the others all the same.
    """
    return os.getpid() if threading.current_thread() is threading.main_thread() else 0


def die_with_parent(parent: int) -> None:
    """Have Linux kill this process when the thread that started it ends. A child calls it before anything else.

    ``parent`` is the ``parent_word()`` of the parent; with 0 nothing is asked for. Raises ``SystemExit`` if the parent
    has ended already.
    """
    if not parent:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit("the process that started this one has ended")


def cpu_seconds(root: int) -> float:
    """The CPU seconds of the process ``root`` and all its descendants, including those that have ended."""
    rows: dict[int, tuple[int, int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            # Behind the name, which may hold anything: state, parent, ..., its own time and its ended children's.
            fields = file.read_bytes().rpartition(b")")[2].split()
            rows[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {root}
    while more := {pid for pid, (parent, _) in rows.items() if parent in family} - family:
        family |= more
    return sum(rows[pid][1] for pid in family if pid in rows) / os.sysconf("SC_CLK_TCK")


_ROCR_SWITCH = "HSA_DISABLE_COREDUMP_ON_EXCEPTION"
"""ROCr's own (gpu_coredump.cc in the tests of ROCm/rocm-systems has what it does), for where a pattern or a service of
the system's takes core dumps whatever the limit."""


def no_core_files() -> None:
    """Have this process and its children write no core files. Call it before a runtime is loaded.

    ROCr of ROCm 7 writes the whole memory of a GPU into one. With the limit at 0 it does not, and HIP returns an error
    code where it would otherwise abort.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.setdefault(_ROCR_SWITCH, "1")


KEPT = 64 * 1024
"""Bytes of a process's standard error that are handed on."""

_STANDARD_ERROR = 2

SHOWN = 300
"""Characters of a line that are shown."""

# In this order, for the first is often followed by the others. The first two are ROCr's (runtime.cpp), the last two are
# HIP's log, whose level 0 is never switched off (rocdevice.cpp).
_FAULTS = tuple(
    re.compile(text)
    for text in (r"Memory access fault by GPU", r"HW Exception by GPU", r"HSA_STATUS_ERROR", r"^:0:\w+\.cpp")
)

# What follows a fault and does not explain it: the shell's line, and ROCr's about its core dump (amd_core_dump.cpp).
_NOISE = re.compile(
    r"^Aborted\b|^Segmentation fault\b|core ?dump|gpucore|^Failed to (write|read GPU memory|fetch queues)",
    re.IGNORECASE,
)


def stderr_size() -> int:
    """How many bytes this process's standard error holds so far; 0 where that is no file."""
    return os.fstat(_STANDARD_ERROR).st_size


def words_since(size: int) -> str:
    """What this process wrote to standard error after it held ``size`` bytes; of a long text only the end."""
    return decoded(tail(_STANDARD_ERROR, min(stderr_size() - size, KEPT)))


def tail(file: int, size: int) -> bytes:
    """The last ``size`` bytes of an open ``file``."""
    length = os.fstat(file).st_size
    return os.pread(file, size, max(0, length - size))


def decoded(data: bytes) -> str:
    """What a process printed, as text. Bytes that are not UTF-8 are replaced."""
    return data.decode(errors="replace")


def fault_line(text: str) -> str:
    """The line of ``text`` in which ROCr or HIP report a fault of the GPU; "" where there is none."""
    lines = [line.strip() for line in text.splitlines()]
    fault_lines = (line for pattern in _FAULTS for line in lines if pattern.search(line))
    return next(fault_lines, "")[:SHOWN]


def telling_line(text: str) -> str:
    """The line of ``text`` that says best why a process ended: that of a GPU's fault, else the last line. "" for no
    text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not _NOISE.search(line)]
    return fault_line(text) or (plain or lines or [""])[-1][:SHOWN]
