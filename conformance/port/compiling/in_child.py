"""Compiling a source in a child process with limits, and telling the source's faults from the machine's.

The child is ``conformance.port.compiling.child``. What is the source's doing (the compiler refuses it, dies of it, or
takes too much memory) is a ``CompileError``; what may be the machine's is an ``InfrastructureError``, time among it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack

from conformance.files import own_python
from conformance.notices import warn
from conformance.port.compiling.diagnostics import ENDED_BY
from conformance.port.compiling.reads import Reads
from conformance.port.compiling.target import CompileLimits, CompileTarget
from conformance.processes import InfrastructureError, Supervisor, parent_word
from conformance.processes.child import Child, cpu_seconds
from conformance.processes.supervisor import has_room
from conformance.toolchains.compile_error import CompileError

if TYPE_CHECKING:
    from conformance.toolchains.amd import AmdToolchain
    from conformance.toolchains.libraries import LibraryCompiler

_PROGRAM = "from conformance.port.compiling.child import main; main()"
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OUT_OF_MEMORY = ("out of memory", "std::bad_alloc", "cannot allocate memory", "virtual memory exhausted")
_DISK_FULL = "no space left on device"
_ROOM = 1 << 30
"""With less than this left, a compiler's word that the disk is full is believed."""

_PROBE = 4 << 20
"""With less than this left, the disk is full."""

_POLL = 0.5
"""Seconds between two looks at the CPU time of a compiler."""

_LARGEST = 1 << 30
_QUOTED = 64 << 10


class NotJudged(InfrastructureError):
    """A source cannot be compiled here, however often it is tried. That says nothing about the source."""


class CompilerUnsupported(NotJudged):
    """The compiler's installation cannot compile the source: it lacks headers of ROCm, or does not know an option."""


class CompilerStopped(NotJudged):
    """The compiler was stopped because its time was up."""


class _KilledError(Exception):
    """The child or its compiler was killed, and not by us; the message says by which signal."""


class _Company:
    """Who compiles in this process at the moment: any number, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0

    @contextmanager
    def any(self) -> Iterator[None]:
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, seconds: float) -> Iterator[None]:
        """Start when nobody compiles, at the latest after ``seconds``, and let nobody else start."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0, seconds)
            yield


_company = _Company()


def compile_in_child(
    text: str,
    label: str,
    flags: Sequence[str],
    target: CompileTarget,
    supervisor: Supervisor,
    limits: CompileLimits,
    toolchain: AmdToolchain | LibraryCompiler | None = None,
    *,
    folder: Path | None = None,
    reads: Reads | None = None,
) -> bytes:
    """The code object of ``text``, compiled in a child process within ``limits``. Messages call the text ``label``.

    The compiler is ``toolchain``, which may make a shared library, or without one the runtime's hiprtc. It gets the
    options ``flags``, and works in ``folder`` (default: the working directory). ``reads`` receives the files that it
    reads. A child that is killed from outside is tried again when nothing else compiles in this process. Raises
    ``CompileError`` and ``InfrastructureError``.
    """
    own = None if toolchain is None else asdict(toolchain)
    reads = Reads() if reads is None else reads
    request = msgpack.packb(
        {
            "text": text,
            "label": label,
            "flags": list(flags),
            "runtime": target.runtime.name,
            "hiprtc": target.runtime.hiprtc,
            "wave": target.wave,
            "arch": target.arch,
            "toolchain": own,
            "folder": None if folder is None else str(folder),
            "memory": limits.bytes_here(),
        }
    )
    try:
        with _company.any():
            return _attempt(request, label, supervisor, limits, reads)
    except _KilledError:
        pass
    try:
        with _company.alone(limits.seconds):
            return _attempt(request, label, supervisor, limits, reads)
    except _KilledError as error:
        raise InfrastructureError(
            f"the compiler of {label} was killed twice from outside ({error}); look whether this machine has enough "
            "memory, and run it again"
        ) from error


