"""Holding a stream of a runtime that has no way of its own to: by a host function that waits, between two signs.

What is put on a stream behind a host function begins when that has returned. Whether it had is known by two signs that
do not depend on one another: the function takes the byte that lets it go on, which it cannot when it has returned
before; and an event that was recorded behind it is not reached before that byte is sent. A launcher is accused only
where both say that its stream stood still, so a runtime that lets a stream go on early accuses nobody.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from conformance.runtimes.kind import HoldingRuntime

if TYPE_CHECKING:
    from conformance.runtimes.hip.device import Device

HELD_SECONDS = 0.5
"""The longest that a stream is held: for launchers that wait for it themselves."""

_TAKEN_SECONDS = 0.1
"""How long the function may take to see the byte."""
_STEP = 0.0005
_UNBUFFERED = 2  # _IONBF
_NO_TIME = 2  # hipEventDisableTiming
_NOT_READY = 600


@cache
def holding(device: Device) -> HoldingRuntime:
    """What holds streams of ``device``: its runtime, or a host function."""
    return device.runtime if isinstance(device.runtime, HoldingRuntime) else HostFunctionHold(device)


class HostFunctionHold:
    """A ``HoldingRuntime`` for ``device``.

    The function is the C library's fgetc on a socket that gives up after ``HELD_SECONDS``: hip-python 7.2 keeps the
    interpreter's lock while it waits for the device, and no function written in Python could end then.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._ours, self._theirs = socket.socketpair()
        seconds, rest = divmod(round(HELD_SECONDS * 1e6), 1_000_000)
        self._theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, rest))
        self._libc = libc = ctypes.CDLL(None)
        libc.fdopen.restype = ctypes.c_void_p
        self._file = ctypes.c_void_p(libc.fdopen(self._theirs.fileno(), b"r"))
        libc.setvbuf(self._file, None, _UNBUFFERED, ctypes.c_size_t(0))
        self._waits = ctypes.cast(libc.fgetc, ctypes.c_void_p)
        self._event: Any = None

    def hold(self, stream: int) -> bool:
        """See ``HoldingRuntime``; the device is idle."""
        hip = self._device.hip
        while self._left():
            self._theirs.recv(1)
        self._libc.clearerr(self._file)
        if self._event is None:
            made = hip.hipEventCreateWithFlags(_NO_TIME)
            if int(made[0]):
                return self._cannot()
            self._event = made[1]
        if int(hip.hipLaunchHostFunc(stream, self._waits.value, self._file.value)[0]):
            return self._cannot()
        if int(hip.hipEventRecord(self._event, stream)[0]):
            self._ours.send(b"\0")
            return self._cannot()
        return True

    def release(self) -> bool:
        """See ``HoldingRuntime``."""
        reached = int(self._device.hip.hipEventQuery(self._event)[0])
        self._device.hip.hipGetLastError()  # an event that is not reached is one
        self._ours.send(b"\0")
        end = time.monotonic() + _TAKEN_SECONDS
        while self._left() and time.monotonic() < end:
            time.sleep(_STEP)
        return reached == _NOT_READY and not self._left()

    def _cannot(self) -> bool:
        self._device.hip.hipGetLastError()  # not the launcher's
        return False

    def _left(self) -> bool:
        """Whether there is a byte that the function has not taken."""
        try:
            return bool(self._theirs.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False
