"""``pytest`` at the root: the parity matrix, an item per kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BAD_FILL = """#include <hip/hip_runtime.h>
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) { buf[0] = value; }
"""


def pytest_says(*words: object) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_an_item_per_kernel_and_the_table(tmp_path):
    code, out = pytest_says("specs/fill.yaml", "--parity-json", tmp_path / "r.json")
    assert code == 0
    assert "24 passed" in out
    assert "24 of 748 kernels at parity" in out
    assert json.loads((tmp_path / "r.json").read_text())["summary"]["pass"] == 24


def test_spread_over_workers():
    code, out = pytest_says("specs/fill.yaml", "-n", "2")
    assert code == 0
    assert "24 of 748 kernels at parity" in out


def test_the_gate():
    assert pytest_says("specs/fill.yaml", "-k", "fill_f32", "--parity-fail-under", "0.1")[0] == 0
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_f32", "--parity-fail-under", "50")
    assert code == 1
    assert "gate 50%: NOT met" in out


def test_a_failing_item_shows_the_reproducing_command_and_a_missing_one_is_skipped(tmp_path):
    (tmp_path / "fill.hip").write_text(BAD_FILL)
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_u8 or fill_f32", "--parity-kernels", tmp_path)
    assert code == 1
    assert "candle-parity run --runtime cpu" in out
    assert "fill_u8(" in out
    assert "1 failed, 1 skipped" in out


def test_a_bad_path_is_one_sentence():
    code, out = pytest_says("specs/fill.yaml", "-k", "fill_f32", "--parity-kernels", "/nowhere")
    assert code == 1
    assert "kernels path /nowhere does not exist" in out
    assert "Traceback" not in out
