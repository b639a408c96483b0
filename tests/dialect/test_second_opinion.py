"""What the host does not compile: the port's fault where AMD's compiler refuses it, too, or nobody can be asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import Run

from conformance.port.compiling.target import NoHipcc, require_hipcc
from conformance.runtimes import runtime_kind
from conformance.toolchains.amd import ENVIRONMENT
from conformance.toolchains.libraries import amd_library_compiler

KEEPS = ("--order", "forward")
UNARY = """
#include <hip/hip_runtime.h>
__device__ float negative(float x) { float r; asm("v_sub_f32 %0, 0, %1" : "=v"(r) : "v"(x)); return r; }
#define UNARY(NAME, T, E) \\
  extern "C" __global__ void NAME(size_t numel, size_t num_dims, const size_t *info, const T *inp, T *out) { \\
    const bool plain = info == nullptr; \\
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) { \\
      size_t rest = i, offset = 0; \\
      for (size_t d = num_dims; d-- > 0 && !plain;) { \\
        offset += rest % info[d] * info[num_dims + d]; \\
        rest /= info[d]; \\
      } \\
      T x = inp ? inp[plain ? i : offset] : out[i]; \\
      out[i] = E; \\
    } \\
  }
UNARY(uneg_f32, float, negative(x))
UNARY(usqr_f32, float, x *x)
UNARY(uexp_f32, float, no_such(x))
UNARY(uabs_f32, float, fabsf(x))
UNARY(uabs_f32, float, fabsf(x))
"""

QUANTIZE = "launch_mmvq_gguf_quantize_q8_1"
LAUNCHERS = f"""
#include <hip/hip_runtime.h>
__global__ void one(const void *, void *) {{}}
__global__ void two(const void *, void *) {{}}
extern "C" void {QUANTIZE}_f32(const void *x, void *vy, int kx, int, int, hipStream_t stream) {{
  auto chosen = kx > 1 ? one : two;
  chosen<<<1, 1, 0, stream>>>(x, vy);
}}
"""


@pytest.mark.slow("compiles a port by two compilers, one for AMD targets")
def test_what_amds_compiler_takes_is_not_the_ports_fault(run: Run, tree: Path) -> None:
    try:
        require_hipcc("gfx90a")
    except NoHipcc as missing:
        pytest.skip(f"NOBODY TO ASK: {missing}")
    said = run(tree, "uneg_f32", "usqr_f32", "uexp_f32", "uabs_f32", *KEEPS)
    assert said.rows["uneg_f32"]["status"] == "not_run"
    message = said.rows["uneg_f32"]["message"]
    assert message.startswith("infrastructure: the harness cannot compile this, AMD's compiler does (")
    assert "port/unary.hip:3:" in message
    assert said.statuses() == {"usqr_f32": "pass", "uexp_f32": "compile_error", "uabs_f32": "compile_error"}
    assert said.rows["uexp_f32"]["source"] == "port/unary.hip:19"
    assert said.rows["uexp_f32"]["message"].startswith("port/unary.hip:19:")
    assert "no_such" in said.rows["uexp_f32"]["message"]
    assert said.code == 2


@pytest.mark.slow("compiles a port by two compilers, one for AMD targets")
def test_a_launcher_that_amds_compiler_takes_is_not_the_ports_fault(run: Run, tmp_path: Path) -> None:
    lacking = amd_library_compiler("gfx90a")
    if isinstance(lacking, str):
        pytest.skip(f"NOBODY TO ASK: {lacking}")
    source = tmp_path / "port" / "mmvq.hip"
    source.parent.mkdir()
    source.write_text(LAUNCHERS)
    right = run(source, f"{QUANTIZE}_f32", *KEEPS).rows[f"{QUANTIZE}_f32"]
    assert right["status"] == "not_run"
    assert right["message"].startswith("infrastructure: the harness cannot compile this, AMD's compiler does (")
    source.write_text(LAUNCHERS.replace("chosen<<<", "no_such<<<"))
    wrong = run(source, f"{QUANTIZE}_f32", *KEEPS).rows[f"{QUANTIZE}_f32"]
    assert wrong["status"] == "compile_error"
    assert "no_such" in wrong["message"]


@pytest.mark.slow("compiles a port by two compilers, one for AMD targets")
def test_where_nobody_can_be_asked_the_message_says_so(run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "rocm")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        monkeypatch.delenv(name, raising=False)
    try:
        require_hipcc()
    except NoHipcc:
        said = run(tree, "uneg_f32", "usqr_f32", *KEEPS)
        assert said.statuses() == {"usqr_f32": "pass", "uneg_f32": "compile_error"}
        assert "nobody checked whether AMD's compiler takes it" in said.rows["uneg_f32"]["message"]
        assert said.code == 1
    else:
        pytest.skip("THERE IS ALWAYS SOMEBODY TO ASK: ROCm is installed")


@pytest.mark.parametrize(
    ("log", "header"),
    [
        ("k.hip:1:10: fatal error: 'hip/hip_complex.h' file not found", "hip/hip_complex.h"),
        ("k.hip:1:10: fatal error: hip/hip_complex.h: No such file or directory", "hip/hip_complex.h"),
        ("k.hip:1:10: fatal error: 'hip/no_such.h' file not found", None),
        ("k.hip:1:10: error: 'hip/hip_complex.h'", None),
    ],
)
def test_a_header_of_rocms_that_the_harness_lacks_is_not_the_ports_fault(log: str, header: str | None) -> None:
    said = runtime_kind("cpu").missing_header(log, ())
    assert (said or "").startswith(f"it includes <{header}>, which ROCm has" if header else "")
    assert (said is None) == (header is None)
