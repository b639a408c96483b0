"""The cuda runtime as the harness handles it: loaded before hip-python, over NVIDIA's driver and NVRTC."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.runtimes.cpu.build import build, content_hash
from conformance.runtimes.cuda.build import INCLUDE, cuda_plan, prepare_cuda
from conformance.runtimes.cuda.search import header_folders
from conformance.runtimes.hip.binding import bind
from conformance.runtimes.kind import OnDevice


class NoCuda(RuntimeError):
    """No driver, no GPU, no NVRTC or too old ones; the message says which and what to do."""


class CudaRuntime(OnDevice):
    """The runtime library of this process; see ``conformance.runtimes.Runtime`` for what the attributes mean.

    A kernel that faults takes the device's context with it, and so the process's use of the device.
    """

    compile_options: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.library = folder / "libamdhip64.so"
        self._library, compiler = open_cuda_libraries(folder)
        self._library.hipcudaLastMessage.restype = ctypes.c_char_p
        self._library.hipcudaModuleKernels.restype = ctypes.c_char_p
        self._library.hipcudaModuleKernels.argtypes = [ctypes.c_void_p]
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
        version = self._library.hipcudaDriverVersion()
        return f"cuda runtime, driver for CUDA {version // 1000}.{version % 1000 // 10}, {self.compiler.split(' (')[0]}"

    def message(self) -> str:
        """What the last failed call has to say: kernel, launch geometry and cause."""
        return (self._library.hipcudaLastMessage() or b"").decode(errors="replace")

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        """The kernels of a loaded module: name and parameters' sizes in bytes, types unknown; ``None`` where the
        driver cannot tell (before CUDA 12.4)."""
        text = self._library.hipcudaModuleKernels(handle)
        if text is None:
            return None
        rows = json.loads(text.decode())
        return [
            {"name": row["name"], "line": None, "params": [{"type": None, "size": size} for size in row["params"]]}
            for row in rows
        ]


def open_cuda_libraries(folder: Path) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """Load the runtime's libamdhip64 and libhiprtc of ``folder``, for hip-python too."""
    hip, rtc = folder / "libamdhip64.so", folder / "libhiprtc.so"
    opened = [ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL) for path in (hip, rtc)]
    bind(hip, rtc)
    return opened[0], opened[1]


def open_cuda_runtime() -> CudaRuntime:
    """Build where needed, load, look for driver and NVRTC. Raises ``NoCuda``, ``NoCompiler``, ``BuildError`` and
    ``InfrastructureError``."""
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
    """How many GPUs NVIDIA's driver shows, and why there are none; asked in a process of its own, so that the driver
    stays out of this one. Raises ``NoCompiler`` and ``BuildError``."""
    library = build(cuda_plan()) / "libamdhip64.so"
    words = [sys.executable, "-P", "-c", _PROBE, str(library)]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
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
