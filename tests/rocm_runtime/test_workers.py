"""pytest's workers on one GPU: told once, at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from tests.rocm_runtime.stand_in import ARCH, ROOT, code_object, kernel_row

NAMES = ("fill_u8", "fill_u32", "fill_f32", "fill_i64", "fill_f64")


def summary(folder: Path, devices: int) -> str:
    """What pytest with two workers says of five kernels on ``devices`` GPUs."""
    specs = load_specs().kernels
    (folder / "fill.hsaco").write_bytes(code_object([kernel_row(specs[name]) for name in NAMES]))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--parity-runtime", "rocm"]
    words += ["--parity-kernels", str(folder), *(f"specs/fill.yaml::{name}" for name in NAMES)]
    environment = {**os.environ, "STAND_IN_HIP_DEVICES": ",".join([ARCH] * devices)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert "5 pass" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly("whole runs with several workers")
@pytest.mark.usefixtures("over_stand_in")
def test_more_workers_than_gpus_are_told_once(tmp_path: Path) -> None:
    assert summary(tmp_path, devices=1).count("2 pytest workers shared 1 GPU: ") == 1


@pytest.mark.nightly("whole runs with several workers")
@pytest.mark.usefixtures("over_stand_in")
def test_a_worker_for_each_gpu_is_not_told(tmp_path: Path) -> None:
    assert "pytest workers shared" not in summary(tmp_path, devices=2)
