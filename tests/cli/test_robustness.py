"""Launches that Candle's Rust side never makes are tried after the verdict, and have no part in it."""

from __future__ import annotations

import pytest

GUARDED = """
extern "C" __global__ void uneg_f32(const size_t n, const size_t d, const size_t *info, const float *inp, float *out) {
    WITHOUT_INPUT
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        size_t at = i;
        if (info) {
            size_t left = i;
            at = 0;
            for (size_t k = d; k--;) {
                at += left % info[k] * info[d + k];
                left /= info[k];
            }
        }
        out[i] = -inp[at];
    }
}
"""


@pytest.mark.parametrize(
    ("without_input", "failed"),
    [
        ("", 3),
        ("if (!inp) return;", 3),
        ("if (!inp) __builtin_trap();", 3),
        ("if (!inp) for (volatile int spin = 1; spin;) {}", 2),  # then it is given up
    ],
    ids=["fault", "nothing done", "trap", "hang"],
)
def test_a_kernel_that_needs_its_input_is_at_parity(cli, port, without_input, failed):
    folder = port(GUARDED.replace("WITHOUT_INPUT", without_input))
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64", "--md", folder / "r.md")
    kernel = said.kernel("uneg_f32")
    assert (said.code, kernel["status"], kernel["failed"]) == (0, "pass", 0)
    assert kernel["robustness"]["failed"] == failed
    assert all("inp=null" in failure["case"] for failure in kernel["robustness"]["failures"])
    assert f"failed, in 1 kernel ({failed} as the input is never null" in " ".join(said.out.split())
    report = (folder / "r.md").read_text()
    assert "## Robustness" in report
    assert "/candle-core/src/cuda_backend/mod.rs#L422)" in report


def test_a_case_that_is_asked_for_counts(cli, port):
    folder = port(GUARDED.replace("WITHOUT_INPUT", ""))
    case = "uneg_f32(shape=[256],values=unit,inp=null)"
    said = cli("run", case, "--runtime", "cpu", "--kernels", folder, "--wave", "64")
    assert (said.code, said.kernel("uneg_f32")["status"]) == (1, "crash")
    assert said.kernel("uneg_f32")["robustness"] is None


def test_a_wrong_answer_to_a_launch_of_candles_is_still_one(cli, port):
    folder = port(GUARDED.replace("WITHOUT_INPUT", "").replace("-inp[at]", "-inp[i]"))
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64")
    kernel = said.kernel("uneg_f32")
    assert (said.code, kernel["status"]) == (1, "crash")  # where a broadcast input ends
    assert 0 < kernel["failed"] < kernel["cases"]
