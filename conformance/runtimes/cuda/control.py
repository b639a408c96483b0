"""The cuda runtime as the harness handles it: loaded before hip-python, over NVIDIA's driver and NVRTC."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.runtimes.cpu.build import build, content_hash
from conformance.runtimes.cuda.build import INCLUDE, cuda_plan, header_folders, prepare_cuda
from conformance.runtimes.hip.binding import bind
from conformance.runtimes.hip.errors import NOT_SUPPORTED, HipError
from conformance.runtimes.hip.host_libraries import HostLibraries
from conformance.runtimes.kind import OnDevice

_HELD_MILLISECONDS = 500
_OF_THE_MACHINE = (35, 100, 803, 804)
"""Errors of CUDA's runtime that say that it cannot use the driver or finds no device."""


class NoCuda(RuntimeError):
    """There is no driver, GPU or NVRTC, or it is too old. The message says which, and what to do."""


class CudaRuntime(HostLibraries, OnDevice):
    """The cuda runtime in this process. ``conformance.runtimes.kind.Runtime`` says what the attributes mean.

    A kernel that faults destroys the device's context, so this process can no longer use the device. Launchers call
    CUDA's own runtime, which is in their library; it uses the context that is current here.
    """

    compile_options: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.library = folder / "libamdhip64.so"
        self._library, compiler = open_cuda_libraries(folder)
        self._library.hipcudaLastMessage.restype = ctypes.c_char_p
        self._library.hipcudaModuleKernels.restype = ctypes.c_char_p
        self._library.hipcudaModuleKernels.argtypes = [ctypes.c_void_p]
        self._library.hipcudaHold.argtypes = [ctypes.c_void_p, ctypes.c_uint]
        compiler.hipcudaCompiler.restype = ctypes.c_char_p
        if self._library.hipInit(0):
            raise NoCuda(self.message())
        usable = ctypes.c_int()
        self.compiler = str(compiler.hipcudaCompiler(ctypes.byref(usable)).decode(errors="replace"))
        if not usable.value:
            raise NoCuda(self.compiler)
        self.identity = f"cuda {folder.name} {self.compiler} {content_hash(INCLUDE)[:16]} {_header_identity()}"

    @property
    def description(self) -> str:
        """The version of CUDA that the driver supports, and the compiler, in words."""
        version = self._library.hipcudaDriverVersion()
        return f"cuda runtime, driver for CUDA {version // 1000}.{version % 1000 // 10}, {self.compiler.split(' (')[0]}"

    def message(self) -> str:
        """The runtime's message about the last failed call: kernel, launch geometry and cause."""
        return (self._library.hipcudaLastMessage() or b"").decode(errors="replace")

    def load_launchers(self, code: bytes, what: str) -> int:
        """See ``LauncherRuntime``."""
        number = super().load_launchers(code, what)
        error, name, text = self._take_error(self._loaded[number])
        if error in _OF_THE_MACHINE:
            raise HipError(
                "dlopen",
                NOT_SUPPORTED,
                "hipErrorNotSupported",
                what,
                f"the CUDA runtime that nvcc linked it with says {name}, {text}: the driver may be older than nvcc; "
                "update the driver, or name an nvcc of its release in CANDLE_PARITY_NVCC",
            )
        return number

    def begin_call(self, stream: int, pointers: Sequence[int | None] = ()) -> None:
        """See ``LauncherRuntime``."""
        self._pending_errors()

    def end_call(self) -> tuple[int, str]:
        """See ``LauncherRuntime``; a kernel's fault shows when the device is waited for."""
        return 0, next(
            (
                f"returns with the error {name} ({error}) pending: {text}"
                for error, name, text in self._pending_errors()
            ),
            "",
        )

    def hold(self, stream: int) -> bool:
        """See ``HoldingRuntime``."""
        return not self._library.hipcudaHold(stream, _HELD_MILLISECONDS)

    def release(self) -> bool:
        """See ``HoldingRuntime``."""
        return bool(self._library.hipcudaRelease())

    def _pending_errors(self) -> list[tuple[int, str, str]]:
        """What the CUDA runtimes of all loaded libraries have as last errors, which are cleared."""
        return [found for library in self._loaded if (found := self._take_error(library))[0]]

    @staticmethod
    def _take_error(library: ctypes.CDLL) -> tuple[int, str, str]:
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        error = int(library.candle_parity_take_error(ctypes.byref(name), ctypes.byref(text)))
        return error, (name.value or b"").decode(errors="replace"), (text.value or b"").decode(errors="replace")

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        """The kernels of a loaded module: names, and the sizes of parameters in bytes; their types are not known.

        ``None`` where the driver cannot tell (before CUDA 12.4).
        """
        text = self._library.hipcudaModuleKernels(handle)
        if text is None:
            return None
        rows = json.loads(text.decode())
        return [
            {"name": row["name"], "line": None, "params": [{"type": None, "size": size} for size in row["params"]]}
            for row in rows
        ]


def open_cuda_libraries(folder: Path) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """Load libamdhip64 and libhiprtc of the cuda runtime from ``folder``, so that hip-python finds them."""
    hip, rtc = folder / "libamdhip64.so", folder / "libhiprtc.so"
    opened = [ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL) for path in (hip, rtc)]
    bind(hip, rtc)
    return opened[0], opened[1]


def open_cuda_runtime() -> CudaRuntime:
    """Build the libraries if needed, load them, and look for driver and NVRTC.

    Raises ``NoCuda``, ``NoCompiler``, ``BuildError`` and ``InfrastructureError``.
    """
    return CudaRuntime(prepare_cuda())


_PROBE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.hipcudaLastMessage.restype = ctypes.c_char_p
count = ctypes.c_int(0)
failed = library.hipGetDeviceCount(ctypes.byref(count))
print(count.value, library.hipcudaLastMessage().decode(errors="replace") if failed else "")
"""


@lru_cache(maxsize=1)
def nvidia_devices() -> tuple[int, str]:
    """The number of GPUs that NVIDIA's driver shows, and why there is none.

    It is asked in a process of its own, so that the driver is not loaded into this one. Raises ``NoCompiler`` and
    ``BuildError``.
    """
    library = build(cuda_plan()) / "libamdhip64.so"
    command = [sys.executable, "-P", "-c", _PROBE, str(library)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return 0, "NVIDIA's driver did not answer within two minutes"
    count, _, why = answer.stdout.partition(" ")
    if answer.returncode or not count.isdigit():
        last = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        return 0, f"asking NVIDIA's driver for its devices failed with exit code {answer.returncode}: {last}"
    return int(count), why.strip() or ("" if int(count) else "NVIDIA's driver shows no device")


def _header_identity() -> str:
    """Names the toolkit headers that a source may include: path and the version header's content."""
    folders = header_folders()
    versions = [folder / "cuda_runtime_api.h" for folder in folders[:1]]
    return " ".join(f"{file} {file.stat().st_mtime_ns}" for file in versions if file.is_file())
