"""AMD's own runtime library in this process."""

from __future__ import annotations

import ctypes
from typing import Any

from conformance.runtimes.hip.binding import bind
from conformance.runtimes.hip.host_libraries import HostLibraries
from conformance.runtimes.kind import OnDevice
from conformance.runtimes.rocm.search import Installation, chosen


class NoRocm(RuntimeError):
    """There is no library of ROCm, or it cannot be opened. The message says which, and what to do."""


class RocmRuntime(OnDevice, HostLibraries):
    """ROCm's libamdhip64 and libhiprtc in this process: those of ``installation``, or the first that is found.

    No device is asked for. Raises ``NoRocm`` where there is none or it cannot be opened.
    """

    description = "ROCm"

    def __init__(self, installation: Installation | None = None) -> None:
        HostLibraries.__init__(self)
        used = installation or chosen()
        if used is None or used.rtc is None:
            raise NoRocm(lacking(used))
        self.installation = used
        self.library = used.hip
        hip = _opened(str(used.hip))
        _opened(str(used.rtc))
        bind(used.hip, used.rtc)
        number = ctypes.c_int()
        hip.hipRuntimeGetVersion(ctypes.byref(number))
        self.version = shown_version(number.value)
        self.compile_options: tuple[str, ...] = () if used.include is None else (f"-I{used.include}",)
        self.identity = f"rocm HIP {self.version} {used.identity()}"

    def message(self) -> str:
        return ""

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        return None


def lacking(installation: Installation | None) -> str:
    """Why ``installation`` cannot be opened, as far as its files show; "" where nothing speaks against it."""
    if installation is None:
        return "no libamdhip64.so was found; install ROCm, or set ROCM_PATH to where it is"
    return (
        "" if installation.rtc else f"there is no libhiprtc.so next to {installation.hip}; install ROCm's hiprtc there"
    )


def shown_version(number: int) -> str:
    """``7.2.53211`` of HIP's 70253211: major * 10,000,000 + minor * 100,000 + patch (hip_version.h)."""
    major, rest = divmod(number, 10_000_000)
    minor, patch = divmod(rest, 100_000)
    return f"{major}.{minor}.{patch}"


def _opened(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise NoRocm(f"{path} cannot be opened ({error}); install what it needs, or the whole of ROCm again") from None
