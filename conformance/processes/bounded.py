"""Running a program to its end: with a limit of time, and no longer than this process lives."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from conformance.processes.supervisor import Supervisor

_lock = threading.Lock()
_shared: list[Supervisor] = []


@dataclass(frozen=True)
class Finished:
    """The exit code (negative for a signal; ``None`` when the program was stopped at its limit), output and errors."""

    code: int | None
    out: str
    err: str


def run_bounded(words: Sequence[str], seconds: float) -> Finished:
    """Run ``words`` for at most ``seconds``; raises ``InfrastructureError`` when it cannot be started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Bytes: an argument may hold characters that the locale lacks.
        encoded = [os.fsdecode(word.encode("utf-8", "surrogateescape")) for word in words]
        child = _supervisor().start(encoded, stdout=out.fileno(), stderr=err.fileno())
        try:
            code = child.wait(seconds)
        finally:
            child.kill()
        return Finished(code, _text(out), _text(err))


def stop_all() -> None:
    """Kill what ``run_bounded`` has running in any thread; its calls return."""
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
