"""The isa runtime from the command line: what is recorded and reported of machine code that was interpreted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.port.amd_cache import compile_cached
from conformance.record.files import read_record
from conformance.report.runs import rerun
from conformance.runtimes.isa.kind import ARCH, PERTURB, TARGETS
from conformance.toolchains.amd import HIPCC_KINDS, AmdToolchain, find_toolchain
from conformance.toolchains.targets import AmdError, targets_of
from tests.commands import answer

FILL = """
#include <hip/hip_runtime.h>
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
    WORK
    buf[i] = value;
  }
}
"""
DPP = """
#include <hip/hip_runtime.h>
extern "C" __global__ void fill_f32(float *buf, float value, const size_t numel) {
  float pair, row;
  asm volatile("s_nop 4");
  asm volatile("v_or_b32_dpp %0, %1, %1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf" : "=v"(pair) : "v"(value));
  asm volatile("s_nop 1");
  asm volatile("v_or_b32_dpp %0, %1, %1 row_ror:4 row_mask:0xf bank_mask:0xf" : "=v"(row) : "v"(pair));
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) buf[i] = row;
}
"""
UNKNOWN = 'asm volatile("v_mfma_f32_4x4x1_16b_f32 a[0:3], v0, v0, a[0:3]" ::: "a0", "a1", "a2", "a3");'
SIN = """
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
extern "C" __global__ void usin_f16(const size_t numel, const size_t, const size_t *, const __half *inp, __half *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) out[i] = hsin(inp[i]);
}
"""
BEYOND = "if (i == 0) buf[numel + 1000000] = 1;"


@pytest.fixture
def toolchain() -> AmdToolchain:
    try:
        return find_toolchain(targets_of("gfx942"), HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")


@pytest.fixture(autouse=True)
def default_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--arch`` and ``--perturb`` set variables for the processes of a run; no other test is to see it."""
    monkeypatch.setenv(ARCH, TARGETS[0])
    monkeypatch.setenv(PERTURB, "0")


@pytest.fixture
def port(tmp_path: Path) -> Path:
    folder = tmp_path / "port"
    folder.mkdir()
    return folder


