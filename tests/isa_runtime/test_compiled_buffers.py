"""Kernels that reach memory as buffers: arrays of a thread, spilled registers, and pointers that are given a range."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.port.amd_cache import compile_cached
from conformance.port.code_objects import parse
from conformance.toolchains.amd import AmdToolchain
from conformance.toolchains.targets import targets_of
from tests.isa_runtime.test_isa_command import FILL, default_target, judged, port, toolchain

__all__ = ["default_target", "port", "toolchain"]

TARGETS = ("gfx90a", "gfx906", "gfx1030")
ARRAY = """
    float kept[32];
    for (int n = 0; n < 32; ++n) kept[n] = n == int(i & 31) ? value : value + 1;
    asm volatile("" :: "v"(kept) : "memory");
    value = kept[INDEX];
"""
SPILLED = """
    int v[160];
    #pragma unroll
    for (int n = 0; n < 160; ++n) asm volatile("v_mov_b32 %0, %1" : "=v"(v[n]) : "v"(int(i) ^ n));
    int wrong = 0;
    #pragma unroll
    for (int n = 0; n < 160; ++n) asm volatile("v_or_b32 %0, %1, %0" : "+v"(wrong) : "v"(v[n] ^ n ^ int(i)));
    if (wrong) value += 1;
"""

RANGE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  const int bytes = numel ? int(4 * numel) + MORE : 0;
  const __amdgpu_buffer_rsrc_t range = __builtin_amdgcn_make_buffer_rsrc(buf, 0, bytes, FLAGS);
  const int all = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < int(numel) + all; i += all)
    __builtin_amdgcn_raw_buffer_store_b32(__float_as_uint(value), range, 4 * i, 0, 0);
}
"""
FLAGS = {"gfx942": "0x27000", "gfx1030": "0x31014000", "gfx1100": "0x31004000", "gfx1201": "0x31004000"}
"""As LLVM's tests and ports have them."""


@pytest.mark.nightly("compiles for AMD targets and interprets the code, per target and mistake")
@pytest.mark.parametrize("target", TARGETS)
def test_an_array_has_what_was_stored(toolchain: AmdToolchain, port: Path, tmp_path: Path, target: str) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", ARRAY.replace("INDEX", "i & 31")))
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert (kernel["status"], kernel["failed"], kernel["cases"] > 5) == ("pass", 0, True), kernel["message"]


@pytest.mark.nightly("compiles for AMD targets and interprets the code, per target and mistake")
@pytest.mark.parametrize("target", TARGETS)
def test_another_element_is_another_value(toolchain: AmdToolchain, port: Path, tmp_path: Path, target: str) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", ARRAY.replace("INDEX", "(i + (i == 7)) & 31")))
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert kernel["status"] == "fail"
    assert "out[7]" in kernel["failures"][0]["why"] or "buf[7]" in kernel["failures"][0]["why"]


@pytest.mark.nightly("compiles for AMD targets and interprets the code, per target and mistake")
@pytest.mark.parametrize("target", TARGETS)
def test_beyond_a_threads_memory_is_a_crash_that_names_it(
    toolchain: AmdToolchain, port: Path, tmp_path: Path, target: str
) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", ARRAY.replace("INDEX", "(i & 31) + 32 * (i == 7)")))
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert kernel["status"] == "crash"
    said = (
        r"kernel fill_f32: block \(0,0,0\), thread \(7,0,0\), at port/fill\.hip:9 \(0x\w+\): "
        r"buffer_load_dword of 4 bytes at offset (\d+) of the thread's (\d+) bytes of scratch memory"
    )
    found = re.search(said, kernel["failures"][0]["why"])
    assert found is not None, kernel["failures"][0]["why"]
    assert int(found[1]) >= int(found[2])


@pytest.mark.nightly("compiles for AMD targets and interprets the code, per target and mistake")
@pytest.mark.parametrize("target", TARGETS)
def test_spilled_registers_come_back(toolchain: AmdToolchain, port: Path, tmp_path: Path, target: str) -> None:
    source = port / "fill.hip"
    source.write_text(FILL.replace("WORK", SPILLED))
    (arch,) = targets_of(target)
    spills = parse(compile_cached(toolchain, source, arch).code, target).kernels["fill_f32"].vgpr_spills
    assert spills is not None
    assert spills > 20
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert (kernel["status"], kernel["failed"]) == ("pass", 0), kernel["message"]


@pytest.mark.nightly("compiles for AMD targets and interprets the code, per target and mistake")
@pytest.mark.parametrize("target", FLAGS)
def test_a_range_drops_what_is_beyond_it(toolchain: AmdToolchain, port: Path, tmp_path: Path, target: str) -> None:
    """Every thread stores once more than there are elements."""
    source = RANGE.replace("FLAGS", FLAGS[target])
    for more, status in ((0, "pass"), (-4, "fail"), (400, "crash")):
        (port / "fill.hip").write_text(source.replace("MORE", str(more)))
        _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
        assert kernel["status"] == status, kernel["message"]
