"""Calls of linked launchers: host functions by ctypes, and what they must not do, by what the runtime reports.

Where the runtime has no way of its own to hold a stream, a host function that waits does it, between two signs: what is
put on a stream behind it begins when it has returned. Whether it had is known by two signs that do not depend on one
another: the function takes the byte that lets it go on, which it cannot when it has returned before; and an event that
was recorded behind it is not reached before that byte is sent. A launcher is accused only where both say that its
stream stood still, so a runtime that lets a stream go on early accuses nobody.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from conformance.runtimes.hip.device import Device, Function
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.kind import HoldingRuntime, LauncherRuntime

SLOT = 8
"""Bytes of an argument in a message."""

_MOMENT = 0.002
"""Seconds that other streams have for what a launcher gives them."""

HELD_SECONDS = 0.5
"""The longest that a stream is held: for launchers that wait for it themselves."""

_TAKEN_SECONDS = 0.1
"""How long the function may take to see the byte."""
_STEP = 0.0005
_UNBUFFERED = 2  # _IONBF
_NO_TIME = 2  # hipEventDisableTiming
_NOT_READY = 600


class Misuse(Exception):
    """A launcher has ended, and did what it must not do; the message says what."""


_C_TYPES: dict[str, Any] = {
    "*": ctypes.c_void_p,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int32,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}
"""What a launcher's arguments are passed as, by dtype (``conformance.cases.launch.PASSED_BY_VALUE``); ``*`` for
pointers."""


class PreparedCall:
    """A call of a host function. Its buffers are on the device already.

    ``function.handle`` is the function's address, or a Python function that calls a vendor's library. ``types`` are the
    types of the arguments, keys of ``_C_TYPES``. ``slots`` are the arguments, eight bytes each, ``None`` for the
    stream.
    """

    def __init__(
        self, device: Device, function: Function, types: Sequence[str], slots: Sequence[bytes | None], what: str
    ) -> None:
        self._device, self._function, self._what = device, function, what
        kinds = [_C_TYPES[name] for name in types]
        self._of_vendor = callable(function.handle)
        self._call = function.handle if self._of_vendor else ctypes.CFUNCTYPE(None, *kinds)(function.handle)
        stream = device.stream()
        self._stream = stream
        given = [stream.to_bytes(SLOT, "little") if slot is None else slot for slot in slots]
        self._pointers = [
            int.from_bytes(slot, "little") if name == "*" and slot is not None else None
            for name, slot in zip(types, slots, strict=True)
        ]
        self.left: tuple[int, ...] | None = None
        """What the call left behind, in the numbers of ``LauncherRuntime.live``; ``None`` where that is unknown."""
        self._values = [kind.from_buffer_copy(slot) for kind, slot in zip(kinds, given, strict=True)]

    def start(self) -> None:
        """Call the function, and check nothing."""
        self._call(*self._values)

    def run(self) -> None:
        """Call the function, wait for the device, and check HIP's last error, as a launcher itself returns nothing.

        Raises ``HipError`` for a fault of a kernel. Raises ``Misuse`` for work on another stream, for an error that is
        left pending, and for a library that answers with an error.
        """
        device, runtime = self._device, cast(LauncherRuntime, self._device.runtime)
        device.synchronize()  # the stream waits for no copy and no other one
        if self._of_vendor:
            self._call(*self._values)
            device.synchronize(self._what)
            return
        device.hip.hipGetLastError()  # of whoever came before
        before = runtime.live()
        runtime.begin_call(self._stream, self._pointers)
        self._call(*self._values)
        pending = device.hip.hipGetLastError()[0]
        text = device.detail(pending) if int(pending) else ""
        fault, message = runtime.end_call()
        if fault:
            raise HipError("hipLaunchKernel", fault, device.hip.hipError_t(fault).name, self._function.name, message)
        device.synchronize(self._what)
        after = runtime.live()
        if before is not None and after is not None:
            self.left = tuple(late - early for early, late in zip(before, after, strict=True))
        if message:
            raise Misuse(f"{self._function.name}: {message}")
        if int(pending):
            raise Misuse(
                f"{self._function.name} returns with the error {getattr(pending, 'name', pending)} "
                f"({int(pending)}) pending: {text}"
            )

    def strays(self, changed: Callable[[], bool]) -> bool | None:
        """Whether the launcher's work does not wait for its stream.

        It is called again while the stream is held. If its buffers have ``changed`` before the stream goes on, the work
        was elsewhere. ``None`` where that cannot be told, because the launcher waits for the stream itself. Raises
        ``HipError`` for a fault of a kernel.
        """
        device, held = self._device, holding(self._device)
        device.synchronize()
        if not held.hold(self._stream):
            return None
        try:
            self._call(*self._values)
            early = changed()
            if not early:
                time.sleep(_MOMENT)
                early = changed()
        finally:
            stood_still = held.release()
        device.synchronize(self._what)
        return early if stood_still else None


@cache
def holding(device: Device) -> HoldingRuntime:
    """What can hold streams of ``device``: its runtime, or else a host function."""
    return device.runtime if isinstance(device.runtime, HoldingRuntime) else HostFunctionHold(device)


class HostFunctionHold:
    """Holds a stream of ``device`` by a host function that waits; see the module's text.

    The function is the C library's ``fgetc`` on a socket, which gives up after ``HELD_SECONDS``. A Python function
    would not do: hip-python 7.2 keeps the interpreter's lock while it waits for the device, so that it could never end.
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
        """See ``HoldingRuntime``. The device has to be idle."""
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
