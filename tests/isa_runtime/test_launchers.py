"""Linked launchers on the isa runtime: their host code runs here, their kernels' machine code is interpreted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.toolchains.libraries import amd_library_compiler
from tests.commands import answer
from tests.launchers.test_launchers import CASE, LAUNCHER, TREE, Fault

ROOT = Path(__file__).parents[2]
SOURCE = TREE / "quantize.hip"
OTHER = "launch_mmvq_gguf_quantize_q8_1_f16"
IN_TILES = "launch_mmq_gguf_q4_0"

UNDEFINED = """
#include <hip/hip_runtime.h>
extern "C" void CALLED();
extern "C" void NAME(const void *, void *, int, int, int, void *) { CALLED(); }
"""
DIRECT = """
#include <hip/hip_runtime.h>
__constant__ int offset;
__device__ int unused[2] = {3, 4};
template <int BY> __global__ void fill(unsigned char *to, int size) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < size) to[at] = static_cast<unsigned char>(offset + BY + unused[0]);
}
using Kernel = void (*)(unsigned char *, int);
static const Kernel kernels[] = {&fill<1>, &fill<2>};
extern "C" int launch_direct(void *to, int size, hipStream_t stream) {
  int lanes = 0;
  hipDeviceProp_t properties;
  hipFuncAttributes of;
  const int five = 5;
  bool good = hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, 0) == hipSuccess;
  good = good && hipGetDeviceProperties(&properties, 0) == hipSuccess && properties.warpSize == lanes;
  good = good && hipMemcpyToSymbolAsync(HIP_SYMBOL(offset), &five, 4, 0, hipMemcpyHostToDevice, stream) == hipSuccess;
  good = good && hipFuncGetAttributes(&of, reinterpret_cast<const void *>(kernels[1])) == hipSuccess;
  good = good && of.maxThreadsPerBlock == 1024;
  kernels[1]<<<(size + 63) / 64, 64, 0, stream>>>(static_cast<unsigned char *>(to), size);
  void *room = nullptr;
  good = good && hipMallocAsync(&room, 64, stream) == hipSuccess && hipMemsetAsync(room, 0, 64, stream) == hipSuccess;
  good = good && hipFreeAsync(room, stream) == hipSuccess && hipPeekAtLastError() == hipSuccess;
  return good ? lanes : -1;
}
"""

CALL = """
import ctypes, sys
from conformance.runtimes.isa.control import open_isa_runtime
runtime = open_isa_runtime(sys.argv[2], 1)
hip = ctypes.CDLL(str(runtime.library))
loaded = runtime.load_launchers(open(sys.argv[1], "rb").read(), "direct.hip")
to, stream, host = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_ubyte * 100)()
assert hip.hipMalloc(ctypes.byref(to), ctypes.c_size_t(100)) == 0
assert hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
runtime.begin_call(stream.value)
prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
call = prototype(runtime.symbol(loaded, "launch_direct"))
print(call(to, 100, stream), runtime.end_call(), runtime.message())
assert hip.hipMemcpy(host, to, ctypes.c_size_t(100), 2) == 0
print(set(host))
"""

Judge = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Judge:
    """The rows of launchers, by their names or cases and by what the first does wrong."""
    lacking = amd_library_compiler("gfx942")
    if isinstance(lacking, str):
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {lacking}")

    def judge(*patterns: str, fault: Fault = Fault.RIGHT, source: Path = SOURCE) -> dict[str, dict[str, Any]]:
        monkeypatch.setenv("LAUNCHER_FAULT", str(int(fault)))
        words = ("run", "--runtime", "isa", "--arch", "gfx942", "--kernels", source, "--jobs", 1, "-q")
        answer(capsys, *words, "--order", "forward", "--json", tmp_path / "record.json", *patterns)
        record = json.loads((tmp_path / "record.json").read_text())
        assert record["run"]["arch"] == "gfx942"
        return {row["name"]: row for row in record["launchers"]}

    return judge


@pytest.mark.slow("builds libraries of launchers for AMD targets and interprets them")
def test_variables_tables_of_kernels_and_facts_of_the_device(tmp_path: Path) -> None:
    target, lanes = "gfx1100", 32
    compiler = amd_library_compiler(target)
    if isinstance(compiler, str):
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {compiler}")
    (tmp_path / "direct.hip").write_text(DIRECT)
    compiler.compile(tmp_path / "direct.hip", tmp_path / "library")
    command = [sys.executable, "-c", CALL, str(tmp_path / "library"), target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{lanes} (0, '') \n{{10}}\n", "")


@pytest.mark.slow("builds libraries of launchers for AMD targets and interprets them")
def test_right_launchers_pass_and_a_byte_behind_the_scratch_is_a_fault(judged: Judge) -> None:
    rows = judged(
        f"{LAUNCHER}(kx=96,rows=5,values=unit)", OTHER, f"{IN_TILES}(ncols=256,nrows=33,columns=1,values=random)"
    )
    assert [rows[name]["status"] for name in (LAUNCHER, OTHER)] == ["pass", "pass"]
    assert (rows[LAUNCHER]["source"], rows[LAUNCHER]["compiler"]) == ("tree/quantize.hip:66", "hipcc")
    assert rows[IN_TILES]["status"] == "crash"
    assert "past the end of the 16777216-byte allocation" in rows[IN_TILES]["failures"][0]["why"]


@pytest.mark.nightly("builds libraries of launchers for AMD targets and interprets them")
@pytest.mark.parametrize(
    ("fault", "status", "why"),
    [
        (Fault.NULL_STREAM, "fail", "quantize<float, 256> put work on the null stream"),
        (
            Fault.PENDING,
            "fail",
            "returns with the error hipErrorInvalidConfiguration (9) pending: kernel write_at: block",
        ),
        (Fault.WRITES_OUTSIDE, "crash", r"kernel write_at: .* at tree/quantize\.hip:34 \(0x\w+\): global_store_byte"),
        (Fault.CRASHES, "crash", "signal SIGSEGV"),
        (Fault.FORBIDDEN, "crash", "called socket(), which is forbidden in kernels"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_what_a_launcher_must_not_do_is_named(judged: Judge, fault: Fault, status: str, why: str) -> None:
    row = judged(CASE, fault=fault)[LAUNCHER]
    assert row["status"] == status
    assert why in row["failures"][0]["why"] or re.search(why, row["failures"][0]["why"])


@pytest.mark.slow("builds libraries of launchers for AMD targets and interprets them")
def test_a_library_that_does_not_load_names_the_symbol(judged: Judge, tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    for name, called in ((LAUNCHER, "not_linked"), (OTHER, "hipNotThere")):
        (tmp_path / "k" / f"{called}.hip").write_text(UNDEFINED.replace("CALLED", called).replace("NAME", name))
    rows = judged(CASE, OTHER, source=tmp_path / "k")
    assert (rows[LAUNCHER]["status"], rows[OTHER]["status"]) == ("compile_error", "not_run")
    assert rows[LAUNCHER]["message"].endswith(
        " for k/not_linked.hip: undefined symbol: not_linked (not_linked is defined in no source)"
    )
    assert rows[OTHER]["message"].endswith(" for k/hipNotThere.hip: the runtime has no hipNotThere")
