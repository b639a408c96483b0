"""Programs of the CUDA driver: the library stands in front of a driver of ours that has one kernel and no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.conftest import PROGRAMS, stand_in

LAUNCHER = PROGRAMS / "cuda_launcher.py"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the driver."""
    folder = tmp_path_factory.mktemp("driver")
    stand_in("stand_in_cuda", folder / "libcuda.so.1")
    return folder


def captured(out: Path, driver: Path, how: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "conformance", "capture", "-o", str(out), "--", sys.executable, str(LAUNCHER)]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), **variables}
    words = [*command, "urelu.ptx", how]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow("builds a library and a driver, and judges a launch")
@pytest.mark.parametrize("how", ["plain", "ex", "asked"])
def test_a_launch_is_recorded_whichever_way_it_is_made(tmp_path: Path, driver: Path, how: str) -> None:
    done = captured(tmp_path / "launches", driver, how)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split() == ["urelu_f32", "1", "1", "1", "1", "0"]


@pytest.mark.slow("builds a library and a driver, and judges a launch")
def test_a_wrong_launch_is_named(tmp_path: Path, driver: Path) -> None:
    done = captured(tmp_path / "launches", driver, "plain", STAND_IN_MISTAKE="1")
    assert done.returncode == 1
    assert "out[999]" in done.stdout
    assert "got 500.0" in done.stdout
    assert "expected 499.0" in done.stdout


@pytest.mark.slow("builds a library and a driver, and judges a launch")
def test_the_device_is_not_waited_for_while_a_stream_is_captured_to_a_graph(tmp_path: Path, driver: Path) -> None:
    done = captured(tmp_path / "launches", driver, "graph")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split() == ["urelu_f32", "2", "1", "1", "1", "0"]
    assert "urelu_f32: 1 launch not recorded: a stream was captured into a graph meanwhile" in done.stdout
