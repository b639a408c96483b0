"""A cut of a source decides no verdict: where it does not do, the whole source is compiled."""

from __future__ import annotations

import pytest

from tests.cli.small_port import PORT

WHOLE_OR_NOTHING = """#ifdef __SIMT_CPU__
#define GLUE(first, second) first##second
void *const pasted = (void *)GLUE(fill_, f32);
#endif
"""
ANOTHER_HERE = """#include <hip/hip_runtime.h>
#define FILL(name, T) \\
  extern "C" __global__ void name(T *buf, T value, size_t numel) { \\
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x) \\
      buf[i] = value; \\
  }
#ifdef __SIMT_CPU__
#define TWO(first, T, second, U) FILL(first, T) FILL(second, U)
#else
#define TWO(first, T, second, U) FILL(first, T)
#endif
TWO(fill_u32, unsigned, fill_f32, float)
FILL(fill_u8, unsigned char)
"""


@pytest.mark.slow("compiles two texts of a source")
def test_a_kernel_that_the_cut_does_not_see_the_need_of(cli, port) -> None:
    said = cli("run", "fill_u32", "--runtime", "cpu", "--kernels", port(PORT + WHOLE_OR_NOTHING, "fill.hip"))
    kernel = said.kernel("fill_u32")
    assert (kernel["status"], kernel["source"]) == ("pass", "port/fill.hip:7")


@pytest.mark.slow("compiles two texts of a source")
def test_a_kernel_that_only_this_runtime_gets_to_see(cli, port) -> None:
    folder = port(ANOTHER_HERE, "fill.hip")
    said = cli("run", "fill_u8", "fill_f32", "fill_i64", "--runtime", "cpu", "--kernels", folder)
    found = {name: said.kernel(name)["status"] for name in ("fill_u8", "fill_f32", "fill_i64")}
    assert found == {"fill_u8": "pass", "fill_f32": "pass", "fill_i64": "missing"}
