"""A kernel that is compiled for smaller blocks than Candle launches: no GPU runs it, and neither does the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.targets import AmdError, target

LIMITED = """
#include <hip/hip_runtime.h>
#define FILL(T, name, limit)                                                                        \\
  extern "C" __global__ void limit fill_##name(T *buf, T value, const size_t numel) {               \\
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)  \\
      buf[i] = value;                                                                               \\
  }
FILL(float, f32, __launch_bounds__(256))
FILL(double, f64, __launch_bounds__(1024))
FILL(unsigned char, u8, __attribute__((amdgpu_flat_work_group_size(1, 512))))
FILL(unsigned int, u32, __attribute__((amdgpu_waves_per_eu(1, 1))))
FILL(long, i64, )
"""
NAMES = ("fill_f32", "fill_f64", "fill_u8", "fill_u32", "fill_i64")
RUNTIMES = {"cpu": (), "isa": ("--arch", "gfx942")}
# LLVM's AMDGPU usage: amdgpu-waves-per-eu bounds registers; without another attribute blocks have up to 1,024 threads.
STATUSES = {"fill_f32": "crash", "fill_f64": "pass", "fill_u8": "crash", "fill_u32": "pass", "fill_i64": "pass"}


@pytest.fixture
def amd() -> None:
    try:
        find_toolchain([target("gfx942")])
    except AmdError as missing:
        pytest.skip(f"NOT COMPILED FOR AMD TARGETS: {missing}")


def judged(cli: Any, folder: Path, runtime: str) -> Any:
    return cli("run", "--runtime", runtime, *RUNTIMES[runtime], "--kernels", folder, "-j", "1", *NAMES)


@pytest.mark.slow("compiles a small port, for the host and for gfx942")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_block_beyond_the_limit_of_the_source_is_refused(cli: Any, port: Any, amd: None, runtime: str) -> None:
    said = judged(cli, port(LIMITED, "fill.hip"), runtime)
    assert {name: said.kernel(name)["status"] for name in NAMES} == STATUSES
    why = said.kernel("fill_f32")["failures"][0]["why"]
    assert "block (1024,1,1): it was compiled for at most 256 threads" in why
    assert "was compiled for at most 512 threads" in said.kernel("fill_u8")["failures"][0]["why"]


def test_check_reads_the_limits_of_code_objects(cli: Any, port: Any, amd: None) -> None:
    folder = port(LIMITED, "fill.hip")
    words = ("check", "--kernels", folder, "--arch", "gfx942", "--partial", *NAMES)
    said = cli(*words)
    assert said.code == 1
    assert "block_limit (2): smaller blocks than the kernel is launched with" in said.out
    expected = (
        "fill_f32 allows blocks of at most 256 threads (max_flat_workgroup_size), Candle launches 1024; raise its"
    )
    assert expected in said.out
    assert "fill_u8 allows blocks of at most 512 threads" in said.out
    # Blocks of the port's own are what counts, where it declares them.
    (folder / "candle-parity.toml").write_text('[[launch]]\nkernels = "fill_*"\nblock = [256]\n')
    assert "block_limit" not in cli(*words).out
