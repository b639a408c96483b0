"""Ways of launching that the emulated library does not have: a libamdhip64 of ours stands behind, without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.conftest import PROGRAMS, stand_in


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library."""
    folder = tmp_path_factory.mktemp("library")
    stand_in("stand_in_hip", folder / "libamdhip64.so")
    return folder


def captured(out: Path, library: Path, mode: str) -> subprocess.CompletedProcess[str]:
    """Capture ``programs/launcher.py`` in ``mode``, which launches urelu_f32 once before that."""
    command = [sys.executable, "-m", "conformance", "capture", "-o", str(out), "--", sys.executable]
    words = [*command, str(PROGRAMS / "launcher.py"), "code", mode]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow("builds two libraries, and judges two launches")
def test_a_launch_by_pointer_is_recorded(tmp_path: Path, library: Path) -> None:
    done = captured(tmp_path / "launches", library, "pointer")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split() == ["urelu_f32", "2", "1", "2", "2", "0"]


@pytest.mark.slow("builds two libraries, and judges a launch")
def test_a_launch_on_several_devices_at_once_is_told(tmp_path: Path, library: Path) -> None:
    done = captured(tmp_path / "launches", library, "devices")
    told = "candle-parity: 1 launch on several devices at once, whose kernels are not seen\n"
    assert (done.returncode, done.stderr) == (0, told)
