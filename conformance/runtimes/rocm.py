"""AMD's own runtime library, as installed."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any


class RocmRuntime:
    """ROCm's libamdhip64 and libhiprtc; hip-python finds them by name once they are loaded."""

    name = "rocm"
    guards_memory = False
    on_host = False
    description = "ROCm"

    def __init__(self) -> None:
        self.compile_options = include_options()
        self.identity = f"rocm {_load('libamdhip64.so')} {_load('libhiprtc.so')}"

    def set_order(self, order: str) -> None:
        """A GPU schedules its threads itself."""

    def confine(self) -> str:
        raise RuntimeError("kernels run on the GPU")

    def weakened(self) -> tuple[str, ...]:
        """Which of the runtime's own checks are off: it has none."""
        return ()

    def message(self) -> str:
        return ""

    def module_kernels(self, handle: int) -> list[dict[str, Any]] | None:
        return None


def library_folders() -> list[str]:
    """Where ROCm's libraries may lie: the user's LD_LIBRARY_PATH, ROCM_PATH, /opt/rocm."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [folder for folder in (*folders, f"{os.environ.get('ROCM_PATH', '/opt/rocm')}/lib") if folder]


def include_options() -> tuple[str, ...]:
    """The option with which hiprtc finds ``hip/hip_runtime.h``, which kernels include though hiprtc has it built in."""
    folder = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "include"
    return (f"-I{folder}",) if (folder / "hip" / "hip_runtime.h").is_file() else ()


def _load(name: str) -> str:
    """Load ``name`` for everybody in this process; the path that was taken, with its modification time."""
    for folder in library_folders():
        path = Path(folder) / name
        if path.exists():
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            return f"{path.resolve()} {path.stat().st_mtime_ns}"
    ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    return name
