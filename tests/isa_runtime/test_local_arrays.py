"""Kernels whose threads have memory of their own, arrays and spilled registers on targets that reach it by buffers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.port.amd_cache import compile_cached
from conformance.port.code_objects import parse
from conformance.toolchains.amd import Toolchain
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


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_has_what_was_stored(toolchain: Toolchain, port: Path, tmp_path: Path, target: str) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", ARRAY.replace("INDEX", "i & 31")))
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert (kernel["status"], kernel["failed"], kernel["cases"] > 5) == ("pass", 0, True), kernel["message"]


@pytest.mark.parametrize("target", TARGETS)
def test_another_element_is_another_value(toolchain: Toolchain, port: Path, tmp_path: Path, target: str) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", ARRAY.replace("INDEX", "(i + (i == 7)) & 31")))
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert kernel["status"] == "fail"
    assert "out[7]" in kernel["failures"][0]["why"] or "buf[7]" in kernel["failures"][0]["why"]


@pytest.mark.parametrize("target", TARGETS)
def test_beyond_a_threads_memory_is_a_crash_that_names_it(
    toolchain: Toolchain, port: Path, tmp_path: Path, target: str
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


@pytest.mark.parametrize("target", TARGETS)
def test_spilled_registers_come_back(toolchain: Toolchain, port: Path, tmp_path: Path, target: str) -> None:
    source = port / "fill.hip"
    source.write_text(FILL.replace("WORK", SPILLED))
    (arch,) = targets_of(target)
    spills = parse(compile_cached(toolchain, source, arch).code, target).kernels["fill_f32"].vgpr_spills
    assert spills is not None
    assert spills > 20
    _, kernel = judged(tmp_path, "--arch", target, "--kernels", str(port))
    assert (kernel["status"], kernel["failed"]) == ("pass", 0), kernel["message"]
