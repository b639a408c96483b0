"""``pytest``: an item per launcher next to one per kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "launch_mmvq_gguf_quantize_q8_1"
FILL = """
extern "C" __global__ void fill_u32(unsigned *buf, unsigned value, size_t numel) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < numel; i += (size_t)blockDim.x * gridDim.x)
    buf[i] = value;
}
"""


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A repository with two launchers, one kernel and a test of its own."""
    (tmp_path / "port").mkdir()
    shutil.copy(Path(__file__).parent / "tree" / "quantize.hip", tmp_path / "port")
    (tmp_path / "port" / "fill.hip").write_text(f"#include <hip/hip_runtime.h>\n{FILL}")
    (tmp_path / "pyproject.toml").write_text('[tool.candle-parity]\nkernels = "port"\n')
    return tmp_path


def says(folder: Path, *words: object, fault: int = 0) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--parity-runtime", "cpu", *map(str, words)]
    variables = os.environ | {"PYTHONPATH": str(ROOT), "LAUNCHER_FAULT": str(fault)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.nightly("compiles launchers and judges them")
def test_launchers_are_items_with_counts_and_a_gate_of_their_own(port: Path) -> None:
    words = ("-k", f"{PREFIX} or fill_u32", "--parity-fail-under", "0.1", "--parity-json", port / "r.json")
    code, out = says(port, *words, "--parity-fail-under-launchers", "4", "-n", "2")
    assert code == 0, out
    assert "3 passed, 1 skipped" in out
    assert "1 of 748 kernels at parity (0.1%), 2 of 49 launchers" in out
    assert "launchers 4.08% (2 of 49), gate 4%: met" in out
    record = json.loads((port / "r.json").read_text())
    assert (record["summary"]["pass"], [row["status"] for row in record["launchers"]]) == (
        1,
        ["missing", "pass", "pass"],
    )
    code, out = says(port, "-m", "mmvq", "-k", f"{PREFIX}_f", "--parity-fail-under-launchers", "50")
    assert (code, "launchers 4.08% (2 of 49), gate 50%: NOT met" in out) == (1, True)


@pytest.mark.nightly("compiles launchers and judges them")
def test_a_launcher_that_fails_is_a_failed_item_with_its_command(port: Path) -> None:
    code, out = says(port, "-k", f"{PREFIX}_f32 or fill_u32", fault=10)
    assert code == 1
    assert "1 failed, 1 passed" in out
    assert f"candle-parity run --runtime cpu --wave 64 --order forward '{PREFIX}_f32(" in out
    assert "1 of 748 kernels at parity (0.1%), 0 of 49 launchers" in out


@pytest.mark.nightly("compiles launchers and judges them")
def test_a_port_without_launchers_has_no_items_for_them_unless_it_is_asked(port: Path) -> None:
    (port / "port" / "quantize.hip").unlink()
    assert "748 tests collected" in says(port, "--collect-only", "-q")[1]
    code, out = says(port, f"pyproject.toml::mmvq::{PREFIX}_f32")
    assert (code, "1 skipped" in out) == (2, True)
    assert "the sources define none of the 1 selected launchers" in out
