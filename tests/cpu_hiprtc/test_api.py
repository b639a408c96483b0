"""Errors, logs, options and handles of libhiprtc."""

from __future__ import annotations

import ctypes
import os
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from .conftest import (
    COMPILATION,
    INVALID_INPUT,
    INVALID_OPTION,
    INVALID_PROGRAM,
    NAME_EXPRESSION_NOT_VALID,
    NO_LOWERED_NAMES_BEFORE_COMPILATION,
    SUCCESS,
    Hiprtc,
    compiler,
)

GOOD = 'extern "C" __global__ void k(int *p) { *p = 1; }\n'

# What is wrong -> the source, and what the log must say.
MISTAKES: dict[str, tuple[str, list[str]]] = {
    "unknown name": (GOOD + 'extern "C" __global__ void b(int *p) {\n  *p = nowhere;\n}', ["user.hip:3:", "nowhere"]),
    "missing header": ('\n#include "nowhere.h"\n', ["user.hip:2:", "nowhere.h"]),
    "missing brace": (GOOD + "__global__ void b() {\n", ["user.hip:2"]),
    "open #if": ("\n#if 1\n" + GOOD, ["user.hip:2:"]),
    "open comment": (GOOD + "/* never closed", ["user.hip:2:"]),
    "stated error": ("#error this port is unfinished\n", ["user.hip:1:", "this port is unfinished"]),
    "CUDA only": (GOOD + "#ifndef __CUDACC__\n#error not CUDA\n#endif", ["user.hip:3:", "not CUDA"]),
    "32-bit mask": (
        '\nextern "C" __global__ void b(int *p) { *p = __shfl_xor_sync(0xffffffff, *p, 1); }',
        ["user.hip:2", "64-bit integer"],
    ),
    "32-bit ballot mask": (
        'extern "C" __global__ void b(int *p) { *p = __any_sync(0xffffffffu, *p); }',
        ["user.hip:1", "64-bit integer"],
    ),
    "exception": ('extern "C" __global__ void b(int *p) { throw 1; }', ["user.hip:1:"]),
    "kernel that returns": ('extern "C" __global__ int b(int *p) { return 1; }', ["b"]),
    "ambiguous half": (
        '#include <hip/hip_fp16.h>\nextern "C" __global__ void b(__half *p) { *p = *p + 1.0f; }',
        ["user.hip:2:", "ambiguous"],
    ),
}


@pytest.mark.slow("compiles a source per call")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_shown_at_the_users_line(hiprtc: Hiprtc, mistake: str) -> None:
    source, texts = MISTAKES[mistake]
    compiled = hiprtc.compile(source)
    assert compiled.result == COMPILATION
    assert compiled.code == b""
    for text in texts:
        assert text in compiled.log
    assert "/hipcpu-" not in compiled.log  # the compiler's temporary folder


def test_a_mistake_is_quoted_as_it_was_written(hiprtc: Hiprtc) -> None:
    compiled = hiprtc.compile('extern "C" __global__ void k(int *p) { *p = nowhere; }')
    assert "__global__ void k(int *p) { *p = nowhere; }" in compiled.log
    assert "simt_kernel" not in compiled.log


def test_a_bad_name_expression_fails(hiprtc: Hiprtc) -> None:
    compiled = hiprtc.compile(GOOD, expressions=("nowhere<int>",))
    assert compiled.result == COMPILATION
    assert "nowhere" in compiled.log
    assert compiled.lowered == {"nowhere<int>": None}


@pytest.mark.slow("compiles a source per call")
def test_a_long_log_is_cut(hiprtc: Hiprtc) -> None:
    source = "\n".join(f'#warning "{"x" * 200} {i}"' for i in range(3000)) + "\n#error end"
    compiled = hiprtc.compile(source)
    assert compiled.result == COMPILATION
    assert len(compiled.log) < 300_000
    assert "[log truncated]" in compiled.log


