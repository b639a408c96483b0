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

    def run(*words, right="-", head="", without=None):
        text = SOURCE.partition('extern "C" __global__ void uneg_f64')[0] if without else SOURCE
        said = cli("run", *CASES, "--kernels", port(head + text.replace("RIGHT", right)), *words)
        rows = [said.kernel(name)["status"] for name in ("uneg_f32", "uneg_f64")]
        return rows, said.record["run"]["kept"]

    return run


@pytest.mark.slow("whole runs by the command")
def test_a_pass_is_kept_and_a_failure_is_judged_again(verdicts) -> None:
    assert verdicts("--reuse") == (["pass", "fail"], None)
    assert verdicts("--reuse") == (["pass", "fail"], 1)
    assert verdicts() == (["pass", "fail"], None)


@pytest.mark.slow("whole runs by the command")
def test_other_code_is_judged(verdicts) -> None:
    verdicts("--reuse")
    assert verdicts("--reuse", right="1 - ") == (["fail", "fail"], None)


@pytest.mark.nightly("whole runs by the command")
def test_what_is_judged_otherwise_is_judged(verdicts, monkeypatch) -> None:
    verdicts("--reuse")
    for words in (("--seed-salt", "x"), ("--wave", "32"), ("--order", "reverse"), ("--no-sandbox",)):
        assert verdicts("--reuse", *words) == (["pass", "fail"], None)
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "91")
    assert verdicts("--reuse") == (["pass", "fail"], None)


@pytest.mark.slow("whole runs by the command")
def test_the_name_of_a_run_is_no_other_way_to_judge(verdicts, monkeypatch) -> None:
    for name in ("github-1", "github-2"):
        monkeypatch.setenv("CANDLE_PARITY_RUN_ID", name)
        answered = verdicts("--reuse")
    assert answered == (["pass", "fail"], 1)


OUTSIDE = {
    "the environment": '#include <cstdlib>\n#define RIGHT (getenv("WRONG") ? 1 - 0 : -1) *\n',
    "a file": '#include <fcntl.h>\n#define RIGHT (open("/nowhere", O_RDONLY) >= 0 ? 1 : -1) *\n',
    "the clock": "#include <ctime>\n#define RIGHT (time(nullptr) < 0 ? 1 : -1) *\n",
}


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize("outside", OUTSIDE)
def test_a_pass_that_may_depend_on_more_than_the_object_is_not_kept(verdicts, outside) -> None:
    for _ in range(2):
        assert verdicts("--reuse", right="RIGHT", head=OUTSIDE[outside]) == (["pass", "fail"], None)


@pytest.mark.slow("whole runs by the command")
def test_a_pass_next_to_a_constructor_of_another_source_is_not_kept(verdicts, port) -> None:
    assert verdicts("--reuse") == (["pass", "fail"], None)
    assert verdicts("--reuse") == (["pass", "fail"], 1)
    deed = "static int deed = [] { __builtin_ia32_ldmxcsr(0x3f80); return 1; }();\n"
    other = 'extern "C" __global__ void uneg_f64(size_t n, size_t d, const size_t *i, const double *x, double *y) {}\n'
    port(f"{deed}{other}", name="another.hip")
    assert verdicts("--reuse", "-j", "1", without="uneg_f64") == (["pass", "fail"], None)
