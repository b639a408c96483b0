"""``bench``: calls of launchers on the cpu runtime, never in a mean with kernels."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from conformance.cases.launch import Buffer, Launch, Stream
from conformance.cli.commands.bench import of_one_kind
from conformance.engine.timing.measure import start_of
from conformance.errors import UsageError
from conformance.record.bench import read_bench
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.device import Device, Function
from conformance.spec.load import load_specs
from tests.commands import answer

TREE = Path(__file__).parent / "tree"
LAUNCHER = "launch_mmvq_gguf_quantize_q8_1_f32"


@pytest.mark.slow("compiles launchers and judges them")
def test_calls_of_a_launcher_are_timed_against_another_trees(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("bench", "--runtime", "cpu", "--kernels", TREE, "--against", TREE, "--jobs", 1)
    said = answer(capsys, *words, "--json", tmp_path / "b.json", LAUNCHER)
    assert said.code == 0, said.err
    attention, row = read_bench(tmp_path / "b.json").workloads
    assert attention.case == f"{LAUNCHER}(kx=4096,rows=8,values=unit)"
    assert (row.kernel, row.case, row.size) == (LAUNCHER, f"{LAUNCHER}(kx=1280,rows=8,values=mid)", "small")
    assert row.bytes > 8 * 1280 * 4
    (line,) = [line for line in said.out.splitlines() if line.startswith(row.case)]
    assert line.split()[4:6] == ["-", "-"]  # registers and occupancy of a host function are nobody's


@pytest.mark.slow("compiles launchers and judges them")
def test_what_a_launcher_must_not_do_is_a_loss_and_no_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCHER_FAULT", "6")
    said = answer(capsys, "bench", "--runtime", "cpu", "--kernels", TREE, "--jobs", 1, LAUNCHER)
    assert said.code == 1
    assert "not timed: " in said.out
    assert "put work on the null stream" in said.out


def test_kernels_and_launchers_are_not_timed_together(capsys: pytest.CaptureFixture[str]) -> None:
    specs = load_specs()
    kernel, launcher = specs.entry("fill_u8"), specs.entry(LAUNCHER)
    cpu = runtime_kind("cpu")
    assert of_one_kind([kernel, launcher], cpu) == [kernel]
    assert "1 launchers are not timed in a run with kernels; select launchers alone" in capsys.readouterr().err
    assert of_one_kind([launcher], cpu) == [launcher]
    with pytest.raises(UsageError, match="not on the isa runtime"):
        of_one_kind([launcher], runtime_kind("isa"))


def test_on_a_gpu_a_call_is_put_on_the_null_stream_which_is_the_one_timed() -> None:
    given: list[tuple[int | None, ...]] = []
    host = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda x, stream: given.append((x, stream)))
    function = Function("launch_x", ctypes.cast(host, ctypes.c_void_p).value)
    x, device = Buffer("x", "f32", "in", np.zeros(4, np.float32)), SimpleNamespace(stream=lambda: 77)
    launch = Launch("launch_x", (1, 1, 1), (1, 1, 1), 0, (x, Stream("stream")), ("*", "*"))
    start_of(cast("Device", device), function, launch, {"x": 4096}, asynchronous=True)()
    assert given == [(4096, None)]
