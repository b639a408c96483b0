"""Memory that a judge and an executor share: an anonymous file that only grows.

The judge makes it and says where things lie in it; the executor maps what it is told to. It cannot be made smaller, so
that no process finds a page of it gone.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os

ALIGNMENT = 256
"""Bytes, as a device allocation has it."""

_STEP = 4 << 20
_SEALS = 0x1 | 0x2
"""F_SEAL_SEAL and F_SEAL_SHRINK of Linux: what is sealed stays so, and nothing else can be sealed."""


def aligned(size: int) -> int:
    """``size`` rounded up to the alignment of buffers."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Arena:
    """The shared file as this process maps it."""

    def __init__(self, descriptor: int | None = None) -> None:
        """A new one, or the one behind ``descriptor``, which is closed with the arena."""
        if descriptor is None:
            descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        self.descriptor = descriptor
        self.size = 0
        self.map: mmap.mmap | None = None
        self._address = 0

    def grow(self, size: int) -> None:
        """Make the file at least ``size`` bytes long and map all of it. Raises ``OSError`` and ``ValueError``."""
        if size <= self.size:
            return
        length = -(-size // _STEP) * _STEP
        if os.fstat(self.descriptor).st_size < length:
            os.posix_fallocate(self.descriptor, 0, length)  # a full memory is an error here, not a signal later
        self.attach(length)

    def attach(self, size: int) -> None:
        """Map the first ``size`` bytes of the file; what was mapped before stays as long as somebody looks at it."""
        if size <= self.size:
            return
        self.map = mmap.mmap(self.descriptor, size)
        self.size = size
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))

    def address(self, offset: int, size: int) -> int:
        """Where ``size`` bytes from ``offset`` lie in this process; raises ``ValueError`` outside the arena."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ValueError(f"{size} bytes at {offset} of an arena of {self.size}")
        return self._address + offset

    def close(self) -> None:
        self.map = None
        self.size = 0
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