def _attempt(request: bytes, label: str, supervisor: Supervisor, limits: CompileLimits, reads: Reads) -> bytes:
    """One child; raises ``_KilledError``, too."""
    with _buffer("request") as given, _buffer("answer") as answer, _buffer("messages") as output:
        os.write(given, request)
        os.lseek(given, 0, os.SEEK_SET)
        command = [*own_python(_PROGRAM), str(parent_word()), str(answer)]
        child = supervisor.start(command, stdin=given, stdout=output, stderr=output, pass_fds=(answer,))
        try:
            code = _waited(child, label, limits)
        finally:
            child.kill()
        messages = os.pread(output, _QUOTED, 0).decode(errors="replace")
        if code is None or -code in _FROM_OUTSIDE:
            raise _KilledError(child.ended_how())
        if code < 0:
            if _mentions(messages, _OUT_OF_MEMORY):
                raise CompileError(label, _memory(limits))
            raise CompileError(label, f"the compiler died ({child.ended_how()})")
        if code:
            last = (messages.strip().splitlines() or [child.ended_how()])[-1]
            raise InfrastructureError(f"the compiling process of {label} failed: {last}")
        found = _unpacked(answer, label)
        reads.merge(found["reads"])
        return _judged(found, label, supervisor, limits)


def _waited(child: Child, label: str, limits: CompileLimits) -> int | None:
    """The exit code of ``child`` within the limits.

    Raises ``CompilerStopped`` where it takes more CPU time, or wall time.
    """
    end = time.monotonic() + limits.wall
    used = 0.0
    while used < limits.seconds and time.monotonic() < end:
        code = child.wait(min(_POLL, limits.seconds / 4))
        if code is not None:
            return code
        used = max(used, cpu_seconds(child.pid))
    spent = f"{used:.3g} s of CPU time"
    how = spent if used >= limits.seconds else f"{limits.wall:g} s, in which it got {spent}"
    raise CompilerStopped(
        f"the compiler of {label} was stopped after {how}; raise --compile-timeout {limits.seconds:g}"
    )


def _judged(answer: dict[str, Any], label: str, supervisor: Supervisor, limits: CompileLimits) -> bytes:
    """The code object in a child's answer, or what it failed by."""
    for text in answer.get("warnings", ()):
        warn(text)
    if "code" in answer:
        return bytes(answer["code"])
    if "machine" in answer:
        kind = CompilerUnsupported if answer.get("unsupported") else InfrastructureError
        raise kind(f"{label} cannot be compiled: {answer['machine']}")
    if "memory" in answer:
        raise CompileError(label, _memory(limits))
    log = str(answer["log"])
    last = log.strip().rpartition("\n")[2]
    if last.startswith(ENDED_BY):
        number = last[len(ENDED_BY) :].strip()
        how = signal.Signals(int(number)).name if number.isdigit() and int(number) in _SIGNALS else number
        if number.isdigit() and int(number) in _FROM_OUTSIDE:
            raise _KilledError(f"signal {how}")
        if not _mentions(log, _OUT_OF_MEMORY):
            raise CompileError(label, f"the compiler died (signal {how})")
    if _is_full(supervisor.scratch, log):
        raise InfrastructureError(
            f"{label} cannot be compiled: no space is left for the compiler's temporary files; make room in "
            f"{supervisor.scratch.parent}, or set TMPDIR to another folder"
        )
    # A source may say the same with #error, at its own cost.
    if ("LLVM ERROR" in log and _mentions(log, _OUT_OF_MEMORY)) or "std::bad_alloc" in log:
        raise CompileError(label, _memory(limits))
    raise CompileError(label, log)


_SIGNALS = frozenset(int(number) for number in signal.Signals)


def _memory(limits: CompileLimits) -> str:
    size = limits.bytes_here() / (1 << 30)
    return f"the compiler needed more than {size:.3g} GiB of memory"


def _mentions(text: str, phrases: Sequence[str]) -> bool:
    lower = text.lower()
    return any(phrase in lower for phrase in phrases)


def _is_full(scratch: Path, log: str) -> bool:
    """Whether a failed compilation is the disk's doing; the compiler's messages go to the same disk and may be lost.

    What it took is free again, so that the room which is left proves little.
    """
    wordless = "error" not in log
    return not has_room(scratch, _PROBE) or ((wordless or _DISK_FULL in log.lower()) and not has_room(scratch, _ROOM))


@contextmanager
def _buffer(name: str) -> Iterator[int]:
    """A file in memory: nobody waits for the other side to read, and no disk is needed."""
    descriptor = os.memfd_create(f"candle-parity-{name}", os.MFD_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unpacked(descriptor: int, label: str) -> dict[str, Any]:
    size = os.fstat(descriptor).st_size
    try:
        answer = msgpack.unpackb(os.pread(descriptor, min(size, _LARGEST), 0), max_bin_len=_LARGEST)
        if isinstance(answer, dict) and "reads" in answer and {"code", "log", "machine", "memory"} & answer.keys():
            return answer
    except (ValueError, msgpack.UnpackException):
        pass
    raise InfrastructureError(f"the compiling process of {label} ended without an answer that can be read")
