"""An emulator below ROCm is named wherever it says what ran the kernels: by a stand-in for its library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.spec.load import load_specs
from conformance.toolchains.host import find_toolchain
from tests.rocm_runtime.stand_in import ROOT, code_object, kernel_row, run

pytestmark = pytest.mark.usefixtures("over_stand_in")


@pytest.fixture
def preloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes started meanwhile have a library loaded that is named as rocJITsu's is."""
    library = tmp_path / "lib" / "librocjitsu_kmd.so"
    library.parent.mkdir()
    compiler = find_toolchain(links_standard_library=True).compiler
    command = [*compiler, "-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))


@pytest.fixture
def port(tmp_path: Path) -> Path:
    (tmp_path / "kernels").mkdir()
    row = kernel_row(load_specs().kernels["fill_u8"])
    (tmp_path / "kernels" / "fill.hsaco").write_bytes(code_object([row]))
    return tmp_path


@pytest.mark.slow("runs by a stand-in of AMD's library")
@pytest.mark.usefixtures("preloaded")
def test_a_run_in_an_emulator_is_not_one_on_an_amd_gpu(port: Path) -> None:
    ran = run(port, "fill_u8")
    said = " ".join(ran.out.split())
    assert "executed through the ROCm runtime in the emulator rocjitsu (librocjitsu_kmd.so); not on an AMD GPU" in said
    assert "executed on an AMD GPU" not in said
    told = json.loads((port / "record.json").read_text())["run"]
    assert (told["emulator"], told["driver"]) == ("rocjitsu (librocjitsu_kmd.so)", None)


@pytest.mark.slow("runs by a stand-in of AMD's library")
def test_without_one_nothing_is_named(port: Path) -> None:
    assert "executed on an AMD GPU through the ROCm runtime" in run(port, "fill_u8").out
    assert json.loads((port / "record.json").read_text())["run"]["emulator"] is None


@pytest.mark.slow("runs by a stand-in of AMD's library")
@pytest.mark.usefixtures("preloaded")
def test_the_doctor_names_it() -> None:
    words = [sys.executable, "-m", "conformance.cli.main", "doctor", "--runtime", "rocm"]
    out = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300).stdout
    assert "rocjitsu (librocjitsu_kmd.so): no GPU runs the kernels" in out
    assert "\nok  AMD GPU " not in out
