"""Children that are copies of this process: what it has imported they need not import again.

A fork copies one thread of a process and every lock, handler and open file of all of them. So only the command's own
process is copied, which says so itself (``allow_forks``), and only while it has no other thread. Everybody else's, such
as pytest's, may hold what does not survive it: there children are started as programs.
"""

from __future__ import annotations

import ctypes
import gc
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NoReturn, TextIO

from conformance.notices import take_warnings
from conformance.processes.child import die_with_parent, parent_word

_PR_SET_NAME = 15

_allowed: list[bool] = []


def allow_forks() -> None:
    """Allow children that are copies of this process. Only a command of ours, with nothing else in its process, calls
    this."""
    _allowed.append(True)


def may_fork() -> bool:
    """Whether a child may be a copy of this process now: ``allow_forks`` was called, and there is one thread."""
    main = threading.current_thread() is threading.main_thread()
    return bool(_allowed) and main and len(os.listdir("/proc/self/task")) == 1


class ForkedProcess:
    """A child that is a copy of this process. It has what ``Child`` needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def wait(self, timeout: float) -> int:
        """The exit code, negative for a signal; raises ``subprocess.TimeoutExpired``."""
        end = time.monotonic() + timeout
        while self.returncode is None:
            try:
                found, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # SIGCHLD is ignored here: the exit code is lost
                found, status = self.pid, 0
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise subprocess.TimeoutExpired("a copy of this process", timeout)
            else:
                time.sleep(0.001)
        return self.returncode


def fork(
    name: str, run: Callable[[], object], keep: Collection[int], output: int, environment: Mapping[str, str]
) -> ForkedProcess:
    """Start a copy of this process that calls ``run`` and then ends; it leads a session of its own.

    ``name`` is what ``ps -o comm`` and ``top`` show, 15 characters of it. Of the open files it keeps ``keep``, under
    the same numbers, and has ``output`` as standard output and error. Its environment is ``environment``, and signals
    are handled as in a new program. Raises ``OSError``.
    """
    parent = parent_word()
    leads, tell = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _become(name, run, parent, keep, output, environment, tell, before)
        os.close(tell)
        tell = -1
        os.read(leads, 1)  # until it leads its group: the group can be killed then
        return ForkedProcess(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for end in (leads, tell):
            with suppress(OSError):
                os.close(end)


def _become(
    name: str,
    run: Callable[[], object],
    parent: int,
    keep: Collection[int],
    output: int,
    environment: Mapping[str, str],
    tell: int,
    signals: Collection[int],
) -> NoReturn:
    """Be the child. It never returns into the frames of its parent, whose objects stay as they are."""
    code = 1
    try:
        die_with_parent(parent)
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
        os.write(tell, b".")
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        _keep_files(keep, output)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None  # TMPDIR is another one
        take_warnings()  # those of the parent
        gc.freeze()  # nothing that the parent has is garbage here
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            _say(end.code)
    except BaseException:
        _say(traceback.format_exc())
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _keep_files(keep: Collection[int], output: int) -> None:
    """Have /dev/null as standard input, and behind every number that is not to be kept.

    Such a number is not freed: the parent's object that owns it may still close it, and must not close another file.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    for standard in (1, 2):
        os.dup2(output, standard)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number != null and number not in keep:
            with suppress(OSError):  # the one that listed the folder
                os.fstat(number)
                os.dup2(null, number, inheritable=False)
    os.close(null)
    sys.stdin, sys.stdout, sys.stderr = _text(0, "r"), _text(1, "w"), _text(2, "w")


def _text(number: int, mode: str) -> TextIO:
    file = open(number, f"{mode}b", closefd=False)  # noqa: SIM115 - standard files stay open
    return io.TextIOWrapper(file, "utf-8", "backslashreplace", line_buffering=True)


def _say(text: str) -> None:
    with suppress(OSError):
        os.write(2, f"{text.rstrip()}\n".encode(errors="replace"))


_MALLOC = {"MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_MAX_": -4}
"""The parameters of glibc's ``mallopt`` that stand for these variables, which it reads as a program starts."""


def set_malloc(environment: Mapping[str, str]) -> None:
    """Have glibc's ``malloc`` in this process follow the variables (``MALLOC_...``) of ``environment``. Does nothing
    with another C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, parameter in _MALLOC.items():
        value = environment.get(name, "")
        if mallopt is not None and value.isdecimal() and int(value) < 1 << 31:
            mallopt(parameter, int(value))
