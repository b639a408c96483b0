"""``--reuse``: what passed before is not run again while nothing that its verdict depends on has changed."""

import pytest

from conformance.files import cache_folder

SOURCE = """\
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) out[i] = RIGHT inp[i];
}
extern "C" __global__ void uneg_f64(size_t numel, size_t num_dims, const size_t *info, const double *inp, double *out) {
}
"""
CASES = ("uneg_f32(shape=[64],values=unit)", "uneg_f64(shape=[64],values=unit)")


@pytest.fixture
def verdicts(cli, port, monkeypatch, tmp_path):
    """Runs the port with ``--reuse``: the statuses of both kernels, and how many were kept."""
    shared, own = cache_folder(), tmp_path / "cache"
    own.mkdir()
    for name in ("runtime", "objects"):
        (shared / name).mkdir(parents=True, exist_ok=True)
        (own / name).symlink_to(shared / name)
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(own))

    def run(*words, right="-"):
        said = cli("run", *CASES, "--kernels", port(SOURCE.replace("RIGHT", right)), *words)
        rows = [said.kernel(name)["status"] for name in ("uneg_f32", "uneg_f64")]
        return rows, said.record["run"]["kept"]

    return run


def test_a_pass_is_kept_and_a_failure_is_judged_again(verdicts) -> None:
    assert verdicts("--reuse") == (["pass", "fail"], None)
    assert verdicts("--reuse") == (["pass", "fail"], 1)
    assert verdicts() == (["pass", "fail"], None)


def test_other_code_is_judged(verdicts) -> None:
    verdicts("--reuse")
    assert verdicts("--reuse", right="1 - ") == (["fail", "fail"], None)


def test_what_is_judged_otherwise_is_judged(verdicts, monkeypatch) -> None:
    verdicts("--reuse")
    for words in (("--seed-salt", "x"), ("--wave", "32"), ("--order", "reverse"), ("--no-sandbox",)):
        assert verdicts("--reuse", *words) == (["pass", "fail"], None)
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "91")
    assert verdicts("--reuse") == (["pass", "fail"], None)
