"""Own kernels beyond `run` on the host: pytest, and machine code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import answer
from tests.own.described import described
from tests.own.ports import OwnPort, changed


def items(port: OwnPort, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--parity-runtime", "cpu", *words]
    return subprocess.run(command, cwd=port.folder, capture_output=True, text=True, check=False)


@pytest.mark.slow("a session of pytest, which reads every spec")
def test_pytest_says_that_it_leaves_them_out(port: OwnPort) -> None:
    said = items(port, "--verbose", "--collect-only", "candle-parity.toml::fill::fill_u8")
    assert "leaves out the port's own kernels: give --parity-own" in said.stdout


@pytest.mark.nightly("two sessions of pytest, each of which reads every spec and compiles a file")
def test_pytest_has_an_item_for_each(port: OwnPort) -> None:
    one = "candle-parity.toml::fused::fadd_relu_f32"
    assert items(port, one).returncode != 0
    said = items(port, one, "--parity-own")
    assert said.returncode == 0, said.stdout
    assert "1 passed" in said.stdout
    changed(port.kernels, "lhs[l] + rhs[r]", "lhs[l] + rhs[i]")
    said = items(port, one, "--parity-own", "--parity-fail-under-own", "40")
    assert said.returncode == 1
    assert "own kernels 0.00% (0 of 2), gate 40%: NOT met" in said.stdout


@pytest.mark.nightly("compiles two files for an AMD target and interprets their kernels")
def test_mistakes_fail_as_machine_code(port: OwnPort, capfd) -> None:
    described(port)
    words = ("run", "--runtime", "isa", "--arch", "gfx942", "-j", "1", "--own", "row_total_*", "pick_rows_*")
    said = answer(capfd, *words)
    if "clang" in said.err and said.code == 2:
        pytest.skip("needs a compiler for AMD targets")
    assert said.code == 0, said.err
    changed(port.kernels.with_name("rowwise.hip"), "scale[col]", "scale[threadIdx.x]")
    changed(port.kernels.with_name("rowwise.hip"), "i / cols] * cols", "i / cols] * n")
    said = answer(capfd, *words, "--json", "r.json")
    assert said.code == 1
    assert all(row["failed"] for row in json.loads(Path("r.json").read_text())["own"])
    assert "of 2 own kernels that fail" in said.out