def judged(tmp_path: Path, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run and its one kernel, as recorded."""
    main(["run", "--runtime", "isa", *words, "--json", str(tmp_path / "r.json"), "fill_f32"])
    record = json.loads((tmp_path / "r.json").read_text())
    (kernel,) = (row for row in record["kernels"] if row["name"] == "fill_f32")
    return record["run"], kernel


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_a_source_is_compiled_for_the_target_and_interpreted(
    toolchain: AmdToolchain, port: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", ""))
    run, kernel = judged(tmp_path, "--arch", "gfx1100", "--kernels", str(port))
    assert (kernel["status"], kernel["failed"], kernel["cases"] > 5) == ("pass", 0, True)
    assert (run["runtime"], run["arch"], run["orders"]) == ("isa", "gfx1100", ["forward", "reverse"])
    assert kernel["compiler_name"] == toolchain.name
    assert run["wave"] == 32
    out = capsys.readouterr().out
    assert "isa gfx1100 wave32: 1 of 1 selected passes (of 748)" in out
    assert "of all: 1 of 748 kernels" in out
    assert "AMD machine code for gfx1100, interpreted; not a GPU" in out


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_a_source_for_hiprtc_needs_no_header_of_hip(toolchain: AmdToolchain, port: Path, tmp_path: Path) -> None:
    """AMD's hiprtc declares the runtime and 16-bit types itself; here hipcc stands in for it."""
    source = FILL.replace("#include <hip/hip_runtime.h>", "").replace("WORK", "half unused = __float2half(value);")
    (port / "fill.hip").write_text(source)
    _, kernel = judged(tmp_path, "--arch", "gfx942", "--kernels", str(port))
    assert (kernel["status"], kernel["message"]) == ("pass", None)


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_deviations_are_recorded_and_reproduced(toolchain: AmdToolchain, port: Path, tmp_path: Path) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", BEYOND))
    run, kernel = judged(tmp_path, "--perturb", "7", "--kernels", str(port))
    assert run["perturb"] == 7
    assert "approximate instructions deviate, seed 7" in run["host"]
    assert "--perturb 7" in kernel["failures"][0]["reproduce"]
    assert "--perturb 7" in rerun(read_record(tmp_path / "r.json").run, "fill_f32")


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_a_code_object_is_taken_as_it_is(toolchain: AmdToolchain, port: Path, tmp_path: Path) -> None:
    source = tmp_path / "fill.hip"
    source.write_text(FILL.replace("WORK", ""))
    (target,) = targets_of("gfx942")
    (port / "fill.hsaco").write_bytes(compile_cached(toolchain, source, target).code)
    run, kernel = judged(tmp_path, "--kernels", str(port))
    assert (kernel["status"], run["arch"], kernel["compiler"]) == ("pass", "gfx942", None)


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_inline_assembly_gets_a_verdict_here_and_none_on_the_host(
    toolchain: AmdToolchain, port: Path, tmp_path: Path
) -> None:
    """Lanes read those next to them by DPP, as in reductions of ports for gfx906; all hold the same value."""
    (port / "fill.hip").write_text(DPP)
    _, kernel = judged(tmp_path, "--arch", "gfx1100", "--kernels", str(port))
    assert (kernel["status"], kernel["failed"], kernel["cases"] > 5) == ("pass", 0, True)
    main(["run", "--runtime", "cpu", "--kernels", str(port), "--json", str(tmp_path / "cpu.json"), "fill_f32"])
    (on_host,) = (
        row for row in json.loads((tmp_path / "cpu.json").read_text())["kernels"] if row["name"] == "fill_f32"
    )
    assert on_host["status"] == "not_run"


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_what_is_not_known_gives_no_verdict(toolchain: AmdToolchain, port: Path, tmp_path: Path) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", UNKNOWN))
    _, kernel = judged(tmp_path, "--arch", "gfx942", "--kernels", str(port))
    assert (kernel["status"], kernel["cases"]) == ("not_run", 0)
    said = "kernel fill_f32: the interpreter does not know v_mfma_f32_4x4x1_16b_f32, at port/fill.hip:5 (0x"
    assert kernel["message"].startswith(said)


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_a_write_past_a_buffer_is_a_crash_that_names_it(toolchain: AmdToolchain, port: Path, tmp_path: Path) -> None:
    (port / "fill.hip").write_text(FILL.replace("WORK", BEYOND))
    _, kernel = judged(tmp_path, "--arch", "gfx942", "--kernels", str(port))
    assert kernel["status"] == "crash"
    why = kernel["failures"][0]["why"]
    assert re.search(r", at port/fill\.hip:5 \(0x\w+\): global_store_dword of 4 bytes ", why)
    assert "--runtime isa --arch gfx942" in kernel["failures"][0]["reproduce"]


@pytest.mark.slow("whole runs of the interpreter by the command")
def test_a_known_fault_of_the_device_libraries_is_named_as_theirs(
    toolchain: AmdToolchain, port: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "device libraries of LLVM 15" not in toolchain.name:
        pytest.skip(f"the fault is in Debian's rocm-device-libs 5.2.3, and here is {toolchain.name}")
    (port / "unary.hip").write_text(SIN)
    file = tmp_path / "r.json"
    words = ("--runtime", "isa", "--arch", "gfx942", "--kernels", port, "--json", file)
    said = answer(capsys, "run", *words, "usin_f16(shape=[64],values=unit)")
    (kernel,) = (row for row in json.loads(file.read_text())["kernels"] if row["name"] == "usin_f16")
    fault = "__ocml_sin_f16 of the device libraries of LLVM 15 gives nan"
    assert (said.code, kernel["status"], fault in kernel["message"]) == (2, "not_run", True)
    assert f"infrastructure: {fault}" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--runtime", "isa", "--arch", "gfx803"], "the isa runtime does not know the instructions of gfx803"),
        (["--runtime", "cpu", "--arch", "gfx942", "--wave", "32"], "gfx942 has waves of 64 lanes"),
        (["--runtime", "cpu", "--perturb", "1"], "--perturb is for --runtime isa; leave it out"),
        (["--perturb", "1"], "--perturb is for --runtime isa; leave it out"),
    ],
)
def test_a_target_that_cannot_be_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words, "uneg_f32"]) == 2
    assert said in capsys.readouterr().err
