"""A new dtype is a row of ``conformance.dtypes``, a name in the specs, and kernel code."""

from __future__ import annotations

import re

import pytest

from tests.growing.tree import Tree

ROWS = """\
    _row("f8e5m2", ml_dtypes.float8_e5m2, "float", ("__hip_fp8_e5m2",), FloatFormat(5, 2, 0x7B, "f32"), own="e5m2"),
    _row("i8", np.int8, "int", ("int8_t", "signed char")),
"""
STANZAS = {
    "unary": """
  - family: unary
    name: "u{op}_{dtype}"
    variant: {dtype: f8e5m2}
    params: *elementwise
    row: {axis: op, lines: {neg: 300, sqr: 301, silu: 302}}
    tolerance:
      - {when: {op: [neg, sqr]}, ulp: 0, library_ulp: 0, source: one operation in f32 and one encoding}
      - {when: {op: [silu]}, ulp: 0, library_ulp: 4, source: expf in f32}
""",
    "binary": """
  - family: binary
    name: "b{op}_{dtype}"
    params: &new_binary
      numel: scalar size_t
      num_dims: scalar size_t
      dims_and_strides: in size_t*
      lhs: in {dtype}*
      rhs: in {dtype}*
      out: out {dtype}*
    table:
      rows: op
      columns: {dtype: [f8e5m2, i8]}
      lines: {mul: [300, 301]}
    tolerance:
      - {ulp: 0, library_ulp: 0, source: one operation}
""",
}
# e5m2 has the bits of the upper half of an f16.
KERNELS = """\
#include <hip/hip_runtime.h>
struct own_e5m2 { unsigned char bits; };
__device__ float value(own_e5m2 x) {
  const unsigned short bits = static_cast<unsigned short>(x.bits << 8);
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
__device__ own_e5m2 stored(float x) {
  const unsigned sign = __builtin_bit_cast(unsigned, x) >> 31 << 7;
  const float size = __builtin_fabsf(x);
  if (size != size) return {0x7F};
  if (size >= 61440.0f) return {static_cast<unsigned char>(sign | 0x7C)};
  const float power = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, size) & 0x7F800000u);
  const float step = size < 0x1p-14f ? 0x1p-16f : 0x1p-2f * power;
  const _Float16 rounded = static_cast<_Float16>(__builtin_rintf(size / step) * step);
  return {static_cast<unsigned char>(sign | __builtin_bit_cast(unsigned short, rounded) >> 8)};
}
__device__ size_t strided(size_t i, size_t dims, const size_t* sizes, const size_t* strides) {
  size_t at = 0;
  for (size_t d = dims; d-- > 0; i /= sizes[d]) at += i % sizes[d] * strides[d];
  return at;
}
#define EACH for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)
#define UNARY(name, formula) \\
  extern "C" __global__ void name(size_t numel, size_t dims, const size_t* info, const own_e5m2* inp, \\
                                  own_e5m2* out) { \\
    EACH { \\
      const float x = value((inp ? inp : out)[inp && info ? strided(i, dims, info, info + dims) : i]); \\
      out[i] = stored(formula); \\
    } \\
  }
#define BINARY(name, type, formula) \\
  extern "C" __global__ void name(size_t numel, size_t dims, const size_t* info, const type* lhs, const type* rhs, \\
                                  type* out) { \\
    EACH { \\
      const type a = lhs[info ? strided(i, dims, info, info + dims) : i]; \\
      const type b = rhs[info ? strided(i, dims, info, info + 2 * dims) : i]; \\
      out[i] = formula; \\
    } \\
  }
UNARY(uneg_f8e5m2, -x)
UNARY(usqr_f8e5m2, x * x)
UNARY(usilu_f8e5m2, x / (1.0f + expf(-x)))
BINARY(bmul_f8e5m2, own_e5m2, stored(value(a) * value(b)))
BINARY(bmul_i8, signed char, static_cast<signed char>(a * b))
"""
NAMES = ("uneg_f8e5m2", "usqr_f8e5m2", "usilu_f8e5m2", "bmul_f8e5m2", "bmul_i8")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree.copied(tmp_path_factory.mktemp("grown"))
    tree.replace("conformance/dtypes.py", '    _row("size_t",', ROWS + '    _row("size_t",')
    for module, stanza in STANZAS.items():
        with (tree.path / f"specs/{module}.yaml").open("a") as file:
            file.write(stanza)
    (tree.path / "own").mkdir()
    (tree.path / "own/all.hip").write_text(KERNELS)
    return tree


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_one_row_makes_a_dtype_of_cases_reference_and_reports(grown: Tree) -> None:
    said, rows = grown.run("--kernels", "own", *NAMES, "--html", "report.html")
    assert said.returncode == 0, said.stdout + said.stderr
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(NAMES, "pass")
    report = (grown.path / "report.html").read_text()
    heads = re.findall(r">(\w+)<", report)
    assert {"f8e4m3", "i64", "i32", "i16", "u32", "u8", "f8e5m2", "i8"} <= set(heads)


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_check_knows_what_ports_call_it(grown: Tree) -> None:
    said = grown.parity("check", "--kernels", "own", *NAMES)
    assert said.returncode == 0, said.stdout
    (grown.path / "other").mkdir()
    (grown.path / "other/all.hip").write_text(KERNELS.replace("own_e5m2", "own_e4m3"))
    said = grown.parity("check", "--kernels", "other", "uneg_f8e5m2")
    assert said.returncode == 1
    assert "Candle's is f8e5m2* inp" in said.stdout


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_without_the_row_the_specs_name_it(tree: Tree) -> None:
    with (tree.path / "specs/unary.yaml").open("a") as file:
        file.write(STANZAS["unary"])
    said = tree.parity("list")
    assert said.returncode == 2
    assert "unknown dtype 'f8e5m2'" in said.stderr
    assert "a new dtype needs a row in conformance/dtypes.py" in said.stderr
