"""The tables of __shared__ variables that a module compiled by clang has."""

from __future__ import annotations

import ctypes
import os

import pytest

from tests.cpu_hiprtc.conftest import SUCCESS, Compiled, Hiprtc, compiler

SOURCE = """
struct Pair { double value; int index; };
__shared__ int of_the_file[3];
static __shared__ Pair hidden;
extern "C" __global__ void none(float *p) { *p = 1; }
extern "C" __global__ void one(float *p) { __shared__ float shelf[100]; shelf[threadIdx.x] = *p; *p = shelf[1]; }
template <class T> __device__ __attribute__((noinline)) T helper(T value) {
  __shared__ T box[2];
  box[threadIdx.x & 1] = value;
  return box[0];
}
extern "C" __global__ void called(double *p) { *p = helper(*p) + helper(1) + of_the_file[1]; }
__device__ int by_pointer(int i) { __shared__ __align__(64) int far[5]; far[i] = i; return far[0]; }
__device__ int (*const table[])(int) = {by_pointer};
extern "C" __global__ void pointed(int *p) { *p = table[*p](3) + hidden.index; }
extern "C" __global__ void counts(int *p) { *p = __syncthreads_count(*p); }
"""


class Variable(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("bytes", ctypes.c_ulong), ("align", ctypes.c_ulong))


class Use(ctypes.Structure):
    _fields_ = (("run", ctypes.c_void_p), ("variables", ctypes.POINTER(ctypes.c_uint)), ("count", ctypes.c_ulong))


def uses(hiprtc: Hiprtc, compiled: Compiled) -> dict[str, dict[str, tuple[int, int]]]:
    """For each kernel the variables it uses, by mangled name: bytes and alignment."""
    module = ctypes.CDLL(os.fspath(hiprtc.folder / f"module{hiprtc.modules}.so"), mode=os.RTLD_LAZY)

    def number(name: str) -> int:
        return ctypes.c_ulong.in_dll(module, name).value

    variables = (Variable * number("simt_shared_variable_count")).in_dll(module, "simt_shared_variables")
    table = (Use * number("simt_shared_use_count")).in_dll(module, "simt_shared_uses")
    assert len(table) == len(compiled.kernels)
    found = {}
    for name, use in zip(compiled.kernels, table, strict=True):
        rows = [variables[index] for index in use.variables[: use.count]]
        found[name] = {row.name.decode(): (row.bytes, row.align) for row in rows}
    return found


@pytest.mark.slow("compiles a source per row")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_each_kernel_is_known_with_the_variables_it_can_reach(hiprtc: Hiprtc, level: str) -> None:
    if os.path.basename(compiler()).startswith("g++"):
        pytest.skip("g++ leaves shared memory thread-local")
    compiled = hiprtc.compile(SOURCE, level)
    assert compiled.result == SUCCESS, compiled.log
    assert uses(hiprtc, compiled) == {
        "none": {},
        "one": {"_ZZ3oneE5shelf": (400, 16)},
        "called": {"_ZZ6helperIdET_S0_E3box": (16, 16), "_ZZ6helperIiET_S0_E3box": (8, 4), "of_the_file": (12, 4)},
        "pointed": {"_ZZ10by_pointeriE3far": (20, 64), "_ZL6hidden": (16, 8)},
        "counts": {"_ZZN4simt11block_countEbPKciE5count": (4, 4)},
    }
