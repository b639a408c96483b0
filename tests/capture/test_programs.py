"""``candle-parity capture``: a program that knows nothing of the harness, on an AMD GPU that is interpreted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.capture.conftest import Network, candle_parity, capture

FIRST_LAUNCH = {
    "is_u32_f32": 1,
    "layernorm_f32": 2,
    "quantize_q8_1": 3,
    "mul_mat_vec_q4_0_q8_1_cuda4": 4,
    "badd_f32": 5,
    "urelu_f32": 6,
    "rmsnorm_f32": 7,
    "rope_f32": 8,
    "affine_f32": 9,
    "softmax_f32": 12,
}
"""The kernels of the program, and which of its 12 launches is the first of each."""


@pytest.mark.nightly("builds two runtimes and a program, and judges 12 launches")
def test_nothing_is_wrong_where_nothing_is_planted(tmp_path: Path, network: Network) -> None:
    record = tmp_path / "record.json"
    done = capture(tmp_path / "launches", *network.words(), options=("--json", record))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "the probabilities add up to 4.0000"
    assert lines[-1] == "all 12 launches that were judged are right"
    assert [line.split()[0] for line in lines[2:12]] == [
        *("is_u32_f32", "layernorm_f32", "quantize_q8_1", "mul_mat_vec_q4_0_q8_1_cuda4", "badd_f32", "urelu_f32"),
        *("rmsnorm_f32", "rope_f32", "affine_f32", "softmax_f32"),
    ]
    content = json.loads(record.read_text())
    assert content["summary"]["pass"] == len(FIRST_LAUNCH)
    assert content["run"]["program"] == f"{network.program} {network.right}"
    assert content["run"]["device"] != "gfx1100"


@pytest.mark.nightly("runs the program and judges 12 launches for each kernel")
@pytest.mark.parametrize("kernel", FIRST_LAUNCH)
def test_the_kernel_with_a_mistake_and_its_first_launch_are_named(
    tmp_path: Path, network: Network, kernel: str
) -> None:
    out = tmp_path / "launches"
    done = capture(out, *network.words(kernel))
    assert (done.returncode, done.stderr) == (1, "")
    case = f"{kernel}(trace={FIRST_LAUNCH[kernel]})"
    assert f"the first in the program's order is launch {FIRST_LAUNCH[kernel]}:\n{kernel}: fail" in done.stdout
    assert f"candle-parity replay {out} --subject reference '{case}'" in done.stdout
    wrong = [line.split()[0] for line in done.stdout.splitlines()[2:12] if not line.endswith(" 0")]
    assert wrong == [kernel]


@pytest.mark.nightly("builds two runtimes and a program")
def test_the_command_that_is_printed_shows_the_wrong_launch_again(tmp_path: Path, network: Network) -> None:
    out = tmp_path / "launches"
    assert capture(out, *network.words("rope_f32"), options=("--only", "rope*")).returncode == 1
    done = candle_parity("replay", out, "--subject", "reference", "rope_f32(trace=8)")
    assert done.returncode == 1
    assert "rope_f32: fail, 1 of 1 cases" in done.stdout
    assert f"launches of {network.program}" in " ".join(done.stdout.split())
