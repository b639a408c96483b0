"""A variable whose value means nothing is exit code 2 with its name and what is allowed, whatever the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.environment import VARIABLES, EnvironmentValueError, check, value_of
from conformance.files import ROOT
from tests.commands import answer, refused

BAD = [
    ("CANDLE_PARITY_HANG_SECONDS", "abc", "a number of seconds from 0.1 to 86400"),
    ("CANDLE_PARITY_HANG_SECONDS", "0", "a number of seconds from 0.1 to 86400"),
    ("CANDLE_PARITY_HANG_SECONDS", "nan", "a number of seconds from 0.1 to 86400"),
    ("CANDLE_PARITY_HANG_SECONDS", "inf", "a number of seconds from 0.1 to 86400"),
    ("CANDLE_PARITY_ISA_PERTURB", "-1", "a whole number from 0 to 4294967295"),
    ("CANDLE_PARITY_ISA_ARCH", "sm_90", "an AMD target (gfx942)"),
    ("CANDLE_PARITY_AMD_COMPILER", "nvcc", "one of rocm, clang, zig"),
    ("CANDLE_PARITY_CXX", "'clang++", "a command line (clang++-19)"),
    ("CANDLE_PARITY_CACHE", "/dev/null", "a folder, or a path where nothing is yet"),
    ("CANDLE_PARITY_DEBUG", "yes", "0 or 1"),
    ("CANDLE_PARITY_PASS", "MY SETTING", "names with commas between them"),
    ("CANDLE_PARITY_RUN_ID", "a b", "1 to 128 letters, digits"),
    ("HIPCPU_THREADS", "0", "a whole number from 1 to 24"),
    ("HIPCPU_THREADS", "25", "a whole number from 1 to 24"),
    ("HIPCPU_THREADS", "٤", "a whole number from 1 to 24"),
    ("HIPCPU_TIMEOUT_MS", "5s", "a whole number from 0 to 3600000"),
    ("CANDLE_PARITY_ASCII", "yes", "0 or 1"),
    ("HIPCPU_SAY", "loud", "0 or 1"),
    ("HIPCPU_POISON", "off", "0 or 1"),
    ("HIPCPU_GUARD", "2", "0 or 1"),
    ("HIPCPU_PRINT_BYTES", "-1", "a whole number from 0 to 1073741824"),
    ("HIPCPU_WAVE", "48", "32 or 64"),
    ("HIPISA_DEVICES", "17", "a whole number from 1 to 16"),
    ("HIPISA_PROGRESS", "-1", "a whole number from 0 to 86400"),
    ("HIPCPU_ORDER", "random", "forward, reverse or shuffle:SEED"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
@pytest.mark.slow("runs the command for each row")
def test_a_value_that_cannot_be_used_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    refused(answer(capfd, "list"), f"{name}={value}: expected {allowed}")


def test_every_variable_with_bounds_is_tried() -> None:
    bounded = {variable.name for variable in VARIABLES if variable.read is not str}
    assert bounded - {name for name, _, _ in BAD} == {"CANDLE_PARITY_ISA_SITES"}, "a folder, as the cache is"


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable.name, "")
        assert value_of(variable.name) is None
    check()


@pytest.mark.slow("runs the command for each row")
def test_pytest_refuses_it_too(tmp_path: Path) -> None:
    (tmp_path / "candle-parity.toml").write_text('kernels = "."\n')
    (tmp_path / "fill.hip").write_text("")
    words = [sys.executable, "-m", "pytest", "-p", "conformance.pytest_plugin", "-p", "no:cacheprovider"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "HIPCPU_THREADS": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "HIPCPU_THREADS=0: expected a whole number from 1 to 24" in done.stderr


def test_a_folder_may_be_there_or_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "new" / "one"):
        monkeypatch.setenv("CANDLE_PARITY_CACHE", str(path))
        check()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentValueError):
        check()
