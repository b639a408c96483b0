"""What the cuda runtime's libraries are built from: its own sources, and what it shares with the cpu runtime."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.runtimes.cpu.build import HERE as CPU
from conformance.runtimes.cpu.build import INCLUDE as CPU_INCLUDE
from conformance.runtimes.cpu.build import Plan, build
from conformance.runtimes.cuda.search import header_folders, nvrtc_candidates

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"

_SHARED_HEADERS = (
    *(CPU / "runtime" / name for name in ("api.h", "error.h")),
    CPU_INCLUDE / "simt" / "properties.h",
    CPU / "hiprtc" / "program.h",
)
_DRIVER = HERE / "runtime" / "driver.cpp"


def cuda_plan() -> Plan:
    """``libamdhip64`` over the driver and ``libhiprtc`` over NVRTC; no CUDA is needed to build them."""
    return Plan(
        runtime="cuda",
        sources={
            "libamdhip64.so": (HERE / "runtime", *(CPU / "runtime" / name for name in ("common_api.cpp", "error.cpp"))),
            "libhiprtc.so": (
                *(HERE / "hiprtc", _DRIVER),
                *(CPU / "hiprtc" / name for name in ("api.cpp", "program_common.cpp")),
            ),
        },
        words=(f"-I{CPU / 'runtime'}", f"-I{CPU / 'hiprtc'}", f"-I{CPU_INCLUDE}"),
        headers=_SHARED_HEADERS,
    )


def prepare_cuda() -> Path:
    """The folder with both libraries, built where needed; where NVRTC and the headers are is handed to libhiprtc
    through the environment. Raises ``NoCompiler``, ``BuildError`` and ``InfrastructureError``.
    """
    folder = build(cuda_plan())
    os.environ["HIPCUDA_NVRTC"] = ":".join(map(str, nvrtc_candidates()))
    os.environ["HIPCUDA_INCLUDE"] = ":".join(map(str, (INCLUDE, INCLUDE / "std", *header_folders())))
    return folder
