"""A ``bench`` that a signal ends keeps what it measured until then, and says that there was more."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.record.bench import read_bench
from tests.commands import answer

ROOT = Path(__file__).resolve().parents[2]
CASES = [f"uneg_f32(shape=[{n}])" for n in (64, 70)]
ENDLESS = "uabs_f32(shape=[64])"

SOURCE = """#include <hip/hip_runtime.h>
#define ARGUMENTS size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out
extern "C" __global__ void uneg_f32(ARGUMENTS) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) out[i] = -inp[i];
}
extern "C" __global__ void uabs_f32(ARGUMENTS) {
  for (volatile bool goes_on = true; goes_on;) {}
}
"""

# The command itself, which writes how many workloads are done: what a signal is sent at.
PROGRAM = """
import signal, sys
from contextlib import contextmanager
from pathlib import Path
from conformance.cli.commands import bench
from conformance.cli.main import main

@contextmanager
def progress():
    yield lambda what, done, total: Path(sys.argv[1]).write_text(str(done)) if what == "timing" else None

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell's background jobs and nohup ignore
signal.signal(signal.SIGHUP, signal.SIG_DFL)
bench.progress = progress
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.nightly("starts bench and stops it by a signal")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_leaves_a_record_of_what_was_measured(
    number: int, code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "unary.hip").write_text(SOURCE)
    done, file, report = tmp_path / "done", tmp_path / "bench.json", tmp_path / "bench.md"
    words = ["bench", *CASES, ENDLESS, "--runtime", "cpu", "-j", "1", "--kernels", tmp_path, "--json", file]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, done, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not done.exists() or done.read_text() != str(len(CASES)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "candle-parity: stopped; 2 of 3 workloads timed\n" in err
    assert "incomplete: the run was stopped, 2 of 3 workloads timed" in out
    record = read_bench(file)
    assert [row.case for row in record.workloads] == CASES
    assert (record.bench.complete, record.bench.planned, record.losses) == (False, 3, ())
    shown = answer(capfd, "bench", "--from", file, "--md", report)
    assert shown.code == 1
    assert "- incomplete: the run was stopped, 2 of 3 workloads timed\n" in report.read_text()
