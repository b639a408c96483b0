"""A repository with a port of two kernels that are right and one that is not."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PORT = """#include <hip/hip_runtime.h>
#define FILL(name, T)                                                                                           \\
  extern "C" __global__ void name(T *buf, T value, size_t numel) {                                              \\
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x) \\
      buf[i] = value;                                                                                           \\
  }
FILL(fill_u32, unsigned)
FILL(fill_f32, float)
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) { buf[0] = value; }
"""


def small_port(folder: Path) -> None:
    """Kernels in ``port``, a test in ``tests``."""
    (folder / "port").mkdir()
    (folder / "port" / "fill.hip").write_text(PORT)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_own.py").write_text("def test_own():\n    pass\n")


def declare(folder: Path, kernels: str = "port", more: str = "") -> None:
    """Declare the port in ``pyproject.toml``, with ``more`` after the table."""
    table = f'[tool.candle-parity]\nkernels = "{kernels}"\n'
    (folder / "pyproject.toml").write_text(f"{table}{more}")
