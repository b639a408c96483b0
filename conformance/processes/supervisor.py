"""Starting child processes that end when this process does, and the folder for their temporary files."""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from types import TracebackType
from typing import IO

from conformance.files import cache_folder
from conformance.processes.child import Child, InfrastructureError, StartedChild
from conformance.processes.forked import fork

GUARD = Path(__file__).with_name("guard.py")
MARK = "CANDLE_PARITY_SUPERVISOR"
"""An environment variable of every child, by which the guard finds those that have left their group."""

_LOADING = ("LD_LIBRARY_PATH", "PYTHONHOME")
"""All that the guard inherits: what an interpreter may need to start."""

_ENDING = 10.0
"""Seconds that the guard may take after the last child."""


class Supervisor:
    """Starts children that cannot outlive this process, and gives them a folder for temporary files.

    Every child leads a process group of its own. A guard process, started with the first child or the first use of
    ``scratch``, kills the groups and removes the folder when this process ends, by SIGKILL too. May be used from
    several threads. After an ``os.fork`` it belongs to the parent.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._children: dict[int, Child] = {}
        self._scratch: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._guard_pipe = -1
        self._owner = os.getpid()
        self._closed = False
        self._mark = f"{os.getpid()}-{os.urandom(8).hex()}"
        _living.add(self)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def scratch(self) -> Path:
        """The folder for temporary files, made on first use and removed at the end. It is ``TMPDIR`` in every child.

        Raises ``InfrastructureError`` where no folder can be written.
        """
        with self._lock:
            if self._scratch is None:
                folder = scratch_base() / f"candle-parity-{self._mark}"
                self._start_guard(folder)  # before the folder exists, so that it is never without a guard
                try:
                    folder.mkdir(mode=0o700)
                except OSError as error:
                    raise InfrastructureError(
                        f"the temporary folder {folder} cannot be made: {error.strerror}"
                    ) from error
                self._scratch = folder
            return self._scratch

    def start(
        self,
        args: Sequence[str],
        *,
        pass_fds: Sequence[int] = (),
        stdin: int = DEVNULL,
        stdout: int | None = None,
        stderr: int | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Child:
        """Start the program ``args`` in ``folder`` (default: the working directory) with ``environment`` (default: this
        process's).

        ``pass_fds`` are open files that it keeps. ``TMPDIR`` is ``scratch``. Raises ``InfrastructureError`` where it
        cannot be started.
        """
        with self._lock:
            if self._closed:
                raise InfrastructureError(f"{args[0]} cannot be started: the run is ending")
            scratch = str(self.scratch)
            chosen = {**(os.environ if environment is None else environment), "TMPDIR": scratch, MARK: self._mark}
            try:
                process = subprocess.Popen(
                    list(args),
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env=chosen,
                    cwd=folder,
                    pass_fds=tuple(pass_fds),
                    start_new_session=True,
                )
            except OSError as error:
                raise InfrastructureError(f"{args[0]} cannot be started: {error.strerror}") from error
            return self._added(process)

    def fork(
        self,
        name: str,
        run: Callable[[], object],
        keep: Collection[int],
        output: int,
        environment: Mapping[str, str],
    ) -> Child:
        """Start a copy of this process that calls ``run``; see ``conformance.processes.forked``, also for when this is
        allowed.

        ``TMPDIR`` is ``scratch``. Raises ``InfrastructureError`` where it cannot be started.
        """
        with self._lock:
            if self._closed:
                raise InfrastructureError("a process cannot be started: the run is ending")
            chosen = {**environment, "TMPDIR": str(self.scratch), MARK: self._mark}
            try:
                return self._added(fork(name, run, keep, output, chosen))
            except OSError as error:
                raise InfrastructureError(f"a process cannot be started: {error.strerror}") from error

    def _added(self, process: StartedChild) -> Child:
        """The child that ``process`` is, of which the guard knows from now on."""
        self._tell(f"group {process.pid}\n")
        child = Child(process, self._gone)
        self._children[child.pid] = child
        return child

    def close(self) -> None:
        """Kill the groups of all children and remove ``scratch``. Nothing can be started afterwards."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self._closed = True
            children = list(self._children.values())
        for child in children:  # without the lock: a thread that polls a child holds the child's own and asks for ours
            child.kill()
        with self._lock:
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
            self._release()
            if self._guard is not None:
                with suppress(subprocess.TimeoutExpired):  # it goes on by itself until all that it killed has ended
                    self._guard.wait(_ENDING)
                self._guard = None

    def _gone(self, child: Child) -> None:
        with self._lock:
            self._children.pop(child.pid, None)
            self._tell(f"gone {child.pid}\n")

    def _start_guard(self, folder: Path) -> None:
        read, self._guard_pipe = os.pipe()
        os.set_blocking(self._guard_pipe, False)
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), str(folder), f"{MARK}={self._mark}"],
                stdin=read,
                stdout=DEVNULL,
                stderr=DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _LOADING if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            self._release()
            raise InfrastructureError(f"a process cannot be started: {error.strerror}") from error
        finally:
            os.close(read)

    def _tell(self, line: str) -> None:
        if self._guard_pipe < 0:
            return
        try:
            os.write(self._guard_pipe, line.encode())
        except (BrokenPipeError, BlockingIOError):  # the guard was killed or stopped: start another one
            if self._closed or self._scratch is None:
                return
            self._release()
            self._start_guard(self._scratch)
            os.write(self._guard_pipe, "".join(f"group {group}\n" for group in self._children).encode() + line.encode())

    def _release(self) -> None:
        if self._guard_pipe >= 0:
            os.close(self._guard_pipe)
            self._guard_pipe = -1