@pytest.mark.slow("compiles a source per call")
def test_options_reach_the_compiler(hiprtc: Hiprtc, tmp_path: os.PathLike[str]) -> None:
    header = os.path.join(tmp_path, "forced.h")
    with open(header, "w") as file:
        file.write('extern "C" __global__ void forced(int *p) { *p = WIDTH; }\n')
    options = ["-DWIDTH=4", "-D", "NAME=named", "-I", os.fspath(tmp_path), "-include", header, "-std=c++17", "-O3"]
    options += [
        "--offload-arch=gfx942",
        "--gpu-architecture=gfx90a",
        "-munsafe-fp-atomics",
        "-fgpu-rdc",
        "-mllvm",
        "-x=y",
    ]
    compiled = hiprtc.compile('#include "forced.h"\nextern "C" __global__ void NAME(int *p) {}', *options)
    assert compiled.result == COMPILATION  # forced.h came twice: once by -include and once by #include
    assert "redefinition" in compiled.log
    compiled = hiprtc.compile('extern "C" __global__ void NAME(int *p) {}', *options)
    assert compiled.result == SUCCESS, compiled.log
    assert set(compiled.kernels) == {"forced", "named"}


def test_an_unknown_option_is_named(hiprtc: Hiprtc) -> None:
    compiled = hiprtc.compile(GOOD, "-DA", "--frobnicate")
    assert compiled.result == INVALID_OPTION
    assert "'--frobnicate'" in compiled.log


def test_macros_of_the_platform(hiprtc: Hiprtc) -> None:
    source = """
        #if !defined(__HIP_PLATFORM_AMD__) || !defined(__HIPCC__) || !defined(__HIPCC_RTC__)
        #error not HIP
        #endif
        #if defined(__CUDACC__) || defined(__CUDA_ARCH__) || defined(__HIP_PLATFORM_NVIDIA__)
        #error CUDA
        #endif
    """
    compiled = hiprtc.compile(source + GOOD)
    assert compiled.result == SUCCESS, compiled.log


def test_a_header_name_may_not_leave_its_folder(hiprtc: Hiprtc) -> None:
    for name in ("../outside.h", "/outside.h", "a/../../outside.h"):
        compiled = hiprtc.compile(GOOD, headers={name: ""})
        assert compiled.result == COMPILATION
        assert "not a relative path" in compiled.log


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("HIPCPU_CXX", "no-such-compiler -x", "HIPCPU_CXX"),
        ("HIPCPU_CXX", "no such compiler", "no such compiler"),
        ("HIPCPU_CXX", "false", "does not work"),
        ("HIPCPU_LD", "no-such-linker", "no-such-linker"),
        ("HIPCPU_INCLUDE", "/nowhere", "HIPCPU_INCLUDE"),
    ],
)
def test_a_missing_tool_is_explained(
    hiprtc: Hiprtc, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, text: str
) -> None:
    monkeypatch.setenv(variable, value)
    compiled = hiprtc.compile(GOOD)
    assert compiled.result == COMPILATION
    assert text in compiled.log


