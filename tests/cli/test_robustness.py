"""Launches that Candle's Rust side never makes are tried after the verdict where that is asked for, and have no part in
it."""

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


@pytest.mark.nightly("whole runs by the command")
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
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64", "--md", folder / "r.md",
               "--all-cases")  # fmt: skip
    kernel = said.kernel("uneg_f32")
    assert (said.code, kernel["status"], kernel["failed"]) == (0, "pass", 0)
    assert kernel["robustness"]["failed"] == failed
    assert all("inp=null" in failure["case"] for failure in kernel["robustness"]["failures"])
    assert f"failed, in 1 kernel ({failed} as the input is never null" in " ".join(said.out.split())
    report = (folder / "r.md").read_text()
    assert "## Robustness" in report
    assert "/candle-core/src/cuda_backend/mod.rs#L422)" in report


@pytest.mark.slow("runs the command several times")
def test_a_case_that_is_asked_for_counts(cli, port):
    folder = port(GUARDED.replace("WITHOUT_INPUT", ""))
    case = "uneg_f32(shape=[256],values=unit,inp=null)"
    said = cli("run", case, "--runtime", "cpu", "--kernels", folder, "--wave", "64")
    assert (said.code, said.kernel("uneg_f32")["status"]) == (1, "crash")
    assert said.kernel("uneg_f32")["robustness"] is None


@pytest.mark.slow("whole runs by the command")
def test_they_are_not_run_unasked_and_everything_else_is_the_same(cli, port):
    folder = port(GUARDED.replace("WITHOUT_INPUT", "if (!inp) __builtin_trap();"))
    words = ("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64")
    assert "no part in any verdict" not in cli(*words).out
    without = cli(*words, "-v", "--md", folder / "r.md")
    assert (without.code, without.kernel("uneg_f32")["robustness"]) == (0, None)
    count = without.kernel("uneg_f32")["unasked"]
    assert f"{count} cases were not run, as they have no part in any verdict" in " ".join(without.out.split())
    assert "--all-cases" in without.out
    report = (folder / "r.md").read_text()
    assert f"{count} cases were not run" in report
    assert "## Robustness" not in report
    (folder / "candle-parity.toml").write_text("all_cases = true\n")
    declared = cli(*words)
    assert declared.kernel("uneg_f32")["robustness"]["planned"] == count
    assert (declared.kernel("uneg_f32")["unasked"], "were not run" in declared.out) == (0, False)
    assert cli(*words, "--no-all-cases").kernel("uneg_f32")["unasked"] == count
    assert declared.record["summary"] == without.record["summary"]


@pytest.mark.nightly("whole runs by the command")
def test_a_record_with_them_and_one_without_are_of_the_same_verdicts(cli, port, tmp_path):
    folder = port(GUARDED.replace("WITHOUT_INPUT", "if (!inp) __builtin_trap();"))
    words = ("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64")
    base = tmp_path / "base.json"
    assert "base.json: written" in cli(*words, "--all-cases", "--baseline", base, "--update-baseline").out
    said = cli(*words, "--baseline", base, "--update-baseline")
    assert (said.code, "nothing to write, the verdicts are the same" in said.out) == (0, True)
    cli(*words, "--json", tmp_path / "new.json")
    for pair in ((base, tmp_path / "new.json"), (tmp_path / "new.json", base)):
        assert "1 the same, 0 better (0 of them new), 0 worse" in cli("diff", *pair, "--fail-on-worse").out


@pytest.mark.slow("whole runs by the command")
def test_a_verdict_that_is_kept_serves_both(cli, port):
    folder = port(GUARDED.replace("WITHOUT_INPUT", ""))
    words = ("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64", "--reuse")
    assert cli(*words).record["run"]["kept"] is None
    said = cli(*words, "--all-cases")
    assert said.record["run"]["kept"] == 1
    assert said.kernel("uneg_f32")["robustness"]["failed"] == 3


@pytest.mark.slow("whole runs by the command")
def test_a_wrong_answer_to_a_launch_of_candles_is_still_one(cli, port):
    folder = port(GUARDED.replace("WITHOUT_INPUT", "").replace("-inp[at]", "-inp[i]"))
    said = cli("run", "uneg_f32", "--runtime", "cpu", "--kernels", folder, "--wave", "64")
    kernel = said.kernel("uneg_f32")
    assert (said.code, kernel["status"]) == (1, "crash")  # where a broadcast input ends
    assert 0 < kernel["failed"] < kernel["cases"]


GATHER = """
extern "C" __global__ void gather_i64_{name}(
    const size_t numel, const long *ids, const {type} *inp, {type} *out, const size_t left_size,
    const size_t src_dim_size, const size_t ids_dim_size, const size_t right_size) {{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {{
        long id = ids[i];
        bool none = id == 0x7fffffffffffffff;
        const long dim = src_dim_size;
        if (!none) {{ {out_of_range} }}
        out[i] = none ? 0 : inp[(i / (right_size * ids_dim_size) * dim + id) * right_size + i % right_size];
    }}
}}
"""
ANY = {"beyond", "foreign", "negative", "cut"}
# By kernel: its type, what it does with an id out of range, and for which of these no fault tells of it.
OUT_OF_RANGE = {
    "f32": ("float", "if (id < 0 || id >= dim) __builtin_trap();", set()),  # as Candle's kernel
    "f64": ("double", "id = id < 0 ? 0 : id >= dim ? dim - 1 : id;", ANY),  # clamped, as Metal's
    "u32": ("unsigned", "none = id < 0 || id >= dim;", ANY),  # left out
    "i64": ("long", "id = (int)id; if (id < 0 || id >= dim) __builtin_trap();", {"cut"}),  # 32 bits are kept
}


@pytest.mark.slow("whole runs by the command")
def test_no_verdict_depends_on_ids_out_of_range(cli, port):
    """Candle's CPU backend, its CUDA kernels and its Metal kernels each do something else with them."""
    rows = OUT_OF_RANGE.items()
    folder = port(
        "".join(GATHER.format(name=name, type=row[0], out_of_range=row[1]) for name, row in rows), "moved.hip"
    )
    said = cli("run", *(f"gather_i64_{name}" for name in OUT_OF_RANGE), "--runtime", "cpu", "--kernels", folder,
               "--all-cases", "-j", "1", "--order", "forward")  # fmt: skip
    assert said.code == 0
    for name, (_, _, no_fault) in rows:
        kernel = said.kernel(f"gather_i64_{name}")
        assert (kernel["status"], kernel["failed"]) == ("pass", 0)
        failures = [one for one in kernel["robustness"]["failures"] if "without a fault" in one["why"]]
        assert {one["case"].partition("ids=")[2].split(",")[0] for one in failures} == no_fault, name
