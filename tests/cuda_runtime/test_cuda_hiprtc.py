"""libhiprtc over NVRTC: options, headers, names, logs; and where NVRTC and the toolkit are looked for."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from conformance.runtimes.cuda import build
from tests.cuda_runtime.machine import Machine, in_child

pytestmark = pytest.mark.usefixtures("over_stand_ins")

COMPILATION, INVALID_OPTION = 6, 5


def compile_(machine: Machine, source: bytes, name: bytes, *options: str, expression: bytes = b"") -> tuple[int, str]:
    """Compile a program: the result and the log."""
    rtc, handle = machine.rtc, ctypes.c_void_p()
    headers, names = (ctypes.c_char_p * 1)(b"#pragma once"), (ctypes.c_char_p * 1)(b"my/header.h")
    assert rtc.hiprtcCreateProgram(ctypes.byref(handle), source, name, 1, headers, names) == 0
    if expression:
        assert rtc.hiprtcAddNameExpression(handle, expression) == 0
    words = (ctypes.c_char_p * max(len(options), 1))(*(option.encode() for option in options))
    result = rtc.hiprtcCompileProgram(handle, len(options), words)
    size = ctypes.c_size_t()
    assert rtc.hiprtcGetProgramLogSize(handle, ctypes.byref(size)) == 0
    log = ctypes.create_string_buffer(size.value)
    assert rtc.hiprtcGetProgramLog(handle, log) == 0
    if result == 0 and expression:
        lowered = ctypes.c_char_p()
        assert rtc.hiprtcGetLoweredName(handle, expression, ctypes.byref(lowered)) == 0
        assert lowered.value == b"_Z" + expression
    assert rtc.hiprtcDestroyProgram(ctypes.byref(handle)) == 0
    return int(result), log.value.decode()


def test_what_nvrtc_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPCUDA_INCLUDE", "/shadow:/toolkit")
    in_child(_given)


def _given() -> None:
    machine = Machine()
    assert compile_(machine, b"k", b"kernels/k.hip", "-I/mine", "-O3", "-D", "A=1", expression=b"f<int>") == (0, "")
    assert machine.nvrtc_calls() == [
        "create /candle-parity-source/kernels/k.hip",
        "header my/header.h #pragma once",
        "option --gpu-architecture=sm_90",
        "option --std=c++20",
        "option --device-as-default-execution-space",
        "option --pre-include=hip/hip_runtime.h",
        "option --diag-suppress=161",
        "option -I/mine",
        "option -DA=1",
        "option -I/shadow",
        "option -I/toolkit",
        "destroy",
    ]
    # CUDA sources: as they are, with nothing included before them.
    assert compile_(machine, b"k", b"kernels/k.cu")[0] == 0
    assert machine.nvrtc_calls()[2:-1] == [
        "option --gpu-architecture=sm_90",
        "option --std=c++17",
        "option --device-as-default-execution-space",
        "option -I/shadow",
        "option -I/toolkit",
    ]


def test_options_are_translated() -> None:
    in_child(_options)


def _options() -> None:
    machine = Machine()
    rows = {
        "--offload-arch=sm_80": "option --gpu-architecture=sm_80",
        "-arch=sm_75": "option --gpu-architecture=sm_75",
        "-std=gnu++17": "option --std=c++17",
        "-ffast-math": "option --use_fast_math",
        "-ffp-contract=off": "option --fmad=false",
        "-ffp-contract=fast": "option --fmad=true",
        "-UNDEBUG": "option -UNDEBUG",
        "-isystem/headers": "option -I/headers",
        "-xcuda": "option --std=c++17",
        "-lineinfo": "option -lineinfo",
        "--maxrregcount=32": "option --maxrregcount=32",
    }
    for given, expected in rows.items():
        assert compile_(machine, b"k", b"k.hip", given)[0] == 0
        assert expected in machine.nvrtc_calls(), given
    assert compile_(machine, b"k", b"k.cu", "-x", "hip", "-include", "shim/mine.h")[0] == 0
    given_words = machine.nvrtc_calls()
    first, second = (given_words.index(f"option --pre-include={name}") for name in ("hip/hip_runtime.h", "shim/mine.h"))
    assert first < second, "HIP's own names are known to what is included by force"
    for ignored in ("-O2", "-Wall", "-w", "-g", "-fno-gpu-rdc"):
        assert compile_(machine, b"k", b"k.hip", ignored)[0] == 0
        assert f"option {ignored}" not in machine.nvrtc_calls()
    for bad in ("--offload-arch=gfx90a", "-fnonsense", "-I"):
        assert compile_(machine, b"k", b"k.hip", bad) == (INVALID_OPTION, f"unknown option '{bad}'\n")


def test_the_log_of_a_source_that_does_not_compile() -> None:
    in_child(_mistake)


def _mistake() -> None:
    assert compile_(Machine(), b"a mistake", b"k.hip") == (COMPILATION, "k.hip(3): error: a mistake\n")


def test_the_target_is_the_device_in_use() -> None:
    in_child(_without_device)


def _without_device() -> None:
    machine = Machine()
    machine.script("cuInit", 100)
    result, log = compile_(machine, b"k", b"k.hip")
    assert result == COMPILATION
    assert "name the architecture: --gpu-architecture=sm_90" in log
    assert compile_(machine, b"k", b"k.hip", "--gpu-architecture=sm_90") == (0, "")


def test_where_nvrtc_and_the_headers_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit, packages = tmp_path / "cuda-12.6", tmp_path / "site-packages"
    for file in (
        toolkit / "lib64" / "libnvrtc.so.12",
        toolkit / "include" / "cuda_fp16.h",
        packages / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13",
        packages / "nvidia" / "cu13" / "include" / "cccl" / "cuda",
        packages / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setattr(build, "_site_packages", lambda: [packages])
    monkeypatch.setattr(build, "toolkits", lambda: [toolkit])
    cu13 = packages / "nvidia" / "cu13"
    assert build.nvrtc_candidates() == [
        toolkit / "lib64" / "libnvrtc.so.12",
        cu13 / "lib" / "libnvrtc.so.13",
        packages / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12",
    ]
    assert build.header_folders() == [toolkit / "include"]
    monkeypatch.setattr(build, "toolkits", lambda: [])
    assert build.header_folders() == [cu13 / "include", cu13 / "include" / "cccl"]


def test_cuda_home_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "not-there"))
    assert build.toolkits()[0] == tmp_path
    assert tmp_path / "not-there" not in build.toolkits()
