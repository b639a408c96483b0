"""Trees as users have them, each compiled as it is and judged."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from judging import TREES, Run

KEEPS = ("--order", "forward")  # the order of threads is not the subject here


@pytest.mark.slow("compiles and judges a port per test")
def test_a_port_with_a_header_shim_is_hip_whatever_its_suffix(run: Run) -> None:
    said = run("shimmed/kernels", "uneg_f32", "ucopy_f32", "usqr_f16", "uneg_bf16", "--wave", 64, *KEEPS)
    assert said.statuses() == dict.fromkeys(("uneg_f32", "ucopy_f32", "usqr_f16", "uneg_bf16"), "pass")
    assert said.code == 0


@pytest.mark.nightly("compiles and judges a port per test")
def test_the_command_line_says_the_same_as_the_file(run: Run, tmp_path: Path) -> None:
    tree = tmp_path / "kernels"
    tree.mkdir()
    (tree / "unary.cu").write_text((TREES / "shimmed" / "kernels" / "unary.cu").read_text())
    shim = TREES / "shimmed" / "shim"
    words = ("-I", shim, "-I", TREES / "cuda", "--include", "port.h", "-D", "PORT_ONE=1.0f")
    assert run(tree, "ucopy_f32", *words, "--wave", 64, *KEEPS).statuses() == {"ucopy_f32": "pass"}
    failed = run(tree, "ucopy_f32", *words[:-1], "PORT_ONE=2.0f", "--wave", 64, *KEEPS)
    assert failed.statuses() == {"ucopy_f32": "fail"}
    assert "-D PORT_ONE=2.0f" in failed.rows["ucopy_f32"]["failures"][0]["reproduce"]
    lost = run(tree, "ucopy_f32", *words[:-1], "PORT_TWO", "--wave", 64, *KEEPS)
    assert lost.statuses() == {"ucopy_f32": "compile_error"}
    assert "PORT_ONE" in lost.rows["ucopy_f32"]["message"]


@pytest.mark.slow("compiles and judges a port per test")
def test_one_file_of_several_families_and_one_mistake(run: Run) -> None:
    names = ("uabs_f32", "affine_f32", "badd_f32", "bsub_f32", "bmaximum_f32", "cast_f32_u8")
    said = run("one_file/kernels.hip", *names, *KEEPS)
    # A plain cast to a byte is wrong on AMD GPUs, see test_conversions.py.
    assert said.statuses() == {**dict.fromkeys(names, "pass"), "bsub_f32": "fail", "cast_f32_u8": "fail"}
    assert (said.code, said.wave) == (1, 64)
    assert said.rows["bsub_f32"]["source"] == "one_file/kernels.hip:37"


@pytest.mark.slow("compiles and judges a port per test")
def test_a_cuda_tree_with_one_broken_file(run: Run) -> None:
    good = ("cast_f32_u8", "cast_f64_u32", "cast_f64_i64", "cast_f16_f32", "cast_f32_f8_e4m3", "affine_f16", "uneg_f32")
    said = run("cuda", *good, "uexp_f32", "uexp_f64", "uabs_f32", *KEEPS)
    wanted = dict.fromkeys(good, "pass")
    assert said.statuses() == {
        **wanted,
        "uexp_f32": "compile_error",
        "uexp_f64": "compile_error",
        "uabs_f32": "missing",
    }
    assert "missing_exp" in said.rows["uexp_f64"]["message"]
    assert said.rows["uexp_f32"]["source"] == "cuda/broken.cu:4"
    assert said.wave == 32
    assert "waves of 32" in said.err


PAIRS = """
#include <cuda_fp16.h>
#include "each.cuh"
template <class T> __device__ T larger(T a, T b) { return a > b ? a : b; }
extern "C" __global__ void affine_f16(size_t numel, size_t num_dims, const size_t *info, const __half *inp, __half *out,
                                      __half mul, __half add) {
  each(numel, num_dims, info, [&](size_t i, size_t offset) {
    __half x = inp ? inp[offset] : out[i];
    out[i] = x * mul + add;
    if (num_dims > 99) out[i] = %s;
  });
}
"""


@pytest.mark.slow("compiles and judges a port per test")
def test_products_of_halves_go_where_halves_go(run: Run, tmp_path: Path) -> None:
    (tmp_path / "each.cuh").write_text((TREES / "cuda" / "each.cuh").read_text())
    case = "affine_f16(shape=[32],values=unit)"
    for expression, verdict in (
        ("larger<__half>(x * mul, add) > add ? x * mul : add", "pass"),
        ("__half(float(x * mul))", "pass"),
        # One type for both arguments of a template: compiled with plain products, so rounded twice.
        ("larger(x * mul, add)", "fail"),
    ):
        (tmp_path / "affine.cu").write_text(PAIRS % expression)
        assert run(tmp_path, case, *KEEPS).statuses() == {"affine_f16": verdict}, expression


@pytest.mark.slow("compiles and judges a port per test")
def test_a_kernel_is_not_compiled_for_where_it_cannot_be(run: Run, tmp_path: Path) -> None:
    (tmp_path / "unary.cu").write_text((TREES / "cuda" / "waves.cu").read_text())
    (tmp_path / "each.cuh").write_text((TREES / "cuda" / "each.cuh").read_text())
    (tmp_path / "host.cu").write_text(
        '#include "each.cuh"\nUNARY(other, float, x)\nvoid start() { other<<<1, 1>>>(); }\n'
    )
    said = run(tmp_path, "uneg_f32", "uabs_f32", *KEEPS)
    assert said.statuses() == {"uneg_f32": "pass", "uabs_f32": "missing"}
    assert "host.cu" not in said.err


@pytest.mark.slow("compiles and judges a port per test")
def test_a_mask_of_32_lanes_fails_in_a_wave_of_64(run: Run) -> None:
    said = run("cuda", "uneg_f32", "--wave", 64, *KEEPS)
    assert said.statuses() == {"uneg_f32": "crash"}
    assert "mask" in said.rows["uneg_f32"]["failures"][0]["why"]
    assert "waves of" not in said.err


@pytest.mark.nightly("compiles and judges a port per test")
def test_the_dialect_can_be_named(run: Run) -> None:
    said = run("cuda/waves.cu", "uneg_f32", "--dialect", "hip", *KEEPS)
    assert said.statuses() == {"uneg_f32": "compile_error"}
    assert "64-bit" in said.rows["uneg_f32"]["message"]
    assert run("one_file", "uabs_f32", "--dialect", "cuda", *KEEPS).wave == 32


@pytest.mark.slow("compiles and judges a port per test")
def test_an_architecture_can_be_named(run: Run) -> None:
    said = run("cuda/casts.cu", "cast_f16_f32", "-D", "__CUDA_ARCH__=700", *KEEPS)
    assert said.statuses() == {"cast_f16_f32": "compile_error"}
    assert "this is CUDA" in said.rows["cast_f16_f32"]["message"]


@pytest.mark.slow("compiles and judges a port per test")
def test_code_objects_of_amd_are_refused_with_a_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "port"))
    elf = importlib.import_module("elf")
    rows = [elf.kernel_row("uneg_f32", [(0, 8, "by_value")])]
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "mine.hsaco").write_bytes(elf.code_object(elf.metadata("gfx942", rows)))
    objects = {"hipv4-amdgcn-amd-amdhsa--gfx1100": elf.code_object(elf.metadata("gfx1100", rows))}
    for content in (None, elf.bundle(objects)):
        if content is not None:
            (tmp_path / "port" / "mine.hsaco").write_bytes(content)
        said = run(tmp_path / "port", "uneg_f32", "uabs_f32", *KEEPS)
        assert said.statuses() == {"uabs_f32": "missing"}
        assert said.rows["uneg_f32"]["status"] == "not_run"
        assert "mine.hsaco: is for an AMD GPU (gfx" in said.rows["uneg_f32"]["message"]
        assert "cpu runtime runs host code" in said.rows["uneg_f32"]["message"]
