"""The stand-in for ROCm's libraries, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.runtimes.cpu.toolchain import NoCompiler
from tests.rocm_runtime.stand_in import VARIABLES, build_stand_in


@pytest.fixture(scope="session")
def stand_in_rocm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder such as /opt/rocm; skips where there is no compiler."""
    try:
        return build_stand_in(tmp_path_factory.mktemp("stand_in") / "rocm")
    except NoCompiler as error:
        pytest.skip(str(error))


@pytest.fixture
def over_stand_in(stand_in_rocm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Processes started meanwhile find the stand-in in place of ROCm."""
    monkeypatch.setenv("ROCM_PATH", str(stand_in_rocm))
    for name in ("LD_LIBRARY_PATH", "ROCM_HOME", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", *VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return stand_in_rocm
