"""What the cuda runtime's libraries are built from: its own sources, and what it shares with the cpu runtime."""

from __future__ import annotations

from pathlib import Path

from conformance.runtimes.cpu.build import HERE as CPU
from conformance.runtimes.cpu.build import Plan

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"

_SHARED_HEADERS = (
    *(CPU / "runtime" / "error.h", CPU / "runtime" / "properties.h"),
    CPU / "hiprtc" / "program.h",
)
_DRIVER = HERE / "runtime" / "driver.cpp"


def cuda_plan() -> Plan:
    """``libamdhip64`` over the driver and ``libhiprtc`` over NVRTC; no CUDA is needed to build them."""
    return Plan(
        runtime="cuda",
        sources={
            "libamdhip64.so": (HERE / "runtime", CPU / "runtime" / "error.cpp"),
            "libhiprtc.so": (HERE / "hiprtc", _DRIVER, CPU / "hiprtc" / "api.cpp"),
        },
        words=(f"-I{CPU / 'runtime'}", f"-I{CPU / 'hiprtc'}"),
        headers=_SHARED_HEADERS,
    )
