"""The HIP runtime library under hip-python: AMD's where there is an AMD GPU, ours for the host elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from typing import Any, Protocol

from conformance.runtimes.rocm import RocmRuntime


class Runtime(Protocol):
    """What the harness needs of a runtime beside the HIP API.

    ``identity`` goes into the keys of the compile cache. ``compile_options`` go to every compilation.
    ``guards_memory`` says that the runtime itself catches accesses outside an allocation and survives them, ``on_host``
    that kernels run in the process that launches them, which ``confine`` then confines for good.
    """

    name: str
    identity: str
    guards_memory: bool
    on_host: bool
    compile_options: tuple[str, ...]

    @property
    def description(self) -> str: ...

    def set_order(self, order: str) -> None: ...

    def message(self) -> str: ...

    def confine(self) -> str: ...

    def weakened(self) -> tuple[str, ...]: ...

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None: ...


class NoRuntime(RuntimeError):
    """A runtime that was asked for and is not to be had here; the message says why and what there is."""


def chosen_runtime(name: str) -> str:
    """``auto`` as what it means here: ``rocm`` where AMD's library finds a GPU, else ``cpu``. Raises ``NoRuntime``."""
    if name == "auto":
        return "rocm" if amd_devices() else "cpu"
    if name == "rocm" and not amd_devices():
        raise NoRuntime(
            "no AMD GPU was found through ROCm's libamdhip64.so; --runtime cpu runs the kernels on the host"
        )
    if name == "cuda":
        from conformance.runtimes.cuda.control import nvidia_devices

        devices, why = nvidia_devices()
        if not devices:
            raise NoRuntime(f"the cuda runtime has no GPU: {why}; --runtime cpu runs the kernels on the host")
    return name


def device_count(name: str) -> int:
    """How many devices ``name`` has."""
    if name == "cuda":
        from conformance.runtimes.cuda.control import nvidia_devices

        return nvidia_devices()[0]
    return amd_devices() if name == "rocm" else 1


def open_runtime(name: str, wave: int | None = None, threads: int | None = None) -> Runtime:
    """Load the runtime library into this process, before hip-python looks for one. Raises ``NoRuntime``."""
    if name == "cuda":  # says itself what is missing
        from conformance.runtimes.cuda.control import NoCuda, open_cuda_runtime

        try:
            return open_cuda_runtime()
        except NoCuda as error:
            raise NoRuntime(
                f"the cuda runtime cannot run: {error}; --runtime cpu runs the kernels on the host"
            ) from None
    if chosen_runtime(name) == "rocm":
        return RocmRuntime()
    from conformance.runtimes.cpu.control import open_cpu_runtime

    return open_cpu_runtime(wave or 64, threads)


_PROBE = """
import ctypes
library = ctypes.CDLL("libamdhip64.so")
count = ctypes.c_int(0)
failed = library.hipGetDeviceCount(ctypes.byref(count))
ours = hasattr(library, "hipcpuLastMessage") or hasattr(library, "hipcudaLastMessage")
print(0 if failed or ours else count.value)
"""


@lru_cache(maxsize=1)
def amd_devices() -> int:
    """How many AMD GPUs ROCm sees; asked in a process of its own, so that AMD's library stays out of this one."""
    from conformance.runtimes.rocm import library_folders

    # With the user's own HIP_VISIBLE_DEVICES and the like.
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(library_folders())}
    try:
        answer = subprocess.run(
            [sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=60, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(answer.stdout) if answer.returncode == 0 and answer.stdout.strip().isdigit() else 0
