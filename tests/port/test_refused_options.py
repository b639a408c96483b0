"""A compiler that refuses an option of the harness's says nothing of the port."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from conformance.port.compiling.diagnostics import refused_option
from tests.commands import answer

KERNEL = """#include <hip/hip_runtime.h>
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) buf[i] = value;
}
"""


@pytest.mark.parametrize(
    "log",
    [
        "clang: error: unsupported argument 'fast-honor-pragmas' to option '-ffp-contract='",
        "clang++-16: error: unknown argument: '-fx'",
        "clang: error: unknown argument '-fx'; did you mean '-fy'?",
        "clang: error: unsupported option '-fx' for target 'x86_64-pc-linux-gnu'",
        "g++: error: unrecognized command-line option '-fx'",
        "clang (LLVM option parsing): Unknown command line argument '-pragma-unroll-threshold=64'.",
    ],
)
def test_a_refused_option_is_found_in_the_log(log: str) -> None:
    said = refused_option(f"a warning\n{log}\n1 error generated.\n")
    assert said is not None
    assert "refuses an option (" in said


@pytest.mark.parametrize(
    "log",
    [
        "k.hip:1:2: error: unknown argument: '-fx'",
        "k.hip:3:4: error: unknown type name 'half'",
        "k.hip:3:4: error: no member\n    3 | // clang: error: unknown argument '-fx'",
    ],
)
def test_what_a_source_says_is_none(log: str) -> None:
    assert refused_option(log) is None


@pytest.mark.slow("compiles a small port")
def test_the_kernels_are_not_run_and_the_exit_code_is_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = shutil.which("clang++-19") or shutil.which("clang++")
    if real is None:
        pytest.skip("no clang++ on this machine")
    compiler = tmp_path / "clang++"
    refusal = "clang: error: unsupported argument 'fast-honor-pragmas' to option '-ffp-contract='"
    compiler.write_text(
        f'#!/bin/sh\ncase "$*" in *-fsanitize-trap=local-bounds*) echo {shlex.quote(refusal)} >&2; exit 1;; esac\n'
        f'exec {real} "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CANDLE_PARITY_CXX", str(compiler))
    (tmp_path / "port").mkdir()
    (tmp_path / "port/fill.hip").write_text(KERNEL)
    done = answer(capfd, "run", "--runtime", "cpu", "--wave", 64, "--kernels", tmp_path / "port", "fill_u8")
    assert done.code == 2
    assert "refuses an option (unsupported argument" in " ".join(done.err.split())
    assert "pass" not in done.out
    assert "compile_error" not in done.out
