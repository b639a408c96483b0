"""Shared libraries with a port's launchers, loaded into this process next to the runtime's libamdhip64."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from collections.abc import Sequence

from conformance.runtimes.hip.errors import NOT_SUPPORTED, HipError

_UNDEFINED = re.compile(r"undefined symbol: (?P<name>\w+)")
_OF_RUNTIME = re.compile(r"_*(?:hip|cuda)[A-Z]")
"""How functions of a runtime are called, whose absence is none of the port's doing."""

_SYMBOL_NOT_FOUND, _INIT_FAILED = 302, 303


class HostLibraries:
    """The base of runtimes that load launchers as shared libraries and cannot tell what a launcher does
    (``LauncherRuntime``).

    The libraries find the functions of HIP in this process, so they must not be linked with another libamdhip64.
    """

    def __init__(self) -> None:
        self._loaded: list[ctypes.CDLL] = []
        self._numbers: dict[bytes, int] = {}

    def load_launchers(self, code: bytes, what: str) -> int:
        """See ``LauncherRuntime``; each content is loaded once."""
        digest = hashlib.sha256(code).digest()
        if digest in self._numbers:
            return self._numbers[digest]
        descriptor = os.memfd_create("launchers", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{descriptor}"
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(code)
            self._loaded.append(ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL))
        except OSError as error:
            os.close(descriptor)
            raise _refusal(str(error).removeprefix(f"{path}: "), what) from None
        # The file stays open: dlopen goes by the path, and the next file must not have the same.
        self._numbers[digest] = len(self._loaded) - 1
        return self._numbers[digest]

    def symbol(self, loaded: int, name: str) -> int | None:
        """See ``LauncherRuntime``."""
        try:
            return ctypes.cast(getattr(self._loaded[loaded], name), ctypes.c_void_p).value
        except AttributeError:
            return None

    def begin_call(self, stream: int, pointers: Sequence[int | None] = ()) -> None:
        """See ``LauncherRuntime``; what is done with the stream is not seen."""

    def end_call(self) -> tuple[int, str]:
        """See ``LauncherRuntime``."""
        return 0, ""

    def live(self) -> tuple[int, ...] | None:
        """See ``LauncherRuntime``; what a library allocates is not seen."""
        return None


def _refusal(why: str, what: str) -> HipError:
    undefined = _UNDEFINED.search(why)
    if undefined is None:
        return HipError("dlopen", _INIT_FAILED, "hipErrorSharedObjectInitFailed", what, why)
    if _OF_RUNTIME.match(undefined["name"]):
        return HipError(
            "dlopen", NOT_SUPPORTED, "hipErrorNotSupported", what, f"the runtime has no {undefined['name']}"
        )
    return HipError("dlopen", _SYMBOL_NOT_FOUND, "hipErrorSharedObjectSymbolNotFound", what, why)
