"""A program in Rust over the crate rocm-rs, as some ports of Candle are, on an AMD GPU that is interpreted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.emulate.installation import RUNTIMES
from tests.emulate.test_programs import TARGETS, Build, built, emulate

__all__ = ["built"]

CRATE = Path(__file__).with_name("rust")
_SECONDS = 120.0
"""For the registry to answer."""


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the crate, whose dependencies are there; skips where cargo or its registry is not to be had."""
    if shutil.which("cargo") is None:
        pytest.skip("NO PROGRAM IN RUST: there is no cargo on PATH")
    copy = tmp_path_factory.mktemp("rust") / "crate"
    shutil.copytree(CRATE, copy)
    try:
        done = subprocess.run(
            ["cargo", "fetch"], cwd=copy, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"NO PROGRAM IN RUST: cargo's registry has not answered in {_SECONDS:g} s")
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines()] or [f"exit code {done.returncode}"]
        pytest.skip(f"NO PROGRAM IN RUST: cargo fetch: {next((one for one in lines if 'error' in one), lines[-1])}")
    return copy


@pytest.mark.nightly("builds the runtime of programs and a crate with what it depends on")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_a_program_over_rocm_rs_launches_multiplies_and_takes_random_numbers(
    built: Build, crate: Path, arch: str, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built("saxpy.hip", arch)  # or skips
    # rocm-rs makes its bindings from ROCm's headers, which this machine need not have; it brings some along.
    monkeypatch.setenv("SKIP_BINDGEN", "1")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(crate / "target"))
    done = emulate("--runtime", runtime, "--arch", arch, "--", "cargo", "run", "--quiet", folder=crate)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{64 if arch == 'gfx942' else 32} lanes",
        "kernel: 0 wrong",
        "product: [26.0, 38.0, 30.0, 44.0]",
        # Random123's known answer for Philox4x32-10 with counter and key 0
        "random: [6627e8d5, e169c58d, bc57ac4c, 9b00dbd8] true",
    ]
