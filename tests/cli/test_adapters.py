"""``[[adapter]]``: kernels whose parameters are the port's own, judged with them.

The port is ours, with the cause of a public one: its Rust passes dims and strides as a struct by value.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.port.config import SourceError, read_config
from conformance.port.declared.declared import declared_in
from conformance.spec.load import load_specs

PORT = """
#include <stdint.h>
struct Strided { uint32_t rank; uint32_t dims[10]; uint32_t strides[10]; };

extern "C" __global__ void uneg_f32(float *out, const float *inp, Strided at, uint32_t n, uint32_t contiguous) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    uint32_t left = i, from = 0;
    for (uint32_t d = at.rank; d-- > 0; left /= at.dims[d]) from += left % at.dims[d] * at.strides[d];
    out[i] = -inp[contiguous ? i : from];
  }
}

extern "C" __global__ void uabs_f32(uint32_t n, uint32_t rank, const int64_t *dims, const int64_t *strides,
                                    const float *inp, float *out) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    int64_t left = i, from = 0;
    for (uint32_t d = rank; d-- > 0; left /= dims[d]) from += left % dims[d] * strides[d];
    out[i] = __builtin_fabsf(inp[from]);
  }
}

extern "C" __global__ void copy2d_b4(const uint32_t *src, uint32_t *dst, uint2 size, uint2 rows) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size.x * size.y; i += blockDim.x * gridDim.x)
    dst[i / size.y * (size_t)rows.y + i % size.y] = src[i / size.y * (size_t)rows.x + i % size.y];
}

struct Affine { float *out; uint32_t n; const float *inp; float add, mul; };

extern "C" __global__ void affine_f32(Affine at, const int64_t *dims, const int64_t *strides, uint32_t rank) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < at.n; i += blockDim.x * gridDim.x) {
    int64_t left = i, from = 0;
    for (uint32_t d = rank; d-- > 0; left /= dims[d]) from += left % dims[d] * strides[d];
    at.out[i] = fmaf(at.inp ? at.inp[from] : at.out[i], at.mul, at.add);
  }
}
"""

DECLARED = """
[names]
"copy2d_f32" = "copy2d_b4"
"copy2d_u32" = "copy2d_b4"

[[adapter]]
kernels = "uneg_f32"
params = [
  "out",
  "inp",
  { struct = [
    { type = "u32", value = "num_dims" },
    { type = "u32", array = "info", count = "num_dims", room = 10 },
    { type = "u32", array = "info", first = "num_dims", count = "num_dims", room = 10 },
  ] },
  { type = "u32", value = "numel" },
  { type = "u32", value = "info_is_null" },
]

[[adapter]]
kernels = "uabs_f32"
params = [
  { type = "u32", value = "numel" },
  { type = "u32", value = "num_dims" },
  { type = "i64", array = "info", count = "num_dims" },
  { type = "i64", array = "info", first = "num_dims", count = "num_dims" },
  "inp",
  "out",
]

[[adapter]]
kernels = "affine_f32"
params = [
  { struct = ["out", { type = "u32", value = "numel" }, "inp", "add", "mul"] },
  { type = "i64", array = "info", count = "num_dims" },
  { type = "i64", array = "info", first = "num_dims", count = "num_dims" },
  { type = "u32", value = "num_dims" },
]

