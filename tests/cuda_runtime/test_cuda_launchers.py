"""Linked launchers on the cuda runtime: compiled by nvcc, loaded, called and judged, over stand-ins for all of CUDA."""

from __future__ import annotations

import ctypes
import json
import shlex
import sys
from collections.abc import Iterator
from enum import IntEnum, auto
from pathlib import Path
from typing import Any

import pytest

from conformance.runtimes.cuda import nvcc
from conformance.runtimes.cuda.control import nvidia_devices
from conformance.toolchains.host import find_toolchain
from conformance.toolchains.libraries import LibraryCompiler
from tests.commands import answer

HERE = Path(__file__).parent
TREE = HERE / "launchers"
LAUNCHER = "launch_mmvq_gguf_quantize_q8_1_f32"
FIRST = 10
"""The number of rows that is the first mistake."""


class Fault(IntEnum):
    """As in the source."""

    RIGHT = 0
    WAITS = auto()
    NULL_STREAM = auto()
    OTHER_STREAM = auto()
    PENDING = auto()
    FAULTS = auto()
    WRITES_OUTSIDE = auto()
    WRONG = auto()


@pytest.fixture
def stand_in_nvcc(over_stand_ins: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An nvcc that the harness finds by its variable."""
    compiler = find_toolchain(links_standard_library=True).compiler
    script = tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(HERE / "stand_in_nvcc.py")])} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("STAND_IN_CXX", json.dumps(compiler))
    monkeypatch.setenv(nvcc.ENVIRONMENT, str(script))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    nvcc.compiler_for.cache_clear()
    nvidia_devices.cache_clear()
    yield
    nvcc.compiler_for.cache_clear()
    nvidia_devices.cache_clear()


def row_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, *patterns: str, tree: Path = TREE) -> dict[str, Any]:
    """The row of the one launcher that ``patterns`` select."""
    file = tmp_path / "record.json"
    answer(capsys, "run", "--runtime", "cuda", "--kernels", tree, "--jobs", 1, "-q", "--json", file, *patterns)
    (row,) = json.loads(file.read_text())["launchers"]
    assert isinstance(row, dict)
    return row


def case(fault: Fault) -> str:
    return f"{LAUNCHER}(kx=96,rows={FIRST + fault},values=unit)"


@pytest.mark.slow("builds launchers and runs them by a stand-in of the CUDA driver")
@pytest.mark.usefixtures("stand_in_nvcc")
def test_a_launcher_is_called_and_each_mistake_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    expected = {
        Fault.NULL_STREAM: "launches on another stream",
        Fault.OTHER_STREAM: "launches on another stream",
        Fault.PENDING: "returns with the error cudaErrorInvalidValue (1) pending: what CUDA says of it",
        Fault.WRITES_OUTSIDE: "1 bytes before and 0 bytes after the buffer were overwritten",
        Fault.WRONG: "vy[",
    }
    row = row_of(capsys, tmp_path, case(Fault.RIGHT), *map(case, expected))
    assert (row["status"], row["source"].split(":")[0]) == ("fail", "launchers/quantize.cu")
    told = {failure["case"]: failure["why"] for failure in row["failures"]}
    assert told.keys() == set(map(case, expected))
    for fault, why in expected.items():
        assert why in told[case(fault)], fault.name


@pytest.mark.slow("builds launchers and runs them by a stand-in of the CUDA driver")
@pytest.mark.usefixtures("stand_in_nvcc")
def test_a_launcher_that_waits_for_its_stream_is_right_and_a_fault_is_a_crash(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    row = row_of(capsys, tmp_path, case(Fault.WAITS), case(Fault.FAULTS))
    assert row["status"] == "crash"
    (failure,) = row["failures"]
    assert failure["case"] == case(Fault.FAULTS)
    assert "hipErrorIllegalAddress (700)" in failure["why"]


@pytest.mark.slow("builds launchers and runs them by a stand-in of the CUDA driver")
@pytest.mark.usefixtures("stand_in_nvcc")
def test_a_launcher_that_does_not_compile_is_told_in_its_own_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    row = row_of(capsys, tmp_path, "launch_mmvq_gguf_quantize_q8_1_f16")
    assert row["status"] == "compile_error"
    assert "launchers/refused.cu:4:" in row["message"]
    assert "undeclared identifier 'not_declared'" in row["message"]


@pytest.mark.slow("builds launchers and runs them by a stand-in of the CUDA driver")
@pytest.mark.usefixtures("stand_in_nvcc")
def test_without_nvcc_a_launcher_is_not_run_and_what_to_install_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(nvcc.ENVIRONMENT, str(tmp_path / "gone"))
    row = row_of(capsys, tmp_path, case(Fault.RIGHT))
    assert row["status"] == "not_run"
    assert row["message"].startswith("linked launchers are compiled by nvcc of CUDA 12 or newer")
    assert f"none in {tmp_path / 'gone'} (CANDLE_PARITY_NVCC); install a CUDA toolkit" in row["message"]


@pytest.mark.slow("builds launchers and runs them by a stand-in of the CUDA driver")
@pytest.mark.usefixtures("stand_in_nvcc")
def test_a_driver_that_is_older_than_nvcc_is_the_machine_s_doing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_OLD_DRIVER", "1")
    row = row_of(capsys, tmp_path, case(Fault.RIGHT))
    assert row["status"] == "not_run"
    assert "cudaErrorInsufficientDriver" in row["message"]
    assert "the driver may be older than nvcc" in row["message"]


def test_options_are_those_of_nvcc_and_hip_sources_find_hip() -> None:
    given = [
        "-I/mine",
        "-DA=1",
        "-UB",
        "-include",
        "own.h",
        "-std=gnu++20",
        "-O3",
        "-Wall",
        "-ffp-contract=off",
        "-o",
        "x",
    ]
    words = nvcc.nvcc_flags([*given, "k.hip"])
    assert words[-7:-4] == ["-isystem", str(nvcc.HIP_HEADERS), "-isystem"]
    assert (Path(words[-4]) / "hip/hip_fp16.h").read_text().endswith("#include <cuda_fp16.h>\n")
    assert words[-3:] == ["-x", "cu", "k.hip"]
    for expected in ("-shared", "-std=c++20", "--fmad=false", "-I/mine", "-DA=1", "-UB"):
        assert expected in words
    forced = [words[at + 1] for at, word in enumerate(words) if word == "-include"]
    assert forced == [str(nvcc.LAST_ERROR), "hip/hip_runtime.h", "own.h"]
    assert not {"-Wall", "-std=gnu++20", "-ffp-contract=off"} & set(words)
    for cuda in (["k.cu"], ["-x", "cuda", "k.hip"]):
        assert "hip/hip_runtime.h" not in nvcc.nvcc_flags(cuda)
    assert "hip/hip_runtime.h" in nvcc.nvcc_flags(["-x", "hip", "k.cu"])


@pytest.fixture
def real_nvcc(monkeypatch: pytest.MonkeyPatch) -> LibraryCompiler:
    monkeypatch.delenv(nvcc.ENVIRONMENT, raising=False)
    nvcc.compiler_for.cache_clear()
    found = nvcc.compiler_for("sm_90")
    if isinstance(found, str):
        pytest.skip(found)
    return found


def test_nvcc_takes_a_hip_source(real_nvcc: LibraryCompiler, tmp_path: Path) -> None:
    source, library = tmp_path / "twice.hip", tmp_path / "library"
    source.write_text(
        """
#include <hip/hip_runtime.h>
template <class T>
__global__ void twice(T *values) {
  if (__builtin_fabsf(values[0]) > 1.0f) __builtin_trap();
  values[threadIdx.x] += __shfl_xor(values[threadIdx.x], 1) + __lane_id();
}
extern "C" void launch_twice(float *values, int device, hipStream_t stream) {
  int units = 0;
  float *room = nullptr;
  if (hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device) != hipSuccess) return;
  if (hipMallocAsync(&room, 4 * units, stream) != hipSuccess) return;
  const void *kernel = reinterpret_cast<const void *>(&twice<float>);
  (void)hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 64);
  hipLaunchKernelGGL(twice<float>, dim3(units), dim3(32), 0, stream, values);
  twice<<<1, 32, 0, stream>>>(room);
  (void)hipFreeAsync(room, stream);
}
"""
    )
    real_nvcc.compile(source, library, ["-O3", "-std=c++17"])
    loaded = ctypes.CDLL(str(library))
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    loaded.candle_parity_take_error(ctypes.byref(name), ctypes.byref(text))
    assert (name.value or b"").startswith(b"cuda")
    assert loaded.launch_twice is not None
