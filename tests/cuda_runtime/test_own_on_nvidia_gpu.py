"""Own kernels and adapters on an NVIDIA GPU: elementwise, over rows, by indices, and a struct that holds pointers.

Each is judged as it is and with a mistake. Skipped, with the reason, where there is no such GPU.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_adapters import DECLARED, PORT
from tests.commands import answer
from tests.own.described import with_described
from tests.own.ports import OwnPort, changed

pytestmark = [
    pytest.mark.on_nvidia_gpu,
    pytest.mark.usefixtures("nvidia_gpu"),
    pytest.mark.slow("compiles files by NVRTC and judges kernels on the GPU, twice"),
]

OWN = ("fadd_relu_f32", "row_total_f32", "pick_rows_f32")
ADAPTED = ("uneg_f32", "uabs_f32", "copy2d_f32", "copy2d_u32", "affine_f32")


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnPort:
    monkeypatch.chdir(tmp_path)
    return with_described(OwnPort.written(tmp_path))


def judged(capfd: pytest.CaptureFixture[str], part: str, *words: str) -> dict[str, dict[str, Any]]:
    """The rows of what ``run --runtime cuda`` with ``words`` judges, by name."""
    said = answer(capfd, "run", "--runtime", "cuda", "-j", "1", *words, "--json", "record.json")
    assert said.code in (0, 1), said.err
    return {row["name"]: row for row in json.loads(Path("record.json").read_text())[part]}


def test_own_kernels_and_their_mistakes(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    rows = judged(capfd, "own", "--own", *OWN)
    assert {name: rows[name]["status"] for name in OWN} == dict.fromkeys(OWN, "pass")
    changed(port.kernels, "total < 0 ? (T)0 : total", "total")
    rowwise = port.kernels.with_name("rowwise.hip")
    changed(rowwise, "scale[col]", "scale[0]")
    changed(rowwise, "ids[i / cols] * cols + i % cols", "ids[i / cols] * cols")
    rows = judged(capfd, "own", "--own", *OWN)
    assert {name: rows[name]["status"] for name in OWN} == dict.fromkeys(OWN, "fail")


def test_adapted_kernels_and_a_mistake(port: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    source = port.kernels.with_name("adapted.hip")
    source.write_text(f"#include <hip/hip_runtime.h>\n{PORT}")
    port.declaration.write_text(f'kernels = "kernels"\n{DECLARED}')
    rows = judged(capfd, "kernels", *ADAPTED)
    assert {name: rows[name]["status"] for name in ADAPTED} == dict.fromkeys(ADAPTED, "pass")
    changed(source, "at.mul, at.add", "at.add, at.mul")
    rows = judged(capfd, "kernels", "affine_f32")
    assert rows["affine_f32"]["status"] == "fail"
