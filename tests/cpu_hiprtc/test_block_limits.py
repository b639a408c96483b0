"""How large a kernel's blocks may be, as its source says: read without evaluating what is no constant here."""

from __future__ import annotations

import pytest

from conformance.runtimes.cpu.table import host_kernels
from tests.cpu_hiprtc.conftest import Hiprtc

SOURCE = """
#include <hip/hip_runtime.h>
#define BLOCK(n) (n) / 2
namespace { constexpr int threads = 64; }
namespace tiles { template <int A, int B> struct Tile { static constexpr int threads = A * B; };
  struct Small { static constexpr int threads = 96; }; }
#define KERNEL extern "C" __global__ void
KERNEL free_of_limits(int *) {}
KERNEL __launch_bounds__(256) bounded(int *) {}
KERNEL __launch_bounds__(256, 2) with_blocks(int *) {}
KERNEL __launch_bounds__(BLOCK(1024), 1) by_macro(int *) {}
KERNEL __launch_bounds__(threads * 2) by_constant(int *) {}
KERNEL __launch_bounds__(1 << 7) shifted(int *) {}
extern "C" __launch_bounds__(tiles::Small::threads) __global__ void before(int *) {}
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 192))) by_attribute(int *) {}
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, threads), used)) void next_to_another(int *) {}
extern "C" [[clang::amdgpu_flat_work_group_size(1, 160)]] __global__ void in_brackets(int *) {}
KERNEL __attribute__((amdgpu_waves_per_eu(1, 1))) waves_alone(int *) {}
KERNEL __launch_bounds__(tiles::Tile<8, 4>::threads) template_arguments(int *) {}
KERNEL __launch_bounds__(warpSize * 4) no_constant(int *) {}
namespace inner { extern "C" { __global__ void __launch_bounds__(32) within(int *) {} } }
"""
LIMITS = {
    **{"free_of_limits": 0, "bounded": 256, "with_blocks": 256, "by_macro": 512, "by_constant": 128, "shifted": 128},
    **{"before": 96, "by_attribute": 192, "next_to_another": 64, "in_brackets": 160, "within": 32},
    # LLVM gives it blocks of 1,024 threads: tests/port/test_block_limits.py.
    "waves_alone": 0,
    # Not known here, so that they limit nothing: a comma between < and >, and what only a thread knows.
    **{"template_arguments": 0, "no_constant": 0},
}


@pytest.mark.slow("compiles a source")
def test_a_kernel_has_the_limit_that_its_source_gives_it(hiprtc: Hiprtc) -> None:
    whole, part = hiprtc.compile(SOURCE), hiprtc.compile(SOURCE, "-DSIMT_ONLY=before,within")
    assert (whole.log, part.log) == ("", "")
    assert {kernel.name: kernel.most_threads for kernel in host_kernels(whole.code)} == LIMITS
    assert {kernel.name: kernel.most_threads for kernel in host_kernels(part.code)} == {"before": 96, "within": 32}