_living: weakref.WeakSet[Supervisor] = weakref.WeakSet()


def _after_fork() -> None:
    """A forked copy of this process must not keep the guards waiting."""
    for supervisor in _living:
        supervisor._release()
        supervisor._closed = True
    _shared.clear()  # what the copy runs is its own


os.register_at_fork(after_in_child=_after_fork)


_lock = threading.Lock()
_shared: list[Supervisor] = []


@dataclass(frozen=True)
class Finished:
    """A program that has ended: its exit code, output and errors. The code is negative for a signal, and ``None`` for a
    program that was stopped because its time was up."""

    code: int | None
    out: str
    err: str


def run_bounded(args: Sequence[str], seconds: float, folder: Path | None = None) -> Finished:
    """Run the program ``args`` for at most ``seconds``, in ``folder`` if given. Raises ``InfrastructureError`` where it
    cannot be started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Bytes: an argument may hold characters that the locale lacks.
        encoded = [os.fsdecode(arg.encode("utf-8", "surrogateescape")) for arg in args]
        child = _supervisor().start(encoded, stdout=out.fileno(), stderr=err.fileno(), folder=folder)
        try:
            code = child.wait(seconds)
        finally:
            child.kill()
        return Finished(code, _text(out), _text(err))


def stop_all() -> None:
    """Kill every program that ``run_bounded`` is running in any thread; these calls return."""
    with _lock:
        for supervisor in _shared:
            supervisor.close()
        _shared.clear()


def _supervisor() -> Supervisor:
    with _lock:
        if not _shared:
            _shared.append(Supervisor())
            atexit.register(stop_all)
        return _shared[0]


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


COMMON = Path("/tmp")
ROOM = 64 << 20
"""Bytes that a folder for temporary files should have; a compilation takes some 20 MiB."""

_PROBE = 64 << 10


def scratch_base() -> Path:
    """The folder for temporary files: the first that can be written and has ``ROOM``, else the first that can be
    written.

    ``$TMPDIR``, ``/tmp`` and the cache folder are tried. ``take_warnings`` reports a ``TMPDIR`` that was passed over.
    Raises ``InfrastructureError`` where none can be written.
    """
    from conformance.notices import warn

    refused, narrow = [], []
    for folder, name in _candidates():
        why = _refusal(folder)
        if why is not None:
            refused.append(f"{name}: {why}")
        elif not has_room(folder):
            narrow.append(folder)
            refused.append(f"{name}: less than {ROOM >> 20} MiB left")
        else:
            if refused:
                warn(f"temporary files go to {folder} ({'; '.join(refused)})")
            return folder
    if narrow:
        return narrow[0]
    raise InfrastructureError(
        f"no folder for temporary files can be written ({'; '.join(refused)}); make room in one, or set TMPDIR to a "
        "folder that can be written"
    )


def has_room(folder: Path, size: int = ROOM) -> bool:
    """Whether ``size`` more bytes can be written to ``folder``; false for one that is not there."""
    try:
        filesystem = os.statvfs(folder)
    except OSError:
        return False
    return filesystem.f_bavail * filesystem.f_frsize >= size and (filesystem.f_files == 0 or filesystem.f_favail >= 100)


def _candidates() -> Iterator[tuple[Path, str]]:

    chosen = os.environ.get("TMPDIR")
    if chosen:
        yield Path(chosen).absolute(), f"TMPDIR={chosen}"
        yield cache_folder().absolute(), f"the cache folder {cache_folder()}"
    yield COMMON, str(COMMON)
    if not chosen:
        yield cache_folder().absolute(), f"the cache folder {cache_folder()}"


def _refusal(folder: Path) -> str | None:
    """Why a file of some size cannot be written in ``folder``."""
    probe = folder / f".candle-parity-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(probe, "xb", buffering=0) as file:
            if (file.write(bytes(_PROBE)) or 0) < _PROBE:
                return os.strerror(errno.ENOSPC)
    except OSError as error:
        return error.strerror
    finally:
        probe.unlink(missing_ok=True)
    return None
