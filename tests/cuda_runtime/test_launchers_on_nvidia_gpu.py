"""Linked launchers on a GPU, compiled by nvcc; skipped, with the reason, where one of them is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.runtimes.cuda.nvcc import compiler_for
from tests.commands import answer
from tests.launchers.test_launchers import LAUNCHER, TREE, Fault

pytestmark = pytest.mark.on_nvidia_gpu

CASE = f"{LAUNCHER}(kx=96,rows=5,values=unit)"
SCRATCH = "launch_mmq_gguf_q4_0(ncols=256,nrows=33,columns=1,values=random)"


@pytest.fixture(autouse=True)
def _nvcc(nvidia_gpu: None) -> None:
    found = compiler_for("sm_90")
    if isinstance(found, str):
        pytest.skip(f"NOT RUN: {found}")


@pytest.mark.parametrize(
    ("case", "fault", "status", "why"),
    [
        (CASE, Fault.RIGHT, "pass", ""),
        ("launch_mmvq_gguf_quantize_q8_1_f16(kx=96,rows=5,values=unit)", Fault.RIGHT, "pass", ""),
        ("launch_mmvq_gguf_quantize_q8_1_bf16(kx=96,rows=5,values=unit)", Fault.RIGHT, "pass", ""),
        (CASE, Fault.CRASHES, "crash", "SIGSEGV"),
        (CASE, Fault.FREES_TWICE, "fail", "returns with the error cudaErrorInvalidValue (1) pending"),
        (CASE, Fault.FREES_ARGUMENT, "fail", "returns with the error cudaErrorInvalidValue (1) pending"),
        (CASE, Fault.NULL_STREAM, "fail", "launches on another stream"),
        (CASE, Fault.PENDING, "fail", "returns with the error cudaErrorInvalid"),  # Value or Configuration, by release
        (CASE, Fault.WRONG, "fail", "vy["),
        (SCRATCH, Fault.RIGHT, "fail", "wrote outside of tmp_fixup: 0 bytes before and 1 bytes behind it"),
    ],
    ids=str,
)
def test_a_launcher_is_judged(
    case: str,
    fault: Fault,
    status: str,
    why: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAUNCHER_FAULT", str(int(fault)))
    file = tmp_path / "record.json"
    answer(capsys, "run", "--runtime", "cuda", "--kernels", TREE, "--jobs", 1, "-q", "--json", file, case)
    row: dict[str, Any]
    (row,) = json.loads(file.read_text())["launchers"]
    assert row["status"] == status, row
    assert why in (row["failures"][0]["why"] if row["failures"] else "")
