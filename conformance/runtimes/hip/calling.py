"""Calls of linked launchers: host functions by ctypes, and what they must not do told from what the runtime says."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from conformance.runtimes.hip.device import Device, Function
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.hip.holding import holding
from conformance.runtimes.kind import LauncherRuntime

SLOT = 8
"""Bytes of an argument in a message."""

_MOMENT = 0.002
"""Seconds that other streams have for what a launcher gives them."""


class Misuse(Exception):
    """A launcher that ended and did what it must not do; the message says what."""


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
"""What a launcher's arguments are passed as, by dtype; ``*`` for pointers."""


class PreparedCall:
    """A call of a host function whose buffers lie on the device already.

    ``function.handle`` is its address, ``types`` are keys of ``_C_TYPES``, ``slots`` the eight bytes of each argument,
    ``None`` for the stream.
    """

    def __init__(
        self, device: Device, function: Function, types: Sequence[str], slots: Sequence[bytes | None], what: str
    ) -> None:
        self._device, self._function, self._what = device, function, what
        kinds = [_C_TYPES[name] for name in types]
        self._call = ctypes.CFUNCTYPE(None, *kinds)(function.handle)
        stream = device.stream()
        self._stream = stream
        given = [stream.to_bytes(SLOT, "little") if slot is None else slot for slot in slots]
        self._pointers = [
            int.from_bytes(slot, "little") if name == "*" and slot is not None else None
            for name, slot in zip(types, slots, strict=True)
        ]
        self.left: tuple[int, ...] | None = None
        """What the call left behind, in the numbers of ``LauncherRuntime.live``; ``None`` where that cannot be told."""
        self._values = [kind.from_buffer_copy(slot) for kind, slot in zip(kinds, given, strict=True)]

    def start(self) -> None:
        """Call, and look at nothing."""
        self._call(*self._values)

    def run(self) -> None:
        """Call, wait, and look at the last error: a launcher returns nothing.

        Raises ``HipError`` for a fault of a kernel, and ``Misuse`` for work on another stream and for an error that is
        left pending.
        """
        device, runtime = self._device, cast(LauncherRuntime, self._device.runtime)
        device.synchronize()  # the stream waits for no copy and no other one
        device.hip.hipGetLastError()  # of whoever came before
        before = runtime.live()
        runtime.begin_call(self._stream, self._pointers)
        self._call(*self._values)
        pending = device.hip.hipGetLastError()[0]
        text = device.detail(pending) if int(pending) else ""
        fault, said = runtime.end_call()
        if fault:
            raise HipError("hipLaunchKernel", fault, device.hip.hipError_t(fault).name, self._function.name, said)
        device.synchronize(self._what)
        after = runtime.live()
        if before is not None and after is not None:
            self.left = tuple(late - early for early, late in zip(before, after, strict=True))
        if said:
            raise Misuse(f"{self._function.name}: {said}")
        if int(pending):
            raise Misuse(
                f"{self._function.name} returns with the error {getattr(pending, 'name', pending)} "
                f"({int(pending)}) pending: {text}"
            )

    def strays(self, changed: Callable[[], bool]) -> bool | None:
        """Whether the launcher does work that does not wait for its stream: it is called a second time, with the stream
        held, and then its buffers have ``changed``. ``None`` where that cannot be told: it waits for the stream itself.

        Raises ``HipError`` for a fault of a kernel.
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
            told = held.release()
        device.synchronize(self._what)
        return early if told else None
