"""Barriers that a wave reaches with stores to shared memory in flight, found in code objects made by hand."""

from __future__ import annotations

from pathlib import Path

import elf
import pytest

from conformance.port.check.early_barriers import early_barriers
from conformance.port.code_objects import parse
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import AmdError
from conformance.toolchains.targets import target as target_of

STORE = {"gfx90a": (0xD81A0000, 0x100), "gfx942": (0xD81A0000, 0x100), "gfx1030": (0xD8340000, 0x100)}
STORE["gfx1100"] = STORE["gfx1030"]
"""ds_write_b32 v0, v1"""
LOAD = {"gfx90a": (0xD86C0000, 0), "gfx942": (0xD86C0000, 0), "gfx1030": (0xD8D80000, 0), "gfx1100": (0xD8D80000, 0)}
"""ds_read_b32 v0, v0"""
WAIT = {"gfx90a": 0xBF8CC07F, "gfx942": 0xBF8CC07F, "gfx1030": 0xBF8CC07F, "gfx1100": 0xBF89FC07}
"""s_waitcnt lgkmcnt(0)"""
WAIT_FOR_MEMORY = {"gfx90a": 0xBF8C0F70, "gfx942": 0xBF8C0F70, "gfx1030": 0xBF8C3F70, "gfx1100": 0xBF8903F7}
"""s_waitcnt vmcnt(0)"""
BARRIER = {"gfx90a": 0xBF8A0000, "gfx942": 0xBF8A0000, "gfx1030": 0xBF8A0000, "gfx1100": 0xBFBD0000}
BACK = {"gfx90a": 0xBF820000, "gfx942": 0xBF820000, "gfx1030": 0xBF820000, "gfx1100": 0xBFA00000}
"""s_branch"""
END = {"gfx90a": 0xBF810000, "gfx942": 0xBF810000, "gfx1030": 0xBF810000, "gfx1100": 0xBFB00000}
TARGETS = list(WAIT)


def back(target: str, words: int) -> int:
    """A branch over the ``words`` before it."""
    return BACK[target] | (-words - 1) & 0xFFFF


def found(target: str, *words: int) -> list[int]:
    """Which words are such barriers."""
    file = elf.with_functions(elf.metadata(target, []), {"fast_sum_f16": (*words, END[target])})
    early = early_barriers(parse(file, "made by hand"))
    assert {one.function for one in early} <= {"fast_sum_f16"}
    return [one.address // 4 for one in early]


@pytest.mark.parametrize("target", TARGETS)
def test_a_barrier_behind_a_store_is_found(target: str) -> None:
    assert found(target, *STORE[target], BARRIER[target]) == [2]
    assert found(target, *STORE[target], WAIT_FOR_MEMORY[target], BARRIER[target]) == [3]


@pytest.mark.parametrize("target", TARGETS)
def test_one_that_is_waited_for_is_right(target: str) -> None:
    assert found(target, *STORE[target], WAIT[target], BARRIER[target]) == []
    assert found(target, *LOAD[target], BARRIER[target]) == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_goes_from_the_store_back_to_the_barrier_is_found(target: str) -> None:
    store, wait, barrier = STORE[target], WAIT[target], BARRIER[target]
    assert found(target, *store, wait, barrier, *store, back(target, 3)) == [3]
    assert found(target, *store, wait, barrier, *store, wait, back(target, 4)) == []
    assert found(target, *store, wait, barrier, *store, back(target, 4)) == []


def test_what_no_way_comes_to_is_not() -> None:
    over = BACK["gfx942"] | 1
    assert found("gfx942", *STORE["gfx942"], over, BARRIER["gfx942"], WAIT["gfx942"]) == []


def test_a_target_whose_encodings_are_not_known_tells_nothing() -> None:
    file = elf.with_functions(elf.metadata("gfx1201", []), {"k": (*STORE["gfx1100"], BARRIER["gfx1100"])})
    assert early_barriers(parse(file, "made by hand")) == []


PLAIN = "__builtin_amdgcn_s_barrier()"
"""A barrier that orders no stores."""
LOOP = """#include <hip/hip_runtime.h>
extern "C" __global__ void k(float *p) {
  __shared__ float shr[256];
  const int t = threadIdx.x;
  shr[t] = p[t];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    BARRIER;
    if (t < s) shr[t] += shr[t + s];
  }
  __syncthreads();
  p[t] = shr[0];
}
"""


@pytest.mark.slow("compiles a source for an AMD target")
@pytest.mark.parametrize(("barrier", "from_source"), [("__syncthreads()", True), (PLAIN, False)])
def test_the_line_table_says_whether_the_source_has_the_barrier(
    barrier: str, from_source: bool, tmp_path: Path
) -> None:
    try:
        toolchain = find_toolchain([target_of("gfx942")], HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    source, code = tmp_path / "k.hip", tmp_path / "code"
    source.write_text(LOOP)
    toolchain.compile(source, target_of("gfx942"), code, ["-gline-tables-only", f"-DBARRIER={barrier}"])
    early = early_barriers(parse(code.read_bytes(), "k"))
    if from_source and not early:
        pytest.skip(f"{toolchain.name} keeps the wait")
    assert {(one.function, one.from_source) for one in early} == {("k", from_source)}
    assert {one.place for one in early} == {f"{source}:8" if from_source else None}