[[adapter]]
kernels = "copy2d_*32"
params = [
  "src",
  "dst",
  { struct = [{ type = "u32", value = "d1" }, { type = "u32", value = "d2" }] },
  { struct = [{ type = "u32", value = "src_s" }, { type = "u32", value = "dst_s" }] },
]
"""
KERNELS = ("uneg_f32", "uabs_f32", "copy2d_f32", "copy2d_u32", "affine_f32")


@pytest.fixture
def declared(port) -> Path:
    folder = port(PORT, "unary.hip")
    (folder / "candle-parity.toml").write_text(DECLARED)
    return folder


@pytest.mark.slow("whole runs by the command")
def test_a_port_is_judged_with_its_own_parameters(cli, declared: Path, tmp_path: Path) -> None:
    md = tmp_path / "r.md"
    words = ("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward")
    said = cli(*words, *KERNELS, "--md", md)
    assert {name: (said.kernel(name)["status"], said.kernel(name)["failures"]) for name in KERNELS} == dict.fromkeys(
        KERNELS, ("pass", [])
    )
    assert said.kernel("uabs_f32")["adapter"] == "numel, num_dims, info, info, inp, out"
    assert "judged through an adapter: numel, " in md.read_text()
    assert "5 kernels were judged through an adapter, with parameters that the port declares (" in said.out


def test_check_does_not_count_them_among_candles_parameters(cli, declared: Path) -> None:
    said = cli("check", "--kernels", declared, "--partial", *KERNELS)
    assert said.code == 0
    assert "0 with Candle's parameters, 5 with parameters that the port declares; 0 findings" in said.out


@pytest.mark.slow("whole runs by the command")
def test_a_struct_may_hold_pointers_and_numbers_of_candles(cli, port, declared: Path) -> None:
    port(PORT.replace("fmaf(at.inp ?", "fmaf(at.inp && i ?"), "unary.hip")
    words = ("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", "affine_f32")
    row = cli(*words).kernel("affine_f32")
    assert row["status"] == "fail"
    assert row["adapter"] == "{out, numel, inp, add, mul}, info, info, num_dims"
    port(PORT.replace("float add, mul;", "double add, mul;"), "unary.hip")
    assert "parameter 1 is Affine, candle-parity.toml declares 32 bytes" in cli(*words).kernel("affine_f32")["message"]


@pytest.mark.slow("a whole run by the command")
def test_arrays_of_the_ports_own_are_inputs_that_nobody_writes(cli, port, declared: Path) -> None:
    """The last thread writes over strides of an adapter, when all answers are right."""
    text = PORT.replace("const int64_t *strides,\n", "int64_t *strides,\n")
    right = "    out[i] = __builtin_fabsf(inp[from]);\n"
    port(text.replace(right, right + "    if (rank && i + 1 == n) strides[0] += 1;\n"), "unary.hip")
    row = cli("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", "uabs_f32").kernel("uabs_f32")
    assert row["status"] == "fail"
    assert "of input parameter 4 was overwritten" in row["failures"][0]["why"]


@pytest.mark.nightly("compiles for an AMD target and interprets five kernels, right and wrong")
def test_adapted_kernels_are_judged_as_machine_code(cli, port, declared: Path) -> None:
    words = ("run", "--runtime", "isa", "--arch", "gfx942", "--kernels", declared)
    said = cli(*words, *KERNELS)
    if said.code == 2 and "clang" in said.err:
        pytest.skip("needs a compiler for AMD targets")
    assert {name: said.kernel(name)["status"] for name in KERNELS} == dict.fromkeys(KERNELS, "pass")
    port(PORT.replace("* at.strides[d]", "* at.strides[0]").replace("at.mul, at.add", "at.add, at.mul"), "unary.hip")
    said = cli(*words, "uneg_f32", "affine_f32")
    assert {said.kernel(name)["status"] for name in ("uneg_f32", "affine_f32")} <= {"fail", "crash"}


@pytest.mark.slow("times kernels on the host")
def test_adapted_kernels_are_timed(cli, declared: Path) -> None:
    """Also beside a tree with other parameters, which has buffers of the same names."""
    cases = ("affine_f32(shape=[64,8],layout=transposed)", "uneg_f32(shape=[64,8])", "copy2d_f32(shape=[8,8])")
    words = ("bench", "--runtime", "cpu", "--kernels", declared)
    said = cli(*words, *cases)
    assert said.code == 0, said.out
    assert "3 workloads" in said.out
    assert cli(*words, "--against", declared, cases[0]).code == 0


@pytest.mark.slow("compiles for an AMD target")
def test_check_compares_what_is_compiled_with_the_adapter(cli, port, declared: Path) -> None:
    words = ("check", "--kernels", declared, "--partial", *KERNELS)
    assert cli(*words, "--arch", "gfx942").code in (0, 2)
    port(PORT.replace("dims[10]", "dims[9]"), "unary.hip")
    assert cli(*words).code == 0  # a source does not say how large a struct is
    said = cli(*words, "--arch", "gfx942")
    if said.code == 2:
        pytest.skip("needs a compiler for AMD targets")
    assert said.code == 1
    assert "uneg_f32 parameter 3 is a value of 80 bytes" in said.out
    assert "candle-parity.toml declares 84 bytes at offset 16" in said.out


def test_check_compares_the_number_of_parameters_with_the_adapter(cli, port, declared: Path) -> None:
    port(PORT.replace(", uint32_t contiguous) {", ") {").replace("contiguous ? i : from", "from"), "unary.hip")
    said = cli("check", "--kernels", declared, "--partial", *KERNELS)
    assert said.code == 1
    assert "has 4 parameters, candle-parity.toml declares 5 for it" in said.out


@pytest.mark.slow("whole runs by the command")
def test_a_mistake_behind_an_adapter_is_seen(cli, port, declared: Path) -> None:
    port(PORT.replace("* at.strides[d]", "* at.strides[0]"), "unary.hip")
    words = ("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward")
    said = cli(*words, "uneg_f32")
    assert said.kernel("uneg_f32")["status"] in ("fail", "crash")
    assert "layout=" in said.kernel("uneg_f32")["failures"][0]["case"]
    port(PORT.replace("dims[10]", "dims[9]"), "unary.hip")
    row = cli(*words, "uneg_f32").kernel("uneg_f32")
    assert row["status"] == "signature"
    assert "parameter 3 is Strided, candle-parity.toml declares 84 bytes at offset 16" in row["message"]


@pytest.mark.slow("a whole run by the command")
def test_arguments_that_cannot_be_made_are_a_cause(cli, port, declared: Path) -> None:
    port(PORT.replace("[10]", "[1]"), "unary.hip")
    (declared / "candle-parity.toml").write_text(DECLARED.replace("room = 10", "room = 1"))
    said = cli("run", "--runtime", "cpu", "--kernels", declared, "--order", "forward", "uneg_f32")
    row = said.kernel("uneg_f32")
    assert row["status"] == "fail"
    assert {one["evidence"]["fault"] for one in row["observations"]} == {"impossible arguments"}
    assert "candle-parity.toml: adapter, row 1 ('uneg_f32'): parameter 3: " in row["failures"][0]["why"]
    assert "The arguments that the port declares cannot be made" in said.out


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (
            '["input"]',
            "adapter, row 1: uneg_f32: parameter 1: Candle's kernel has no argument 'input'; expected one of numel",
        ),
        ('[{type = "u32", value = "n"}]', "uneg_f32: parameter 1: 'n': 'n' is not known; there are"),
        ('[{type = "u33", value = 1}]', "unknown dtype 'u33'"),
        (
            '[{type = "u32", array = "out", count = 1}]',
            "'out' is no array argument of Candle's kernel here; expected one of info",
        ),
        ('[{type = "u8", value = 300}]', "300 does not fit into u8"),
        (
            '[{type = "u32"}]',
            "parameter 1 must have a type, and one of value, scalar, bits, array and at, or array and count",
        ),
        ("[3]", "parameter 1 must be the name of an argument of Candle's, or a table"),
        ('[{struct = [{type = "u32", array = "info", count = 2}]}]', "a field with room for 1 elements would get 2"),
        (
            '[{struct = ["inpt"]}]',
            "uneg_f32: parameter 1: Candle's kernel has no argument 'inpt'; expected one of numel, num_dims",
        ),
        ("[{struct = [3]}]", "struct must be a list of names of Candle's arguments, and of tables"),
    ],
)
def test_what_is_no_adapter(tmp_path: Path, params: str, said: str) -> None:
    file = tmp_path / "candle-parity.toml"
    file.write_text(f'[[adapter]]\nkernels = "uneg_f32"\nparams = {params}\n')
    with pytest.raises(SourceError) as raised:
        declared_in(read_config(file), load_specs().kernels, {})
    assert said in str(raised.value)
