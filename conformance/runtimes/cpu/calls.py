"""Calls of launchers that a runtime on the host watches; the cpu and the isa runtime export the same functions."""

from __future__ import annotations

import ctypes


class WatchedCalls:
    """A part of ``LauncherRuntime``, over the ``library`` of the runtime."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.hipcpuBeginCall.restype = None
        library.hipcpuBeginCall.argtypes = [ctypes.c_void_p]
        library.hipcpuEndCall.restype = ctypes.c_char_p
        library.hipcpuEndCall.argtypes = [ctypes.POINTER(ctypes.c_int)]
        self._watching = library

    def begin_call(self, stream: int) -> None:
        """See ``LauncherRuntime``."""
        self._watching.hipcpuBeginCall(stream)

    def end_call(self) -> tuple[int, str]:
        """See ``LauncherRuntime``."""
        code = ctypes.c_int()
        said = self._watching.hipcpuEndCall(ctypes.byref(code))
        return code.value, (said or b"").decode(errors="replace")
