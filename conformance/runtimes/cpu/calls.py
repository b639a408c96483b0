"""Calls of launchers that a runtime on the host watches; the cpu and the isa runtime export the same functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

_LIVE = 6
"""The numbers that ``hipcpuLive`` gives."""


class WatchedCalls:
    """A part of ``LauncherRuntime``, over the ``library`` of the runtime."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.hipcpuBeginCall.restype = None
        library.hipcpuBeginCall.argtypes = [ctypes.c_void_p]
        library.hipcpuKeepFromHost.restype = None
        library.hipcpuEndCall.restype = ctypes.c_char_p
        library.hipcpuEndCall.argtypes = [ctypes.POINTER(ctypes.c_int)]
        library.hipcpuLive.restype = None
        self._watching = library

    def begin_call(self, stream: int, pointers: Sequence[int | None] = ()) -> None:
        """See ``LauncherRuntime``."""
        self._watching.hipcpuBeginCall(stream)
        given = (ctypes.c_void_p * len(pointers))(*pointers)
        self._watching.hipcpuKeepFromHost(given, len(pointers))

    def end_call(self) -> tuple[int, str]:
        """See ``LauncherRuntime``."""
        code = ctypes.c_int()
        said = self._watching.hipcpuEndCall(ctypes.byref(code))
        return code.value, (said or b"").decode(errors="replace")

    def live(self) -> tuple[int, ...]:
        """See ``LauncherRuntime``."""
        values = (ctypes.c_ulong * _LIVE)()
        self._watching.hipcpuLive(values)
        return tuple(values)
