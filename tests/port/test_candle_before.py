"""``candle_before``: a port of an older Candle is judged by what Candle launched then, where the specs have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cases import launch_for
from conformance.cases.candle_changes import changes_from
from conformance.cases.launch import Null
from conformance.cases.traits import traits_of
from conformance.port.config import OPTIONS_FILE
from conformance.spec.load import load_specs
from conformance.verdict.trials import generated_parts
from tests.commands import answer, refused

KERNELS = load_specs().kernels
READS_INFO = """#include <hip/hip_runtime.h>
extern "C" __global__ void ucopy_u8(const size_t numel, const size_t num_dims, const size_t *info,
                                    const unsigned char *inp, unsigned char *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    size_t rest = i, at = 0;
    for (size_t d = num_dims; d-- > 0; rest /= info[d]) at += rest % info[d] * info[num_dims + d];
    out[i] = inp[at];
  }
}
"""


@pytest.mark.parametrize("name", ["ucopy_u8", "affine_f32", "cast_f32_u8", "badd_f32", "eq_f32", "upowf_f32"])
def test_no_launch_before_had_a_null_info(name: str) -> None:
    kernel = KERNELS[name]
    before = generated_parts(kernel, changes_from("b219903d0")).judged
    assert len(before) == len(generated_parts(kernel).judged)
    assert not any(isinstance(arg, Null) for case in before for arg in launch_for(kernel, case).args)


def test_a_later_commit_leaves_the_changes_before_it() -> None:
    assert generated_parts(KERNELS["ucopy_u8"], changes_from("e27b4700a")) == generated_parts(KERNELS["ucopy_u8"])


@pytest.mark.parametrize(
    ("name", "trait"), [("gather_u32_f32", "ids that mean none"), ("asort_asc_f32", "rows of over 1,024")]
)
def test_what_candle_did_not_launch_then_has_no_part_in_the_verdict(name: str, trait: str) -> None:
    now, then = generated_parts(KERNELS[name]), generated_parts(KERNELS[name], changes_from("b219903d0"))
    assert {*then.judged, *then.others} == {*now.judged, *now.others}
    assert then.judged
    assert {case for case in now.judged if trait in traits_of(case.text)} == {*now.judged} - {*then.judged}


@pytest.mark.nightly("compiles a small port")
def test_a_kernel_that_reads_info_always_is_at_parity_with_the_candle_before(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.hip").write_text(READS_INFO)
    words = ("run", "--runtime", "cpu", "-j", 1, "--kernels", tmp_path, "ucopy_u8", "--json", tmp_path / "record.json")
    assert answer(capfd, *words).code == 1
    (tmp_path / OPTIONS_FILE).write_text('candle_before = "b219903d0"\n')
    said = answer(capfd, *words)
    assert said.code == 0
    assert "judged against Candle before b219903d0 (2024-03-20)" in said.out
    assert "cannot express it before d9198deb3: im2col1d's first parameter counts threads" in " ".join(said.out.split())
    assert json.loads((tmp_path / "record.json").read_text())["run"]["candle_before"] == "b219903d0"


def test_a_commit_that_is_not_known_is_refused_with_those_that_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copy.hip").write_text(READS_INFO)
    (tmp_path / OPTIONS_FILE).write_text('candle_before = "2a13b0f3"\n')
    said = answer(capfd, "run", "--runtime", "cpu", "--kernels", tmp_path, "ucopy_u8")
    refused(said, "candle_before: '2a13b0f3' is none of", "b219903d0, d9198deb3, e27b4700a, f2bd79e63")
