"""The kernels of a code object, read from its bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.runtimes.cpu.table import HostKernel, host_kernels

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import sys
from tests.device import LaunchingDevice
from conformance.runtimes import open_runtime
code = LaunchingDevice(open_runtime("cpu", wave=64, threads=1)).compile(sys.stdin.read(), "two.hip", [])
sys.stdout.buffer.write(code)
"""

SOURCE = """#include <hip/hip_runtime.h>
#include <cstdlib>
// Nothing of it may be run to learn what it defines.
struct Forger { Forger() { abort(); } };
static Forger forger;
extern "C" __global__ void none() {}
extern "C" __global__ void two(const float *in, unsigned char n) {}
"""


@pytest.fixture(scope="module")
def code() -> bytes:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=SOURCE.encode(), cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_kernels_have_their_parameters_and_lines(code):
    kernels = {kernel.name: kernel for kernel in host_kernels(code)}
    assert kernels.keys() == {"none", "two"}
    assert kernels["none"] == HostKernel("none", "two.hip", 6, ())
    assert kernels["two"].params == (("float const*", 8), ("unsigned char", 1))


def test_what_is_no_such_code_object_is_a_value_error(code):
    for damaged in (b"", b"\x7fELF", code[:500], code[: len(code) // 2], bytes(5000)):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is missing first
            host_kernels(damaged)
