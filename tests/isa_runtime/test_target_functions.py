"""Every function of kernels/include/target_amd.h by itself, executed as machine code, against numpy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.dtypes import dtype
from conformance.port.amd_cache import compile_cached
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.targets import AmdError, targets_of
from tests.isa_runtime.instructions.conversions import held
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import FAILURE
from tests.isa_runtime.test_vector_instructions import SPECIAL, same, wide_fma

N = 1 << 16
EXACT_ROWS, ROWS = 24, 26
TRAPS = 0x0BADF00D
"""The word that the kernel refuses."""
Words = NDArray[np.uint32]
HEADER = Path(__file__).parents[2] / "kernels" / "include" / "target_amd.h"


def to_odd(exact: NDArray[np.float64]) -> NDArray[np.float32]:
    """Towards zero, and odd where that is not exact: rounded once more, to less digits, it is as if only once."""
    near = exact.astype(np.float32)
    bits = near.view(np.uint32) - (np.abs(near.astype(np.float64)) > np.abs(exact))
    return np.where(near == exact, near, (bits | 1).astype(np.uint32).view(np.float32))


def fma_bf16(a: Words, b: Words, c: Words) -> NDArray[np.float32]:
    """Rounded once: the product is exact, and the sum is rounded to odd."""
    x, y, z = ((word << 16).view(np.float32).astype(np.float64) for word in (a, b, c))
    product = x * y
    total = product + z
    of_z = total - product
    lost = (product - (total - of_z)) + (z - of_z)
    bits = total.view(np.int64) - ((lost < 0) != (total < 0))
    odd = np.where(np.isfinite(total) & (lost != 0), (bits | 1).view(np.float64), total)
    return np.where(np.isfinite(total), to_odd(odd), total.astype(np.float32))


def answers(a: Words, b: Words, c: Words) -> list[NDArray[Any]]:
    """What each row must be, as floats of some kind or words."""
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
    bf16, f8 = dtype("bf16").numpy, dtype("f8e4m3").numpy
    with np.errstate(all="ignore"):
        narrow = [x.astype(bf16), np.clip(x, -448, 448).astype(f8), fma_bf16(a, b, c).astype(bf16)]
    first = [all_halves.astype(np.float32), *rounded, sums, bytes_as_floats, *shuffled, *wide, *kept]
    with np.errstate(all="ignore"):
        stepwise = [halves[0] + halves[1], halves[0] * halves[1]]
    return [*first, held(np.int32)(x), *narrow, sums, *stepwise, c]


def approximated(a: Words) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """exp2 and reciprocal, which the hardware approximates."""
    with np.errstate(all="ignore"):
        wide = a.view(np.float32).astype(np.float64)
        return np.exp2(wide), 1 / wide


def assert_near(got: NDArray[np.float32], exact: NDArray[np.float64], ulps: int) -> None:
    """At most ``ulps`` from ``exact``; a subnormal number, as argument or result, may be flushed to zero."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32)
        right = np.abs(got - exact) <= ulps * np.spacing(np.abs(nearest)).astype(np.float64)
    tiny, huge = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    right |= (got == nearest) | (np.isnan(got) & np.isnan(exact)) | ((np.abs(exact) < tiny) & (got == 0))
    right |= (np.abs(exact) > huge / 4) & np.isinf(got)
    assert np.flatnonzero(~right).size == 0, f"{got[~right][:3]}, expected {exact[~right][:3]}"


def as_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Of the types that are not numpy's."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


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


@pytest.mark.slow("compiles for AMD targets and interprets the code")
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
    for got, expected in zip(after[3][:EXACT_ROWS], answers(a, b, c), strict=True):
        same(as_floats(got.astype(f"u{expected.itemsize}").view(expected.dtype)), as_floats(expected))
    for got, exact, ulps in zip(after[3][EXACT_ROWS:], approximated(a), (2, 1), strict=True):
        assert_near(got.view(np.float32), exact, ulps)
    c[5] = TRAPS
    failed, message, _ = machine.launch(code, a, b, c, out, grid=N // 64, threads=2, timeout_ms=60000)
    assert failed == FAILURE
    assert "thread (5,0,0)" in message
    assert "executed a trap instruction" in message


def test_every_function_of_the_header_is_called() -> None:
    header, kernel = HEADER.read_text(), Path(__file__).with_name("target.hip").read_text()
    functions = re.findall(r"^__device__ inline \w+ (\w+)\(", header, re.M)
    defined = {*functions, *re.findall(r"^using portable::(\w+);", header, re.M)}
    assert len(defined) > 10
    assert {name for name in defined if f"target::{name}" not in kernel} == set()


def product(rows: Words, columns: Words, addends: NDArray[Any], kind: Any, depth: int) -> NDArray[Any]:
    """Of the first ``depth`` elements of each row and column, exact."""
    wide = (words.view(kind)[:, :depth].astype(np.float64) for words in (rows, columns))
    return next(wide) @ next(wide).T + addends


@pytest.mark.slow("compiles for AMD targets and interprets the code")
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
