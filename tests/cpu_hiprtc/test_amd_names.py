"""Names that only AMD's compiler has: asm labels of intrinsics and library functions, clang's builtins for AMD GPUs.

Each is computed in a wave of 64 lanes and held against a model of the instruction.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu_hiprtc.conftest import SUCCESS, Hiprtc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORD = 1 << 32

HEAD = """
#include <hip/hip_runtime.h>
#include <math.h>
__device__ unsigned bits(float v) { unsigned w; __builtin_memcpy(&w, &v, 4); return w; }
__device__ unsigned bits(double v) { return bits((float)v); }
__device__ unsigned bits(int v) { return v; }
__device__ unsigned bits(bool v) { return v; }
__device__ unsigned bits(unsigned v) { return v; }
__device__ unsigned bits(unsigned long long v) { return (unsigned)(v ^ v >> 32); }
__device__ unsigned bits(unsigned long v) { return (unsigned)(v ^ v >> 32); }
#ifdef __HIP_DEVICE_COMPILE__
extern "C" {
__device__ float expf(float) __asm__("llvm.exp.f32");
__device__ float fmaxf(float, float) __asm__("llvm.maxnum.f32");
__device__ float __ocml_tanh_f32(float);
__device__ float own_exp(float) __asm__("llvm.exp.f32");
__device__ float own_rsqrt(float) __asm__("__ocml_rsqrt_f32");
__device__ float own_rcp(float x) __asm("llvm.amdgcn.rcp.f32");
#ifndef __CLANG_HIP_MATH_H__
__device__ float tanhf(float x) { return __ocml_tanh_f32(x); }
#endif
}
__device__ float sqrtf(float) asm("__ocml_sqrt_f32");
#endif
"""


def word(i: int) -> int:
    return (i * 0x9E3779B9 + 12345) % WORD


def number(i: int) -> np.float32:
    return np.float32(np.float32(i) * np.float32(0.25) + np.float32(0.125))


def near(function: Callable[[float], float]) -> Callable[[int], np.float32]:
    return lambda i: np.float32(function(float(number(i))))


def fast_exp(i: int) -> np.float32:
    return np.float32(2.0 ** float(4 * number(i) * np.float32(math.log2(math.e))))


def fast_wave(i: int, function: Callable[[float], float]) -> np.float32:
    """Of a number of turns that is rounded to float32, and has no fraction left."""
    turns = float((number(i) + np.float32(2**24)) * np.float32(1 / (2 * math.pi)))
    return np.float32(function(2 * math.pi * (turns - math.floor(turns))))


def part(value: int, at: int, bits: int, signed: bool = False) -> int:
    found = value >> at & (1 << bits) - 1
    return found - (1 << bits) if signed and found >> bits - 1 else found


def dot(a: int, b: int, c: int, bits: int, signed: tuple[bool, bool], clamp: bool) -> int:
    total = c + sum(part(a, at, bits, signed[0]) * part(b, at, bits, signed[1]) for at in range(0, 32, bits))
    low, high = (-(1 << 31), (1 << 31) - 1) if any(signed) else (0, WORD - 1)
    return (min(max(total, low), high) if clamp else total) % WORD


def row(i: int, at: int) -> int | None:
    """Lane ``at`` of the row of 16 that lane ``i`` is in."""
    return (i & ~15) + at if 0 <= at < 16 else None


def read(source: Callable[[int], int | None], otherwise: Callable[[int], int]) -> Callable[[int], int]:
    return lambda i: word(source(i)) if source(i) is not None else otherwise(i)  # type: ignore[arg-type]


def dpp(control: int, old: str = "7", rows: int = 15, banks: int = 15, bound: str = "false") -> str:
    return f"__builtin_amdgcn_update_dpp({old}, (int)u, {control}, {rows}, {banks}, {bound})"


def swizzle(pattern: int) -> str:
    return f"__builtin_amdgcn_ds_swizzle((int)u, {pattern})"


SAD = "(u, 0x01ff0010u, 5u)"


def sad(i: int, bits: int, masked: bool = False) -> int:
    pairs = [(part(word(i), at, bits), part(0x01FF0010, at, bits)) for at in range(0, 32, bits)]
    return sum(abs(p - q) for p, q in pairs if q or not masked)


def sent(i: int) -> int:
    """What lanes send by ds_permute to lane ``i``: lane n to n * 3 / 2, in a wave."""
    senders = [n for n in range(64) if n * 3 // 2 % 64 == i]
    return word(senders[-1]) if senders else 0


ROWS: list[tuple[str, Callable[[int], Any]]] = [
    ("expf(x)", near(math.exp)),
    ("own_exp(x)", near(math.exp)),
    ("fmaxf(x, 7.0f)", lambda i: max(number(i), np.float32(7))),
    ("__ocml_tanh_f32(x)", near(math.tanh)),
    ("tanhf(x)", near(math.tanh)),
    ("sqrtf(x)", lambda i: np.sqrt(number(i))),
    ("own_rsqrt(x)", near(lambda x: 1 / math.sqrt(x))),
    ("own_rcp(x)", lambda i: np.float32(1) / number(i)),
    ("__expf(4 * x)", fast_exp),
    ("__ocml_native_exp_f32(4 * x)", fast_exp),
    ("__sinf(x + 0x1p24f)", lambda i: fast_wave(i, math.sin)),
    ("__cosf(x + 0x1p24f)", lambda i: fast_wave(i, math.cos)),
    # Subnormal numbers are zero.
    ("__builtin_amdgcn_rcpf(x * 0x1p-133f)", lambda i: np.float32(np.inf)),
    ("__builtin_amdgcn_rcpf(x * 0x1p126f) > 0", lambda i: int(number(i) <= 1)),
    ("__builtin_amdgcn_sqrtf(x * 0x1p-133f)", lambda i: np.float32(0)),
    ("__fsqrt_rn(x * 0x1p-133f)", lambda i: np.float32(0)),
    ("__frsqrt_rn(x * 0x1p-133f)", lambda i: np.float32(np.inf)),
    ("__builtin_amdgcn_exp2f(-127 - x)", lambda i: np.float32(0)),
    ("__builtin_amdgcn_logf(x * 0x1p-133f)", lambda i: np.float32(-np.inf)),
    ("__ocml_pow_f64(x, 2.5)", near(lambda x: x**2.5)),
    ("__ocml_exp2_f32(x)", near(lambda x: 2.0**x)),
    ("__builtin_amdgcn_sbfe((int)u, 5, 9)", lambda i: part(word(i), 5, 9, True) % WORD),
    ("__builtin_amdgcn_ubfe(u, 5, 9)", lambda i: part(word(i), 5, 9)),
    ("__builtin_amdgcn_alignbit(u, 0x12345678u, 12)", lambda i: (word(i) << 32 | 0x12345678) >> 12 & WORD - 1),
    ("__builtin_amdgcn_alignbyte(u, 0x12345678u, 3)", lambda i: (word(i) << 32 | 0x12345678) >> 24 & WORD - 1),
    (
        "__builtin_amdgcn_lerp(u, 0x01020304u, 0x00010001u)",
        lambda i: sum(
            (part(word(i), at, 8) + part(0x01020304, at, 8) + (0x00010001 >> at & 1)) // 2 << at
            for at in range(0, 32, 8)
        ),
    ),
    (f"__builtin_amdgcn_sad_u8{SAD}", lambda i: sad(i, 8) + 5),
    (f"__builtin_amdgcn_msad_u8{SAD}", lambda i: sad(i, 8, True) + 5),
    (f"__builtin_amdgcn_sad_hi_u8{SAD}", lambda i: (sad(i, 8) << 16) + 5),
    (f"__builtin_amdgcn_sad_u16{SAD}", lambda i: sad(i, 16) + 5),
    (
        "__builtin_amdgcn_sudot4(true, (int)u, false, (int)~u, 9, false)",
        lambda i: dot(word(i), WORD - 1 - word(i), 9, 8, (True, False), False),
    ),
    (
        "__builtin_amdgcn_sdot8((int)u, (int)~u, 0x7fffffff, true)",
        lambda i: dot(word(i), WORD - 1 - word(i), 0x7FFFFFFF, 4, (True, True), True),
    ),
    (
        "__builtin_amdgcn_udot8(u, u, 0xfffffff0u, true)",
        lambda i: dot(word(i), word(i), 0xFFFFFFF0, 4, (False, False), True),
    ),
    ("__builtin_amdgcn_fmed3f(x, 3.0f, 9.0f)", lambda i: np.clip(number(i), np.float32(3), np.float32(9))),
    ("__builtin_amdgcn_fmed3f(NAN, x + 1, x)", number),  # the least where one is NaN
    (
        "(float)__builtin_amdgcn_fmed3h((_Float16)NAN, (_Float16)(x + 1), (_Float16)x)",
        lambda i: np.float32(np.float16(number(i))),
    ),
    ("__builtin_amdgcn_fractf(-x)", lambda i: -number(i) - np.floor(-number(i))),
    ("__builtin_amdgcn_frexp_expf(x)", lambda i: math.frexp(number(i))[1] % WORD),
    ("__builtin_amdgcn_frexp_mantf(x)", near(lambda x: math.frexp(x)[0])),
    ("__builtin_amdgcn_classf(i == 3 ? -0.0f : i == 4 ? NAN : -x, 1 << 5 | 1 << 1)", lambda i: int(i in (3, 4))),
    ("__builtin_amdgcn_classf(i == 5 ? -INFINITY : -x, 1 << 3)", lambda i: int(i != 5)),
    ("__builtin_amdgcn_sinf(i * 0.125f)", lambda i: np.float32([0, 0.5**0.5, 1, 0.5**0.5][i % 4] * (-1) ** (i // 4))),
    # A wave of 64 lanes.
    (dpp(0x1B), read(lambda i: (i & ~3) + 3 - (i & 3), lambda i: 7)),  # quad_perm:[3,2,1,0]
    (dpp(0x101), read(lambda i: row(i, i % 16 + 1), lambda i: 7)),  # row_shl:1
    (dpp(0x112), read(lambda i: row(i, i % 16 - 2), lambda i: 7)),  # row_shr:2
    (dpp(0x112, bound="true"), read(lambda i: row(i, i % 16 - 2), lambda i: 0)),
    (dpp(0x121), read(lambda i: row(i, (i - 1) % 16), lambda i: 7)),  # row_ror:1
    (dpp(0x140), read(lambda i: row(i, 15 - i % 16), lambda i: 7)),  # row_mirror
    (dpp(0x141), read(lambda i: (i & ~7) + 7 - i % 8, lambda i: 7)),  # row_half_mirror
    (dpp(0x142), read(lambda i: i // 16 * 16 - 1 if i > 15 else None, lambda i: 7)),  # row_bcast:15
    (dpp(0x143), read(lambda i: 31 if i > 31 else None, lambda i: 7)),  # row_bcast:31
    (dpp(0x15A), read(lambda i: row(i, 10), lambda i: 7)),  # row_share:10
    (dpp(0x163), read(lambda i: i ^ 3, lambda i: 7)),  # row_xmask:3
    (dpp(0x140, rows=10), read(lambda i: row(i, 15 - i % 16) if i // 16 % 2 else None, lambda i: 7)),
    (dpp(0x140, banks=3), read(lambda i: row(i, 15 - i % 16) if i % 16 < 8 else None, lambda i: 7)),
    ("__builtin_amdgcn_mov_dpp((int)u, 0x138, 15, 15, true)", read(lambda i: i - 1 if i else None, lambda i: 0)),
    ("__builtin_amdgcn_mov_dpp8(u, 0x53977)", lambda i: word((i & ~7) + (0x53977 >> 3 * (i & 7) & 7))),
    (swizzle(0x041F), lambda i: word(i ^ 1)),
    (swizzle(0x0000), lambda i: word(i & 32)),
    (swizzle(0x8000 | 0x4E), lambda i: word((i & ~3) + (i + 2) % 4)),
    (swizzle(0xC000 | 3 << 5), lambda i: word((i & 32) + (i + 3) % 32)),
    ("__builtin_amdgcn_ds_bpermute((63 - i) << 2, (int)u)", lambda i: word(63 - i)),
    ("__builtin_amdgcn_ds_permute((i * 3 / 2) << 2, (int)u)", sent),
    ("__builtin_amdgcn_readlane((int)u, 17)", lambda i: word(17)),
    ("__builtin_amdgcn_readfirstlane((int)u)", lambda i: word(0)),
    ("__builtin_amdgcn_permlane64(u)", lambda i: word(i ^ 32)),
    (
        "__builtin_amdgcn_permlanex16(0u, u, 0x89abcdefu, 0x01234567u, false, false)",
        lambda i: word(((i & ~15) ^ 16) + 15 - i % 16),
    ),
    ("__builtin_amdgcn_ballot_w64(i % 3 == 0)", lambda i: folded(lambda n: n % 3 == 0)),
    ("__builtin_amdgcn_uicmp(u, 0x80000000u, 36)", lambda i: folded(lambda n: word(n) < 1 << 31)),
    ("__builtin_amdgcn_sicmp((int)u, 0, 40)", lambda i: folded(lambda n: word(n) >= 1 << 31)),
    ("__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u))", lambda i: i),
    ("(int)warpSize", lambda i: 64),
]


def folded(holds: Callable[[int], bool]) -> int:
    mask = sum(1 << n for n in range(64) if holds(n))
    return (mask ^ mask >> 32) % WORD


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray[Any, np.dtype[np.uint32]]]:
    kept = tmp_path_factory.mktemp("names") / "kept.npz"
    command = [sys.executable, str(HERE / "run_amd_names.py"), str(kept)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    with np.load(kept) as found:
        return {name: found[name] for name in found.files}


@pytest.mark.slow("compiles a use of each name that HIP has")
@pytest.mark.parametrize("at", range(len(ROWS)), ids=[name for name, _ in ROWS])
def test_a_name_of_amd_means_on_the_host_what_it_means_there(
    results: dict[str, np.ndarray[Any, np.dtype[np.uint32]]], at: int
) -> None:
    wanted = [ROWS[at][1](i) for i in range(64)]
    got = results[f"row{at}"]
    if isinstance(wanted[0], np.floating):
        np.testing.assert_allclose(got.view(np.float32), np.array(wanted, np.float32), rtol=3e-7, atol=1e-7)
    else:
        assert [hex(value) for value in got] == [hex(value) for value in wanted]


@pytest.mark.slow("compiles a use of each name that HIP has")
def test_a_label_of_what_nobody_has_is_an_error(hiprtc: Hiprtc) -> None:
    source = 'extern "C" __device__ float odd(float) asm("__ocml_no_such_f32");\n'
    source += 'extern "C" __global__ void k(float *p) { *p = odd(*p); }\n'
    refused = hiprtc.compile(source)
    assert refused.result != SUCCESS
    assert "__ocml_no_such_f32" in refused.log


def test_a_label_of_the_sources_own_stays(hiprtc: Hiprtc) -> None:
    source = 'extern "C" __device__ float one(float x) asm("another");\n__device__ float one(float x) { return x; }\n'
    compiled = hiprtc.compile(source + 'extern "C" __global__ void k(float *p) { *p = one(*p); }\n')
    assert compiled.result == SUCCESS, compiled.log
