"""``[[adapter]]``: one element of ``info`` by value, floats of another width, and numbers by their bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.port.config import SourceError, read_config
from conformance.port.declared.declared import declared_in
from conformance.spec.load import load_specs

PORT = """
#include <hip/hip_fp16.h>
#include <stdint.h>

struct Strides { int64_t b, c, w, h; };

extern "C" __global__ void upsample_nearest2d_f32(const float *src, float *dst, uint32_t w_out, uint32_t h_out,
                                                  double w_scale, double h_scale, uint32_t b, uint32_t c, uint32_t w_in,
                                                  uint32_t h_in, Strides at) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= (size_t)b * c * w_out * h_out) return;
  size_t w = static_cast<size_t>((i / h_out) % w_out * w_scale), h = static_cast<size_t>(i % h_out * h_scale);
  if (w >= w_in) w = w_in - 1;
  if (h >= h_in) h = h_in - 1;
  dst[i] = src[i / ((size_t)w_out * h_out * c) * at.b + i / ((size_t)w_out * h_out) % c * at.c + w * at.w + h * at.h];
}

extern "C" __global__ void affine_f32(uint32_t n, const float *inp, float *out, double mul, double add) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    out[i] = fmaf(inp[i], (float)mul, (float)add);
}

extern "C" __global__ void affine_f64(uint32_t n, const double *inp, double *out, float mul, float add) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    out[i] = fma(inp[i], (double)mul, (double)add);
}

extern "C" __global__ void affine_f16(uint32_t n, const __half *inp, __half *out, uint32_t mul, uint16_t add) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    out[i] = __hfma(inp[i], __ushort_as_half((unsigned short)mul), __ushort_as_half(add));
}
"""

DECLARED = """
[[adapter]]
kernels = "upsample_nearest2d_f32"
params = [
  "src", "dst", { type = "u32", value = "w_out" }, { type = "u32", value = "h_out" }, "w_scale", "h_scale",
  { type = "u32", array = "info", at = 0 },
  { type = "u32", array = "info", at = 1 },
  { type = "u32", array = "info", at = "4 - 2" },
  { type = "u32", array = "info", at = 3 },
  { struct = [
    { type = "i64", array = "info", at = 4 },
    { type = "i64", array = "info", at = 5 },
    { type = "i64", array = "info", at = 6 },
    { type = "i64", array = "info", at = 7 },
  ] },
]

[[adapter]]
kernels = "affine_f32"
params = [
  { type = "u32", value = "numel" }, "inp", "out", { type = "f64", scalar = "mul" }, { type = "f64", scalar = "add" },
]

[[adapter]]
kernels = "affine_f64"
params = [
  { type = "u32", value = "numel" }, "inp", "out", { type = "f32", scalar = "mul" }, { type = "f32", scalar = "add" },
]

[[adapter]]
kernels = "affine_f16"
params = [{ type = "u32", value = "numel" }, "inp", "out", { type = "u32", bits = "mul" }, "add"]
"""
CASES = (
    "upsample_nearest2d_f32",
    *(f"affine_{dtype}(shape=[257],values=unit,mul=2,add=-0.5)" for dtype in ("f32", "f64", "f16")),
)
KERNELS = tuple(case.partition("(")[0] for case in CASES)


@pytest.fixture
def declared(port) -> Path:
    folder = port(PORT, "conv.hip")
    (folder / "candle-parity.toml").write_text(DECLARED)
    return folder


@pytest.mark.slow("a whole run by the command")
def test_kernels_that_take_them_by_value_are_judged(cli, declared: Path) -> None:
    said = cli("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", *CASES)
    assert {name: (said.kernel(name)["status"], said.kernel(name)["failures"]) for name in KERNELS} == dict.fromkeys(
        KERNELS, ("pass", [])
    )
    assert said.kernel("upsample_nearest2d_f32")["adapter"].endswith("info[3], {info[4], info[5], info[6], info[7]}")
    assert said.kernel("affine_f32")["adapter"] == "numel, inp, out, mul as f64, add as f64"
    assert said.kernel("affine_f16")["adapter"] == "numel, inp, out, bits of mul, add"


@pytest.mark.slow("a whole run by the command")
def test_a_number_that_a_narrower_float_does_not_hold_is_not_candles(cli, declared: Path) -> None:
    """As the port's own program would compute it: 0.1 as f32 is not the 0.1 that Candle passes."""
    case = "affine_f64(shape=[257],values=unit,mul=0.1,add=0)"
    row = cli("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", case).kernel("affine_f64")
    assert row["status"] == "fail"


