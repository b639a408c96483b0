"""What a compiler or HIP's header does wrong is told as theirs, with the version; the same mistake of a port is not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.runtimes.isa.kind import ARCH
from conformance.toolchains.amd import HIPCC_KINDS, AmdToolchain, find_toolchain
from conformance.toolchains.targets import AmdError, targets_of

HEAD = """#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
"""
SUM = """extern "C" __global__ void fast_sum_f16(size_t numel, size_t length, size_t, const size_t *, const __half *src,
                                        __half *dst) {
  __shared__ float shr[1024];
  const size_t t = threadIdx.x, first = blockIdx.x * length;
  float sum = 0;
  for (size_t i = first + t; i < first + length && i < numel; i += blockDim.x) sum += __half2float(src[i]);
  shr[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    BARRIER;
    if (t < s) shr[t] += shr[t + s];
  }
  __syncthreads();
  if (t == 0) dst[blockIdx.x] = __float2half(shr[0]);
}
"""
SILU = """extern "C" __global__ void usilu_f16(size_t numel, size_t, const size_t *, const __half *inp, __half *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    const float x = __half2float(inp[i]), product = x * (1 / (1 + expf(-x)));
    out[i] = __float2half(SIGN);
  }
}
"""
CAST = """extern "C" __global__ void cast_f64_f16(size_t numel, size_t, const size_t *, const double *inp,
                                        __half *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    const float cut = ROUNDED;  // the last bit says that digits are lost, so that the second rounding is right
    const unsigned lost = double(cut) != inp[i] && isfinite(cut);
    out[i] = __float2half(__uint_as_float(__float_as_uint(cut) | lost));
  }
}
"""


@dataclass(frozen=True)
class Fault:
    """``source`` with ``macro`` as the compiler gets it wrong, and as the port does."""

    case: str
    source: str
    macro: str
    by_compiler: str
    by_port: str
    said: str


FAULTS = (
    Fault(
        "fast_sum_f16(shape=[4,300],values=ties)",
        SUM,
        "BARRIER",
        "__syncthreads()",
        "__builtin_amdgcn_s_barrier()",
        "removed the wait for stores to shared memory (s_waitcnt lgkmcnt(0)) before the barrier at port/k.hip:12",
    ),
    Fault(
        "usilu_f16(shape=[684],values=special)",
        SILU,
        "SIGN",
        "product",
        "x < 0 ? product : fabsf(product)",
        "rounds a product to f16 by v_fma_mixlo_f16 with the addend +0 at port/k.hip:6",
    ),
    Fault(
        "cast_f64_f16(shape=[1146],values=special)",
        CAST,
        "ROUNDED",
        "__double2float_rz(inp[i])",
        "float(inp[i])",
        "__double2float_rz of the headers of HIP 5.2 gives the nearest float",
    ),
)


@pytest.fixture(scope="module")
def toolchain() -> AmdToolchain:
    try:
        found = find_toolchain(targets_of("gfx942"), HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    if "version 19" not in found.name or "headers of HIP 5.2" not in found.name:
        pytest.skip(f"these are faults of LLVM 19 and of HIP 5.2's headers, and here is {found.name}")
    return found


def judged(tmp_path: Path, fault: Fault, value: str) -> dict[str, Any]:
    """The kernel's row where the macro has ``value``."""
    port, record = tmp_path / "port", tmp_path / "r.json"
    port.mkdir()
    (port / "k.hip").write_text(HEAD + fault.source.replace(fault.macro, value))
    words = ["--runtime", "isa", "--arch", "gfx942", "--kernels", str(port), "--json", str(record)]
    main(["run", *words, fault.case])
    name = fault.case.partition("(")[0]
    (row,) = (row for row in json.loads(record.read_text())["kernels"] if row["name"] == name)
    return dict(row)


@pytest.fixture(autouse=True)
def default_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--arch`` sets a variable for the processes of a run; no other test is to see it."""
    monkeypatch.setenv(ARCH, "gfx942")


@pytest.mark.nightly("compiles a kernel for an AMD target and interprets it")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.case.partition("(")[0])
def test_the_compiler_or_the_header_is_named(fault: Fault, toolchain: AmdToolchain, tmp_path: Path) -> None:
    row = judged(tmp_path, fault, fault.by_compiler)
    assert row["status"] == "not_run"
    assert fault.said in row["message"]
    assert "says nothing of the port" in row["message"]
    assert toolchain.name.partition(" with ")[0] in row["message"] or "HIP 5.2" in row["message"]


@pytest.mark.slow("compiles a kernel for an AMD target and interprets it")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.case.partition("(")[0])
def test_the_same_mistake_of_a_port_is_the_ports(fault: Fault, toolchain: AmdToolchain, tmp_path: Path) -> None:
    assert judged(tmp_path, fault, fault.by_port)["status"] == "fail"
