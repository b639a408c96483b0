"""What a worker is doing right now, readable by its parent even after the worker has died."""

from __future__ import annotations

import mmap
import os
import struct
import time

_HEADER = struct.Struct("dI")
_SIZE = 4096


class Progress:
    """A shared page that holds the time and the name of the last thing begun.

    The parent makes it (``Progress()``) and hands the file descriptor to the child (``Progress(fd)``).
    """

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            fd = os.memfd_create("candle-parity-progress", 0)
            os.ftruncate(fd, _SIZE)
        self.fd = fd
        self._page = mmap.mmap(fd, _SIZE)

    def begin(self, what: str) -> None:
        text = what.encode()[: _SIZE - _HEADER.size]
        self._page[_HEADER.size : _HEADER.size + len(text)] = text
        self._page[: _HEADER.size] = _HEADER.pack(time.monotonic(), len(text))

    def read(self) -> tuple[float, str]:
        """When (``time.monotonic``) and what was begun last; (0, "") before the first."""
        began, length = _HEADER.unpack(self._page[: _HEADER.size])
        return began, self._page[_HEADER.size : _HEADER.size + length].decode(errors="replace")

    def close(self) -> None:
        self._page.close()
        os.close(self.fd)
