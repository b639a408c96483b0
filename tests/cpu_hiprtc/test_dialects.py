"""HIP is not CUDA: the names that each has, and what an AMD GPU computes where an NVIDIA GPU computes another thing."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.fma import fma_odd
from tests.cpu_hiprtc.conftest import COMPILATION, SUCCESS, Hiprtc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Array = np.ndarray[Any, np.dtype[Any]]

# What neither hip_runtime.h, hip_fp16.h, hip_bf16.h nor hiprtc of ROCm 6.4 and 7.2 declares.
CUDA_ONLY = {
    "__dp4a": "*(int *)p = __dp4a(1, 2, 3);",
    "__dp4a of unsigned": "*(unsigned *)p = __dp4a(1u, 2u, 3u);",
    "__vadd4": "*(unsigned *)p = __vadd4(1u, 2u);",
    "__vsub4": "*(unsigned *)p = __vsub4(1u, 2u);",
    "__vaddss4": "*(unsigned *)p = __vaddss4(1u, 2u);",
    "__vsubss4": "*(unsigned *)p = __vsubss4(1u, 2u);",
    "__vcmpeq4": "*(unsigned *)p = __vcmpeq4(1u, 2u);",
    "__vcmpne4": "*(unsigned *)p = __vcmpne4(1u, 2u);",
    "__trap": "__trap();",
    "atomicAdd_block": "atomicAdd_block((int *)p, 1);",
    "atomicInc_system": "atomicInc_system((unsigned *)p, 1u);",
    "atomicCAS_block": "atomicCAS_block((int *)p, 0, 1);",
    "__double2half": "*(__half *)p = __double2half(1.0);",
    "__hmax_nan of bfloat16": "B *b = (B *)p; *b = __hmax_nan(*b, *b);",
    "__hmin_nan of bfloat16": "B *b = (B *)p; *b = __hmin_nan(*b, *b);",
    "__float2bfloat16_rn": "*(B *)p = __float2bfloat16_rn(1.0f);",
    "__floats2bfloat162_rn": "*(B2 *)p = __floats2bfloat162_rn(1.0f, 2.0f);",
    "__float2bfloat162_rn": "*(B2 *)p = __float2bfloat162_rn(1.0f);",
    "make_bfloat162": "B *b = (B *)p; *(B2 *)p = make_bfloat162(*b, *b);",
}
HIP_TYPES = (
    "#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\nusing B = __hip_bfloat16; using B2 = __hip_bfloat162;\n"
)
CUDA_TYPES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nusing B = __nv_bfloat16; using B2 = __nv_bfloat162;\n"


def kernel(body: str) -> str:
    return f'extern "C" __global__ void k(void *p) {{ {body} }}\n'


@pytest.mark.nightly("compiles each function that differs, as HIP and as CUDA")
@pytest.mark.parametrize("name", CUDA_ONLY)
def test_a_name_of_cuda_is_unknown_in_hip(hiprtc: Hiprtc, name: str) -> None:
    refused = hiprtc.compile(HIP_TYPES + kernel(CUDA_ONLY[name]), name="port.hip")
    assert refused.result == COMPILATION
    assert name.split(maxsplit=1)[0] in refused.log
    taken = hiprtc.compile(CUDA_TYPES + kernel(CUDA_ONLY[name]), name="port.cu")
    assert taken.result == SUCCESS, taken.log


def test_a_port_may_define_such_a_name_itself(hiprtc: Hiprtc) -> None:
    shim = "__device__ __forceinline__ int __dp4a(int a, int b, int c) { return a * b + c; }\n"
    shim += "__device__ __forceinline__ B __hmax_nan(B a, B b) { return a > b ? a : b; }\n"
    compiled = hiprtc.compile(HIP_TYPES + shim + kernel(CUDA_ONLY["__dp4a"]), name="port.hip")
    assert compiled.result == SUCCESS, compiled.log


@pytest.mark.slow("compiles each function that differs, as HIP and as CUDA")
@pytest.mark.parametrize(
    ("source", "result"),
    [
        (kernel("half x = __float2half(1.0f); *(__half2 *)p = __half2(x, x);"), SUCCESS),
        (kernel("*(hip_bfloat16 *)p = hip_bfloat16(1.0f);"), SUCCESS),
        ("struct half { unsigned short bits; };\n" + kernel("*(half *)p = half{1};"), SUCCESS),
        ("typedef _Float16 half;\n" + kernel("*(half *)p = half(1);"), SUCCESS),
        (kernel("*(__hip_bfloat16 *)p = __hip_bfloat16(1.0f);"), COMPILATION),
    ],
    ids=["half", "hip_bfloat16", "a port's own half", "another half", "__hip_bfloat16"],
)
def test_types_without_an_include_are_those_of_hiprtc_or_the_ports_own(
    hiprtc: Hiprtc, source: str, result: int
) -> None:
    compiled = hiprtc.compile(source, name="port.hip")
    assert compiled.result == result, compiled.log


SOURCE_TYPES: dict[str, type[Any]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
CONVERTED: dict[str, type[Any]] = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16}
CONVERTED |= {"u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64}
CPP = {"f16": "_Float16", "f32": "float", "f64": "double", "u8": "unsigned char", "i8": "signed char"}
CPP |= {"u16": "unsigned short", "i16": "short", "u32": "unsigned", "i32": "int", "u64": "unsigned long", "i64": "long"}
FUSED = {
    "of_half": ("__half", "a[i] * b[i] + c[i]"),
    "of_half_from_the_right": ("__half", "c[i] - a[i] * b[i]"),
    "of_float16": ("_Float16", "a[i] * b[i] + c[i]"),
}
SIXTEEN = """
template <class T> __device__ void extremes(T zero, T minus, T *out) {
  out[0] = __hmax(zero, minus), out[1] = __hmax(minus, zero);
  out[2] = __hmin(zero, minus), out[3] = __hmin(minus, zero);
}
extern "C" __global__ void sixteen(const unsigned *x, unsigned short *out, int n) {
  if (threadIdx.x) return;
  const __half zero = __ushort_as_half(0), nan = __ushort_as_half(0x7e00);
  extremes<__half>(zero, __ushort_as_half(0x8000), reinterpret_cast<__half *>(out));
  BFLOAT16 *const last = reinterpret_cast<BFLOAT16 *>(out + 4);
  extremes<BFLOAT16>(BFLOAT16(0.0f), BFLOAT16(-0.0f), last);
  out[8] = (nan <= zero) | (zero >= nan) << 1 | (zero <= zero) << 2 | (nan < zero) << 3;
  last[5] = x[0];
}
"""

POINTS = [0.0, 0.5, 1.0, 1.5, 2.9, 100.0, 127.0, 128.0, 254.0, 255.0, 256.0, 300.0, 32767.0, 32768.0, 65504.0]
WIDE = [65535.0, 65536.0, 1e5, 2.0**31 - 1, 2.0**31, 3e9, 2.0**32 - 1, 2.0**32, 5e9, 1e15, 2.0**53 + 1, 2.0**62]
WIDE += [2.0**63 - 1024, 2.0**63, 1e19, 2.0**64, 1e20, 1e30]


def operands(name: str) -> Array:
    points = np.array(POINTS if name == "f16" else [*POINTS, *WIDE])
    with np.errstate(over="ignore"):
        return np.concatenate([points, -points, [np.inf, -np.inf, np.nan]]).astype(SOURCE_TYPES[name])


def halves() -> dict[str, Array]:
    """Operands whose product is rounded: 20,000 of all sizes, and those whose exact sum lies next to a tie."""
    rng = np.random.default_rng(16)
    bits = rng.integers(0, 1 << 16, (3, 20000), dtype=np.uint16)
    a, b, c = bits.view(np.float16)
    ok = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    return {"a": a[ok], "b": b[ok], "c": c[ok]}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    folder = tmp_path_factory.mktemp("arithmetic")
    np.savez(folder / "given.npz", **{name: operands(name) for name in SOURCE_TYPES}, **halves())
    command = [sys.executable, str(HERE / "run_arithmetic.py"), str(folder / "given.npz"), str(folder / "kept.npz")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "kept.npz") as kept:
        return {name: kept[name] for name in kept.files}


def held(x: Array, low: int, high: int) -> list[int]:
    """A conversion instruction: towards zero, held at the ends, NaN to 0."""
    return [
        0 if math.isnan(value) else int(min(max(Fraction(value) if math.isfinite(value) else value, low), high))
        for value in x.astype(np.float64).tolist()
    ]


def limits(bits: int, signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def on_amd(x: Array, src: str, dst: str) -> list[int]:
    """v_cvt_i16_f16 and v_cvt_u16_f16 for halves to at most 16 bits, v_cvt_i32 and v_cvt_u32 else; a byte through the
    signed form; 64 bits from two conversions to 32, each held at its ends (LLVM's LowerFP_TO_INT64)."""
    bits, signed = 8 * np.dtype(CONVERTED[dst]).itemsize, dst[0] == "i"
    if bits < 64 or src == "f16":
        width = 16 if src == "f16" and bits < 32 else 32
        return held(x, *limits(width, signed or bits == 8))
    with np.errstate(invalid="ignore"):
        whole = np.trunc(x.astype(np.float64))
        flips = signed and src == "f32"
        size = np.abs(whole) if flips else whole
        upper = np.floor(size * 2.0**-32)
        lower = (size - upper * 2.0**32).astype(x.dtype)  # one fused operation
    high, low = held(upper, *limits(32, signed and not flips)), held(lower, *limits(32, False))
    parts = [(up << 32) + down for up, down in zip(high, low, strict=True)]
    return [-part if flips and sign else part for part, sign in zip(parts, np.signbit(whole), strict=True)]


def on_nvidia(x: Array, src: str, dst: str) -> list[int]:
    """PTX cvt.rzi: to 32 or 64 bits and held there; NaN is the top bit for 64 bits and from double (to 32)."""
    bits, signed = 8 * np.dtype(CONVERTED[dst]).itemsize, dst[0] == "i"
    width = max(bits, 32)
    values = held(x, *limits(width, signed))
    if bits == 64 or (bits == 32 and src == "f64"):
        values = [1 << bits - 1 if nan else value for nan, value in zip(np.isnan(x), values, strict=True)]
    return values


@pytest.mark.slow("compiles each function that differs, as HIP and as CUDA")
@pytest.mark.parametrize(("suffix", "model"), [("hip", on_amd), ("cu", on_nvidia)])
@pytest.mark.parametrize("dst", CONVERTED)
@pytest.mark.parametrize("src", SOURCE_TYPES)
def test_conversions_to_integers(results: dict[str, Array], suffix: str, model: Any, src: str, dst: str) -> None:
    x, dtype = operands(src), np.dtype(CONVERTED[dst])
    wanted = np.array([value % (1 << 8 * dtype.itemsize) for value in model(x, src, dst)], f"u{dtype.itemsize}")
    got = results[f"{suffix}_{src}_{dst}"].view(f"u{dtype.itemsize}")
    wrong = np.flatnonzero(got != wanted)
    assert [(x[i], hex(got[i]), hex(wanted[i])) for i in wrong] == []


@pytest.mark.slow("compiles each function that differs, as HIP and as CUDA")
@pytest.mark.parametrize("name", ["hip_of_half", "cu_of_half", "hip_of_half_from_the_right", "hip_of_float16"])
def test_a_product_of_halves_is_fused_with_the_sum(results: dict[str, Array], name: str) -> None:
    a, b, c = (array.astype(np.float64) for array in halves().values())
    b = -b if name.endswith("right") else b
    with np.errstate(over="ignore"):
        wanted = fma_odd(a, b, c).astype(np.float16)
        rounded_twice = ((a * b).astype(np.float16) + c.astype(np.float16)).astype(np.float16)
    np.testing.assert_array_equal(results[name], wanted)
    assert np.any(wanted != rounded_twice)


@pytest.mark.slow("compiles each conversion, as HIP and as CUDA")
@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        ("hip", [0x8000, 0, 0, 0x8000, 0x8000, 0, 0x8000, 0, 7, 0x4F00]),
        ("cu", [0, 0, 0x8000, 0x8000, 0, 0, 0x8000, 0x8000, 4, 0x4F01]),
    ],
)
def test_sixteen_bits_as_in_the_vendors_headers(results: dict[str, Array], suffix: str, expected: list[int]) -> None:
    """HIP's ``__hmax`` and ``__hmin`` compare, whatever the signs of zeros; a NaN is ``<=`` of ``__half``; an integer
    becomes a bfloat16 through a float (ROCm 7.2, amd_hip_fp16.h and amd_hip_bf16.h)."""
    assert [hex(bits) for bits in results[f"{suffix}_sixteen"]] == [hex(bits) for bits in expected]
