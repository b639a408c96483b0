"""Branches for a target or a size of waves, as AMD's compiler takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import Run

from conformance.cli.main import main

KEEPS = ("--order", "forward")
CASE = "ucopy_f32(shape=[1],values=unit)"
UNARY = """
#include "which.h"
extern "C" __global__ void ucopy_f32(size_t numel, size_t dims, const size_t *info, const float *inp, float *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numel) out[i] = RIGHT ? inp[i] : 99.0f;
}
"""


@pytest.mark.slow("compiles and judges a port for each target")
def test_the_target_that_is_named_has_its_macros_and_its_waves(run: Run, tree: Path) -> None:
    (tree / "which.h").write_text("""
#if defined(__gfx1100__) && defined(__GFX11__) && defined(__AMDGCN__) && __AMDGCN_WAVEFRONT_SIZE__ == 32
#define RIGHT (warpSize == 32)
#elif defined(__gfx942__) && defined(__GFX9__) && __AMDGCN_WAVEFRONT_SIZE == 64
#define RIGHT (warpSize == 64)
#else
#error no target
#endif
""")
    for arch, wave in (("gfx1100", 32), ("gfx942", 64)):
        said = run(tree, CASE, "--arch", arch, *KEEPS)
        assert (said.statuses(), said.wave) == ({"ucopy_f32": "pass"}, wave)
        assert "CUDA sources" not in said.err  # the target's waves are not chosen for the sources
    assert run(tree, CASE, *KEEPS).statuses() == {"ucopy_f32": "compile_error"}


@pytest.mark.slow("compiles and judges a port for each target")
def test_the_macro_of_the_size_of_waves_is_that_of_the_run(run: Run, tree: Path) -> None:
    (tree / "which.h").write_text(
        "static_assert(__AMDGCN_WAVEFRONT_SIZE__ > 1);\n#define RIGHT (warpSize == __AMDGCN_WAVEFRONT_SIZE__)\n"
    )
    for wave in (32, 64):
        assert run(tree, CASE, "--wave", wave, *KEEPS).statuses() == {"ucopy_f32": "pass"}


@pytest.mark.slow("compiles and judges a port for each target")
@pytest.mark.parametrize(
    ("arch", "type_name", "status"),
    [
        ("gfx942", "__hip_fp8_e4m3", "crash"),
        ("gfx942", "__hip_fp8_e4m3_fnuz", "pass"),
        ("gfx1201", "__hip_fp8_e4m3_fnuz", "crash"),
        ("gfx1100", "__hip_fp8_e4m3", "pass"),
    ],
)
def test_the_header_stops_at_an_8_bit_float_that_the_gpu_does_not_have(
    run: Run, tree: Path, arch: str, type_name: str, status: str
) -> None:
    """As amd_hip_fp8.h does where conversions are instructions: gfx942 has FNUZ formats, gfx12 those of OCP."""
    (tree / "which.h").write_text(f"#include <hip/hip_fp8.h>\n#define RIGHT (float({type_name}(1.0f)) == 1.0f)\n")
    assert run(tree, CASE, "--arch", arch, *KEEPS).statuses() == {"ucopy_f32": status}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--arch", "gfx942", "--wave", "32"], "gfx942 has waves of 64 lanes"),
        (["--arch", "mi300"], "'mi300' is not an AMD target"),
    ],
)
def test_a_target_that_cannot_be_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    assert main(["run", CASE, "--runtime", "cpu", "--kernels", str(tree), *words]) == 2
    assert why in capsys.readouterr().err
