"""Every function of kernels/include/target_amd.h by itself, executed as machine code, against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.dtypes import dtype
from conformance.port.amd_cache import compile_cached
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.errors import AmdError
from conformance.toolchains.targets import targets_of
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_vector_instructions import SPECIAL, held, same, wide_fma

N = 1 << 16
ROWS = 17
Words = NDArray[np.uint32]


def answers(a: Words, b: Words, c: Words) -> list[NDArray[Any]]:
    """What each row must be, as f32, f16 or words."""
    all_halves = np.arange(N, dtype=np.uint16).view(np.float16)
    halves = [word.astype(np.uint16).view(np.float16) for word in (a, b, c)]
    bytes_a, bytes_b = (word.view(np.int8).reshape(N, 4).astype(np.int64) for word in (a, b))
    x, y = a.view(np.float32), b.view(np.float32)
    lane = np.arange(N)
    shuffled = [a[lane ^ mask] for mask in (1, 2, 4, 8, 16)]
    sums = ((bytes_a * bytes_b).sum(1) + c.view(np.int32)).astype(np.uint32)
    bytes_as_floats = np.arange(N, dtype=np.uint8).view(dtype("f8e4m3").numpy).astype(np.float32)
    with np.errstate(all="ignore"):
        rounded = [x.astype(np.float16), (x * y).astype(np.float16), wide_fma(*halves)]
    wide = [a[lane ^ 1], b[lane ^ 8], a[lane ^ 16]]
    kept = [c.view(np.float32), b]
    return [all_halves.astype(np.float32), *rounded, sums, bytes_as_floats, *shuffled, *wide, *kept, held(np.int32)(x)]


TARGETS = ["gfx942", "gfx90a", "gfx1030", "gfx1100", "gfx1201"]
WAVES = {"gfx942": 64, "gfx90a": 64, "gfx1100": 32, "gfx1201": 32}
"""The lanes of a wave where there are products of matrices."""


def compiled(source: str, target: str) -> bytes:
    (wanted,) = targets_of(target)
    try:
        toolchain = find_toolchain([wanted], HIPCC_KINDS)
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")
    return compile_cached(toolchain, Path(__file__).with_name(source), wanted).code


@pytest.mark.parametrize("target", TARGETS)
def test_functions_of_the_target_are_exact(machine: Machine, target: str) -> None:
    code = compiled("target.hip", target)
    random = np.random.default_rng(11)
    special = np.array(SPECIAL[np.float32], np.float32).view(np.uint32)
    a, b, c = (random.integers(0, 1 << 32, N, np.uint32) for _ in range(3))
    a[: special.size**2], b[: special.size**2] = np.repeat(special, special.size), np.tile(special, special.size)
    out = np.zeros((ROWS, N), np.uint32)
    failed, message, after = machine.launch(code, a, b, c, out, grid=N // 64, threads=2, timeout_ms=60000)
    assert failed == 0, message
    for got, expected in zip(after[3], answers(a, b, c), strict=True):
        same(got.astype(f"u{expected.itemsize}").view(expected.dtype), expected)


def product(rows: Words, columns: Words, addends: NDArray[Any], kind: Any, depth: int) -> NDArray[Any]:
    """Of the first ``depth`` elements of each row and column, exact."""
    wide = (words.view(kind)[:, :depth].astype(np.float64) for words in (rows, columns))
    return next(wide) @ next(wide).T + addends


@pytest.mark.parametrize("target", WAVES)
def test_products_of_matrices_are_exact(machine: Machine, target: str) -> None:
    """Of 16 bytes, of 32, of 16 f16 and of 16 bf16, all of the same words: small integers as bf16."""
    random = np.random.default_rng(12)
    brain = dtype("bf16").numpy
    rows, columns = (random.integers(-15, 16, (16, 16)).astype(brain).view(np.uint32) for _ in range(2))
    addends = random.integers(-999, 999, (16, 16), np.int32)
    out = np.zeros((4, 16, 16), np.uint32)
    failed, message, after = machine.launch(
        compiled("matrices.hip", target), rows, columns, addends, out, block=WAVES[target]
    )
    assert failed == 0, message
    kinds = [(np.int8, 16, np.int32), (np.int8, 32, np.int32), (np.float16, 16, np.float32), (brain, 16, np.float32)]
    for got, (kind, depth, result) in zip(after[3], kinds, strict=True):
        same(got.view(result), product(rows, columns, addends, kind, depth).astype(result))
