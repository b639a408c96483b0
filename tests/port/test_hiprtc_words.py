"""What ROCm's hiprtc is called with and how its log is told: the order of folders, headers, temporary names."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.port.compiling import child
from conformance.port.compiling.in_child import CompilerUnsupported, _judged
from conformance.port.compiling.reads import Reads
from conformance.port.compiling.target import CompileLimits
from conformance.processes import Supervisor
from conformance.runtimes import loaded_hiprtc, runtime_kind
from conformance.runtimes.kind import RuntimeKind
from conformance.runtimes.rocm.hiprtc import stand_ins, without_comgr
from conformance.toolchains.compile_error import CompileError
from conformance.toolchains.headers import OF_ROCM

FLAGS = ["-I/port", "-I/port/shim", "-DA", "-std=c++17", "--offload-arch=gfx942"]


@pytest.fixture
def rocm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ROCm's include folder, with headers; the library is a stand-in that refuses what it is given."""
    folder = tmp_path / "rocm/include"
    (folder / "hip").mkdir(parents=True)
    (folder / "hip/hip_version.h").touch()

    def kind_without_library(name: str) -> RuntimeKind:
        return replace(runtime_kind(name), open_compiler=lambda wave: (f"-I{folder}",))

    monkeypatch.setattr(loaded_hiprtc, "runtime_kind", kind_without_library)
    monkeypatch.setattr(child, "_limit", lambda memory: None)
    return folder


def answer(monkeypatch: pytest.MonkeyPatch, log: str | None, runtime: str = "rocm") -> dict[str, Any]:
    """What the child says where hiprtc's log is ``log``, or where it compiles: then the code is the options."""

    def compile_source(text: str, label: str, flags: Sequence[str]) -> bytes:
        if log is None:
            return " ".join(flags).encode()
        raise CompileError(label, log)

    monkeypatch.setattr(loaded_hiprtc, "compile_source", compile_source)
    request = {"runtime": runtime, "wave": None, "flags": FLAGS, "memory": 1, "text": "", "label": "kernels/k.hip"}
    return child._answer({"hiprtc": runtime_kind(runtime).hiprtc, "folder": None, **request}, Reads())


def test_the_ports_folders_come_before_rocms_and_ours_come_last(rocm: Path, monkeypatch: pytest.MonkeyPatch):
    *flags, last = answer(monkeypatch, None)["code"].decode().split()
    assert flags == [*FLAGS, f"-I{rocm}"]
    assert Path(last.removeprefix("-I"), "hip/hip_runtime.h").read_text() == "#pragma once\n"
    assert answer(monkeypatch, None, "cpu")["code"].decode().split() == [f"-I{rocm}", *FLAGS]


def test_the_stand_ins_are_headers_whose_content_hiprtc_supplies():
    folder = stand_ins()
    found = {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*") if file.is_file()}
    assert {"hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_bfloat16.h"} <= found.keys() <= OF_ROCM
    assert not {"hip/hip_bf16.h", "hip/hip_fp8.h"} & found.keys()
    assert set(found.values()) == {"#pragma once\n"}


@pytest.mark.parametrize("header", ["hip/hip_bf16.h", "hip/hip_fp8.h", "hip/hip_cooperative_groups.h"])
def test_a_header_that_the_machine_lacks_is_not_the_sources_fault(
    rocm: Path, monkeypatch: pytest.MonkeyPatch, header: str
):
    log = f"kernels/k.hip:2:10: fatal error: '{header}' file not found\n"
    (rocm / "hip/hip_version.h").write_text("#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_MINOR  2\n")
    old = answer(monkeypatch, log)
    assert old["unsupported"]
    assert old["machine"].startswith(f"it includes <{header}>, which HIP 5.2 in {rocm} does not have; ")
    (rocm / "hip/hip_version.h").unlink()
    said = answer(monkeypatch, log)
    with Supervisor() as supervisor, pytest.raises(CompilerUnsupported) as caught:
        _judged(said, "kernels/k.hip", supervisor, CompileLimits())
    for part in (f"kernels/k.hip cannot be compiled: it includes <{header}>", "hip-dev", "ROCM_PATH"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_header_that_rocm_does_not_have_either_is(rocm: Path, monkeypatch: pytest.MonkeyPatch):
    (rocm / "hip/hip_version.h").unlink()
    log = "kernels/k.hip:2:10: fatal error: 'hip/of_the_port.h' file not found\n"
    assert answer(monkeypatch, log) == {"log": log}


COMGR = """In file included from {0}/comgr-{1}/input/kernels/k.hip:1:
{0}/comgr-{1}/input/kernels/k.hip:3:25: error: redefinition of 'tanhf'
    3 | __device__ inline float tanhf(float x) {{ return x; }}
{0}/comgr-{1}/include/hiprtc_runtime.h:689:7: note: previous definition is here
"""
TOLD = """In file included from kernels/k.hip:1:
kernels/k.hip:3:25: error: redefinition of 'tanhf'
    3 | __device__ inline float tanhf(float x) { return x; }
hiprtc_runtime.h:689:7: note: previous definition is here
"""


@pytest.mark.parametrize("number", ["5fa825", "19234-0-13eba3"])  # as ROCm 6.4 and 7.2 number them
def test_two_runs_give_the_same_log(rocm: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: str):
    for folder in ("/tmp", str(tmp_path)):
        monkeypatch.setattr(tempfile, "tempdir", folder)
        assert answer(monkeypatch, COMGR.format(folder, number)) == {"log": TOLD}
    assert without_comgr("/home/comgr-1/input/k.hip") == "/home/comgr-1/input/k.hip"