@pytest.mark.slow("a whole run by the command")
def test_mistakes_behind_them_are_seen(cli, port, declared: Path) -> None:
    text = PORT.replace("w * at.w + h * at.h", "w * at.h + h * at.w").replace("(float)mul, (float)add", "(float)add, 0")
    port(text.replace("__ushort_as_half((unsigned short)mul)", "__float2half((float)mul)"), "conv.hip")
    said = cli("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", *CASES[:2], CASES[3])
    assert said.kernel("upsample_nearest2d_f32")["status"] in ("fail", "crash")  # strides of other dims
    assert {name: said.kernel(name)["status"] for name in KERNELS[1::2]} == dict.fromkeys(KERNELS[1::2], "fail")
    port(PORT.replace("double mul", "float mul"), "conv.hip")
    row = cli("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", CASES[1]).kernel("affine_f32")
    assert row["status"] == "signature"
    assert "parameter 4 is float, candle-parity.toml declares 8 bytes" in row["message"]


@pytest.mark.nightly("compiles for an AMD target and interprets kernels, right and wrong")
def test_they_are_passed_to_machine_code(cli, port, declared: Path) -> None:
    words = ("run", "--runtime", "isa", "--arch", "gfx942", "--kernels", declared)
    said = cli(*words, *CASES)
    if said.code == 2 and "clang" in said.err:
        pytest.skip("needs a compiler for AMD targets")
    assert {name: said.kernel(name)["status"] for name in KERNELS} == dict.fromkeys(KERNELS, "pass")
    port(PORT.replace("c * at.c", "c * at.b").replace("(float)mul, (float)add", "(float)add, (float)mul"), "conv.hip")
    said = cli(*words, CASES[0], CASES[1])
    assert {said.kernel(name)["status"] for name in KERNELS[:2]} <= {"fail", "crash"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('type = "i64", array = "info", at = 99', "parameter 1: info has 2 elements, none of number 99"),
        ('type = "i64", array = "info", at = "0 - 1"', "parameter 1: info has 2 elements, none of number -1"),
        (
            'type = "i64", array = "inp", at = 0',
            "'inp' is no array argument of Candle's kernel here; expected one of info",
        ),
        ('type = "i64", array = "info", at = 0, count = 1', "must have a type, and one of value, scalar, bits"),
        ('type = "i64", array = "info", at = 0, room = 2', "must have a type, and one of value, scalar, bits"),
        ('type = "i64", at = 0', "must have a type, and one of value, scalar, bits, array and at, or array and count"),
        ('scalar = "mul"', "must have a type, and one of value, scalar, bits"),
        ('type = "f64", scalar = "mull"', "'mull' is no argument that Candle passes by value; expected one of numel"),
        ('type = "f64", scalar = "inp"', "'inp' is no argument that Candle passes by value; expected one of numel"),
        ('type = "u64", scalar = "mul"', "unknown dtype 'u64'"),
        ('type = "u32", scalar = "mul"', "scalar is for floats, and mul is f32, u32 is uint"),
        ('type = "f32", scalar = "numel"', "scalar is for floats, and numel is size_t, f32 is float"),
        ('type = "u8", bits = "mul"', "u8 does not hold the 32 bits of mul; expected an unsigned integer of 32 bits"),
        ('type = "f64", bits = "mul"', "f64 does not hold the 32 bits of mul; expected an unsigned integer"),
    ],
)
def test_what_is_no_such_value(tmp_path: Path, value: str, said: str) -> None:
    file = tmp_path / "candle-parity.toml"
    file.write_text(f'[[adapter]]\nkernels = "affine_f32"\nparams = [{{ {value} }}]\n')
    with pytest.raises(SourceError) as raised:
        declared_in(read_config(file), load_specs().kernels, {})
    assert said in str(raised.value)


def test_declarations_of_before_have_the_digest_of_before(tmp_path: Path) -> None:
    """By it records are merged, and verdicts taken over."""
    file = tmp_path / "candle-parity.toml"
    file.write_text('[[adapter]]\nkernels = "uneg_f32"\nparams = ["inp", { type = "u32", value = "numel" }]\n')
    assert declared_in(read_config(file), load_specs().kernels, {}).digest == "eb6bd8dde0ab62b0"
