"""The guard: kills process groups and removes a folder when the process that started it has ended.

Run as a script, ``python -I -S guard.py FOLDER MARK``, in a session of its own. Standard input is a pipe whose only
write end the supervising process holds; its lines are ``group PGID`` and ``gone PGID``. At end of file, however the
supervising process ended, every group that is not gone is killed, then every process that was started with ``MARK`` in
its environment (one that left its group, or whose group was not reported yet), and ``FOLDER`` is removed.

Imports next to nothing, for it starts in a few milliseconds with the first child.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

_SWEEPS = 200
_PAUSE = 0.02


def watch(folder: str, mark: bytes) -> None:
    """Wait for the end of standard input, then kill every group and every process with ``mark``, and remove
    ``folder``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    with open(0, "rb", closefd=False) as lines:
        for line in lines:
            word, _, number_text = line.partition(b" ")
            if not line.endswith(b"\n"):
                break  # cut off by the end of the process: nothing was started by it
            (groups.add if word == b"group" else groups.discard)(int(number_text))
    for group in groups:
        _kill_group(group)
    for _ in range(_SWEEPS):
        marked = _marked(mark)
        for process in marked:
            _kill(process)
        if not marked:
            break
        time.sleep(_PAUSE)
    if os.path.isdir(folder):
        import shutil

        for _ in range(_SWEEPS):  # a process that is still dying may write one more file
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.isdir(folder):
                break
            time.sleep(_PAUSE)


def _marked(mark: bytes) -> list[int]:
    """The processes of this user that were started with ``mark`` in their environment and have not ended."""
    marked = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    marked.append(int(name))
        except OSError:
            continue  # another user's, or gone already
    return marked


def _kill_group(group: int) -> None:
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _kill(process: int) -> None:
    with suppress(OSError):
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    watch(sys.argv[1], os.fsencode(sys.argv[2]))
