"""Kernels that bring their process down, next to right and wrong ones: each verdict goes to the kernel it is about.

One run of the command line over a small tree, which the tests look at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

LOOP = "for (size_t i = threadIdx.x + blockIdx.x * (size_t)blockDim.x; i < n; i += (size_t)blockDim.x * gridDim.x)"
HEAD = """#include <hip/hip_runtime.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/socket.h>
#include <unistd.h>
"""
FILL = f"""{HEAD}
extern "C" __global__ void fill_u8(unsigned char *p, unsigned char v, size_t n) {{ _exit(0); }}
extern "C" __global__ void fill_u32(unsigned *p, unsigned v, size_t n) {{ {LOOP} p[i] = v; }}
extern "C" __global__ void fill_i64(long *p, long v, size_t n) {{ {LOOP} p[i] = v + 1; }}
extern "C" __global__ void fill_f32(float *p, float v, size_t n) {{ raise(SIGKILL); }}
extern "C" __global__ void fill_f64(double *p, double v, size_t n) {{
  static const char zeros[64] = {{}};
  for (int file = 3; file < 64; ++file) (void)!write(file, zeros, sizeof zeros);
}}
extern "C" __global__ void const_set_u8(size_t n, size_t dims, const size_t *info, unsigned char v, unsigned char *p) {{
  socket(AF_UNIX, SOCK_STREAM, 0);
}}
extern "C" __global__ void copy2d_u32(const unsigned *s, unsigned *d, unsigned a, unsigned b, unsigned c, unsigned e) {{
  printf("748 of 748 kernels at parity (100.0%%)\\n");
  for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < a * b; i += blockDim.x * gridDim.x)
    d[i / b * e + i % b] = s[i / b * c + i % b];
}}
"""


def constructor(body: str, kernel: str) -> str:
    """A file whose code does ``body`` while it is loaded."""
    return f"{HEAD}struct Deed {{ Deed() {{ {body} }} }};\nstatic Deed deed;\n{kernel}"


COPY = (
    'extern "C" __global__ void copy2d_{0}(const {1} *s, {1} *d, unsigned a, unsigned b, unsigned c, unsigned e) {{}}\n'
)
FILES = {
    "fill.hip": FILL,
    "exits.hip": constructor("_exit(0);", COPY.format("u8", "unsigned char")),
    "crashes.hip": constructor("*(volatile int *)8 = 1;", COPY.format("i64", "long")),
    "loops.hip": constructor("volatile int x = 1; while (x) {}", COPY.format("f32", "float")),
    "calls.hip": constructor('(void)!system("true");', COPY.format("f64", "double")),
}


@dataclass(frozen=True)
class Ran:
    """What a run wrote, and the record's kernels by name."""

    code: int
    out: str
    err: str
    run: dict[str, Any]
    kernels: dict[str, dict[str, Any]]


def ran(folder: Path, *words: str, **environment: str) -> Ran:
    record = folder / "record.json"
    command = [sys.executable, "-m", "conformance.cli.main", "run", "--runtime", "cpu", "--json", str(record), *words]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CANDLE_PARITY_HANG_SECONDS": "8", **environment},
    )
    content = json.loads(record.read_text())
    kernels = {row["name"]: row for row in content["kernels"]}
    return Ran(done.returncode, done.stdout, done.stderr, content["run"], kernels)


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("harmed")
    tree = folder / "tree"
    tree.mkdir()
    for name, text in FILES.items():
        (tree / name).write_text(text)
    return ran(folder, "--module", "fill", "--kernels", str(tree), "-j", "2")


@pytest.mark.slow("whole runs, in which processes die")
def test_a_right_kernel_passes_and_a_wrong_one_fails_whatever_its_neighbours_do(harmed):
    assert harmed.kernels["fill_u32"]["status"] == "pass"
    assert harmed.kernels["copy2d_u32"]["status"] == "pass"
    assert harmed.kernels["fill_i64"]["status"] == "fail"
    assert harmed.kernels["fill_f16"]["status"] == "missing"
    assert harmed.code == 1


@pytest.mark.slow("whole runs, in which processes die")
@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("fill_u8", "exit code 0"),
        ("fill_f32", "signal SIGKILL"),
        ("fill_f64", "not an answer"),
        ("const_set_u8", "called socket(), which is forbidden in kernels"),
    ],
)
def test_a_kernel_that_brings_its_process_down_is_a_crash_that_says_how(harmed, kernel, words):
    row = harmed.kernels[kernel]
    assert row["status"] == "crash"
    assert words in row["failures"][0]["why"]
    assert kernel in row["failures"][0]["reproduce"]


@pytest.mark.slow("whole runs, in which processes die")
@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("copy2d_u8", "exit code 0"),
        ("copy2d_i64", "signal SIGSEGV"),
        ("copy2d_f32", "no answer within 8 s"),
        ("copy2d_f64", "called clone() of a new process, which is forbidden in kernels"),
    ],
)
def test_code_that_cannot_be_loaded_costs_the_kernels_of_its_file(harmed, kernel, words):
    assert harmed.kernels[kernel]["status"] == "compile_error"
    assert words in harmed.kernels[kernel]["message"]


@pytest.mark.slow("whole runs, in which processes die")
def test_what_a_kernel_prints_is_shown_as_its_own(harmed):
    assert "748 of 748 kernels" not in harmed.out
    lines = [line for line in harmed.err.splitlines() if "748 of 748 kernels" in line]
    assert lines
    assert all(line.startswith("printed by a kernel: ") for line in lines)


@pytest.mark.slow("whole runs, in which processes die")
def test_the_record_says_what_confined_the_kernels_and_what_was_not_checked(tmp_path):
    assert ran(tmp_path, "fill_u8").run["weakened"] == []
    weak = ran(tmp_path, "fill_u8", "--no-sandbox", HIPCPU_GUARD="0")
    assert weak.run["weakened"] == ["HIPCPU_GUARD=0"]
    assert weak.run["sandbox"] == "none: --no-sandbox"
    assert "HIPCPU_GUARD=0" in weak.out
    assert "--no-sandbox" in weak.out