def test_the_compiler_may_be_given_one_word_a_line(
    hiprtc: Hiprtc, monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    link = os.path.join(tmp_path, "é compiler")
    os.symlink(compiler(), link)
    monkeypatch.setenv("HIPCPU_CXX", f"{link}\n-DGIVEN=1")
    compiled = hiprtc.compile("#ifndef GIVEN\n#error words are lost\n#endif\n" + GOOD)
    assert compiled.result == SUCCESS, compiled.log


def test_no_compiler_in_path(hiprtc: Hiprtc, monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.delenv("HIPCPU_CXX", raising=False)
    compiled = hiprtc.compile(GOOD)
    assert compiled.result == COMPILATION
    assert "no C++ compiler" in compiled.log


def test_nothing_is_left_in_the_temporary_folder(
    hiprtc: Hiprtc, monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))
    assert hiprtc.compile(GOOD).result == SUCCESS
    assert hiprtc.compile("#error no").result == COMPILATION
    assert os.listdir(tmp_path) == []


def test_handles_that_are_not_alive(hiprtc: Hiprtc) -> None:
    library = hiprtc.library
    gone = hiprtc.create(GOOD)
    copy = ctypes.c_void_p(gone.value)
    assert library.hiprtcDestroyProgram(ctypes.byref(gone)) == SUCCESS
    assert gone.value is None
    size = ctypes.c_size_t()
    for handle in (copy, ctypes.c_void_p(None), ctypes.c_void_p(12345)):
        assert library.hiprtcCompileProgram(handle, 0, None) == INVALID_PROGRAM
        assert library.hiprtcGetCodeSize(handle, ctypes.byref(size)) == INVALID_PROGRAM
        assert library.hiprtcGetProgramLogSize(handle, ctypes.byref(size)) == INVALID_PROGRAM
        assert library.hiprtcAddNameExpression(handle, b"k") == INVALID_PROGRAM
        assert library.hiprtcDestroyProgram(ctypes.byref(handle)) == INVALID_PROGRAM


def test_null_arguments(hiprtc: Hiprtc) -> None:
    library = hiprtc.library
    handle = hiprtc.create(GOOD)
    assert library.hiprtcCreateProgram(None, b"", b"", 0, None, None) == INVALID_INPUT
    assert library.hiprtcCreateProgram(ctypes.byref(ctypes.c_void_p()), None, b"", 0, None, None) == INVALID_INPUT
    assert library.hiprtcCreateProgram(ctypes.byref(ctypes.c_void_p()), b"", b"", 1, None, None) == INVALID_INPUT
    assert library.hiprtcCompileProgram(handle, 1, None) == INVALID_INPUT
    assert library.hiprtcGetCode(handle, None) == INVALID_INPUT
    assert library.hiprtcGetLoweredName(handle, None, None) == INVALID_INPUT
    assert library.hiprtcVersion(None, None) == INVALID_INPUT
    assert library.hiprtcDestroyProgram(ctypes.byref(handle)) == SUCCESS


def test_order_of_calls(hiprtc: Hiprtc) -> None:
    library = hiprtc.library
    handle = hiprtc.create(GOOD)
    text, size = ctypes.c_char_p(), ctypes.c_size_t()
    assert library.hiprtcGetLoweredName(handle, b"k", ctypes.byref(text)) == NO_LOWERED_NAMES_BEFORE_COMPILATION
    assert library.hiprtcGetCodeSize(handle, ctypes.byref(size)) == INVALID_PROGRAM
    assert library.hiprtcCompileProgram(handle, 0, None) == SUCCESS
    assert library.hiprtcGetLoweredName(handle, b"k", ctypes.byref(text)) == NAME_EXPRESSION_NOT_VALID
    assert library.hiprtcDestroyProgram(ctypes.byref(handle)) == SUCCESS


def test_results_have_names(hiprtc: Hiprtc) -> None:
    names = [hiprtc.library.hiprtcGetErrorString(i).decode() for i in (*range(12), 100)]
    assert names[0] == "HIPRTC_SUCCESS"
    assert names[COMPILATION] == "HIPRTC_ERROR_COMPILATION"
    assert len(set(names)) == 13
    assert all(name.startswith("HIPRTC_") for name in names)
    assert hiprtc.library.hiprtcGetErrorString(77).decode() == "invalid hiprtcResult"


def test_the_module_is_sealed(hiprtc: Hiprtc) -> None:
    code = hiprtc.compile(GOOD).code
    magic, size, _ = struct.unpack("<8sQQ", code[-24:])
    assert code[:4] == b"\x7fELF"
    assert magic == b"SIMTSEAL"
    assert size == len(code) - 24


@pytest.mark.slow("compiles a source per call")
def test_programs_compile_side_by_side(hiprtc: Hiprtc) -> None:
    sources = [f'extern "C" __global__ void k{i}(int *p) {{ *p = {i}; }}' for i in range(4)]
    with ThreadPoolExecutor(2) as pool:
        compiled = list(pool.map(hiprtc.compile, sources))
    assert [set(c.kernels) for c in compiled] == [{f"k{i}"} for i in range(4)]
