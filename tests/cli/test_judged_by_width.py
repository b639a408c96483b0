"""A port whose kernels that only move elements are written by width: one for each of Candle's of that width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.targets import AmdError, target

FILL = """
#include <hip/hip_runtime.h>
typedef unsigned int u32;
extern "C" __global__ void fill_b4(u32 *buf, u32 value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) buf[i] = value;
}
extern "C" __global__ void copy2d_b4(const void *src, void *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d1 * d2) return;
  const u32 row = i / d2, column = i % d2;
  static_cast<u32 *>(dst)[row * dst_s + column] = static_cast<const u32 *>(src)[row * src_s + column];
}
extern "C" __global__ void copy2d_f64(const u32 *src, u32 *dst, u32 d1, u32 d2, u32 src_s, u32 dst_s) {}
"""
NAMES = '[names]\n"fill_f32" = "fill_b4"\n"copy2d_f32" = "copy2d_b4"\n"copy2d_u32" = "copy2d_b4"\n'
MOVED = ("fill_f32", "copy2d_f32", "copy2d_u32")
RUNTIMES = {"cpu": (), "isa": ("--arch", "gfx942")}


@pytest.mark.slow("compiles a small port, for the host and for gfx942")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_one_kernel_of_a_width_is_each_of_candles_that_it_is_named_for(cli: Any, port: Any, runtime: str) -> None:
    """A scalar too: a float by value is the same bytes of the argument segment as the integer that holds its bits."""
    if runtime == "isa":
        try:
            find_toolchain([target("gfx942")])
        except AmdError as missing:
            pytest.skip(f"NOT COMPILED FOR AMD TARGETS: {missing}")
    folder: Path = port(FILL, "fill.hip")
    (folder / "candle-parity.toml").write_text(NAMES)
    words = ("run", "--runtime", runtime, *RUNTIMES[runtime], "--kernels", folder, "-j", "1")
    said = cli(*words, *MOVED, "copy2d_f64")
    rows = {name: said.kernel(name) for name in (*MOVED, "copy2d_f64")}
    assert {name: (rows[name]["status"], rows[name]["port_name"]) for name in MOVED} == {
        "fill_f32": ("pass", "fill_b4"),
        "copy2d_f32": ("pass", "copy2d_b4"),
        "copy2d_u32": ("pass", "copy2d_b4"),
    }
    # A code object does not have the types that pointers point to: there the answers tell.
    assert rows["copy2d_f64"]["status"] == ("signature" if runtime == "cpu" else "fail")


def test_check_counts_such_a_kernel_under_each_name(cli: Any, port: Any) -> None:
    folder = port(FILL, "fill.hip")
    (folder / "candle-parity.toml").write_text(NAMES)
    said = cli("check", "--kernels", folder, *MOVED, "copy2d_f64")
    assert "4 of Candle's 748 kernels by name, 3 with Candle's parameters; 2 findings" in said.out
    assert "copy2d_f64 parameter 1 is const unsigned int *src, Candle's is f64* src" in said.out


def test_two_kernels_that_compute_are_never_one(cli: Any, port: Any) -> None:
    folder = port(FILL, "fill.hip")
    (folder / "candle-parity.toml").write_text('[names]\n"uneg_f32" = "mine"\n"uexp_f32" = "mine"\n')
    said = cli("check", "--kernels", folder)
    assert said.code == 2
    assert "names: mine is ambiguous: it would be both" in said.err
