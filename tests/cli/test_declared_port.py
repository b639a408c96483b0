"""A port that its repository declares: what ``run`` and ``pytest`` without arguments make of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.port.config import _LONGEST_LINE, config_file_in, read_config
from conformance.port.sources import SourceError
from conformance.runtimes import NoRuntime
from conformance.session import setup
from tests.cli.small_port import ROOT, declare, small_port
from tests.commands import answer, refused


@pytest.fixture
def port(tmp_path: Path) -> Path:
    """A repository with three kernels, a wrong one among them, its own test, and where its tests are."""
    small_port(tmp_path)
    declare(tmp_path, more='[tool.pytest.ini_options]\ntestpaths = ["tests"]\nmarkers = []\n')
    return tmp_path


def pytest_says(folder: Path, *words: object) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "conformance.pytest_plugin", "--strict-markers"]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *map(str, words)], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def collected(folder: Path, *words: object) -> tuple[int, set[str]]:
    code, out = pytest_says(folder, "--collect-only", "-q", *words)
    return code, {line for line in out.splitlines() if "::" in line}


OWN = "tests/test_own.py::test_own"
WRONG = "pyproject.toml::fill::fill_u8"
RIGHT = "pyproject.toml::fill::fill_u32"


@pytest.mark.slow("whole runs by the command")
@pytest.mark.parametrize("folder", [".", "tests"])
def test_a_bare_pytest_collects_every_kernel(port: Path, folder: str) -> None:
    code, found = collected(port / folder)
    assert code == 0
    assert len(found) == 749
    assert {OWN, WRONG, RIGHT} <= found


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tests"], {OWN}),
        (["-k", "test_own"], {OWN}),
        (["-m", "not candle_parity"], {OWN}),
        ([RIGHT], {RIGHT}),
        (["pyproject.toml", "-k", "fill_u32 or own"], {RIGHT}),
        ([".", "-k", "fill_u32 or own"], {RIGHT, OWN}),
        (["-m", "sort and argsort", "-k", "asort_asc_f32"], {"pyproject.toml::sort::asort_asc_f32"}),
        (["--parity-runtime", "cpu", "tests"], {OWN}),
    ],
)
def test_what_is_collected(port: Path, words: list[str], expected: set[str]) -> None:
    assert collected(port, *words) == (0, expected)


@pytest.mark.slow("whole runs by the command")
def test_markers_are_registered(port: Path) -> None:
    out = pytest_says(port, "--markers")[1]
    assert "@pytest.mark.unary: kernels of candle-parity: Unary maths" in out


@pytest.mark.nightly("whole runs by the command")
def test_a_run_in_workers_and_the_last_failures(port: Path) -> None:
    words = ("-k", "own or fill_u", "--junit-xml", "junit.xml")
    code, out = pytest_says(port, "-n", "2", *words)
    assert code == 1
    assert "1 failed, 2 passed" in out
    assert "1 of 748 kernels at parity" in out
    junit = (port / "junit.xml").read_text()
    assert 'classname="pyproject.toml.fill" name="fill_u8"' in junit
    assert "<properties>" not in junit
    (port / "tests" / "test_own.py").write_text("def test_own():\n    assert False\n")
    pytest_says(port, *words)
    assert collected(port, "--lf") == (0, {OWN, WRONG})


@pytest.mark.nightly("whole runs by the command")
def test_another_working_directory(port: Path) -> None:
    code, out = pytest_says(port / "tests", f"../{RIGHT}")
    assert code == 0
    assert "1 passed" in out
    code, out = pytest_says(port / "tests", f"../{WRONG}")
    assert code == 1
    assert "--config" in out  # the command that reproduces it works from here


@pytest.mark.nightly("whole runs by the command")
def test_a_worker_in_a_folder_without_the_port_is_told(port: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    worker = f"popen//chdir={tmp_path_factory.mktemp('elsewhere')}"
    code, out = pytest_says(port, "-k", "fill_u32", "--dist", "load", "--tx", worker)
    assert code == 2
    assert "pytest-xdist's workers lack it" in out


@pytest.mark.nightly("whole runs by the command")
def test_it_does_not_pass_where_no_kernel_was_collected(port: Path) -> None:
    declare(port)  # no testpaths: found as any file is, or not
    code, out = pytest_says(port, "-n", "1", "--ignore", "pyproject.toml")
    assert code == 2
    assert "1 passed" in out
    assert "pyproject.toml declares a port, and none of its kernels was collected" in out
    declare(port, kernels="nowhere")
    code, out = pytest_says(port)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "pyproject.toml: kernels: kernels path " in out
    assert "Traceback" not in out


@pytest.mark.nightly("whole runs by the command")
def test_the_gate_of_the_file(port: Path) -> None:
    declare(port, more="[tool.candle-parity.gate]\nfail_under = 0.1\n")
    code, out = pytest_says(port, "-q")
    assert "gate 0.1%: met" in out
    assert code == 0
    declare(port, more="[tool.candle-parity.gate]\nfail_under = 0.3\n")
    code, out = pytest_says(port, "-q")
    assert "gate 0.3%: NOT met" in out
    assert code == 1


@pytest.mark.nightly("whole runs by the command")
@pytest.mark.parametrize(
    "text", ['[project]\ndependencies = ["candle-parity"]\n', "[tool.candle-parity]\nstd = 'c++20'\n"]
)
def test_without_a_declaration_of_kernels_nothing_happens(port: Path, text: str) -> None:
    (port / "pyproject.toml").write_text(text)
    code, out = pytest_says(port)
    assert code == 0
    assert "1 passed" in out
    assert "candle-parity:" not in out
    assert "parity =" not in out


def test_both_files_are_an_error(port: Path) -> None:
    (port / "candle-parity.toml").write_text('kernels = "port"\n')
    with pytest.raises(SourceError, match=r"both declare the port; keep one of them"):
        config_file_in(port)
    assert pytest_says(port)[0] == pytest.ExitCode.USAGE_ERROR


def test_the_table_has_the_keys_of_the_file(port: Path) -> None:
    rows = '[tool.candle-parity]\nkernels = "port"\ndefines = ["A"]\n[tool.candle-parity.gate]\nbaseline = "b.json"\n'
    (port / "pyproject.toml").write_text(rows)
    found = read_config(port / "pyproject.toml")
    own = port / "own" / "candle-parity.toml"
    own.parent.mkdir()
    own.write_text(rows.replace("[tool.candle-parity]\n", "").replace("tool.candle-parity.", ""))
    assert (found.settings.kernels, found.settings.defines) == (port / "port", ("A",))
    assert found.gate.baseline == port / "b.json"
    assert read_config(own).settings.defines == found.settings.defines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.candle-parity]\nfoo = 1\n", "[tool.candle-parity]: unknown key 'foo'"),
        ("[tool.candle-parity]\nlaunch = 1\n", "each under its [[tool.candle-parity.launch]]"),
        ("tool.candle-parity = 3\n", "has no table [tool.candle-parity]"),
        ("[tool.candle-parity\n", "cannot be read as TOML"),
        (f"# candle-parity{' ' * _LONGEST_LINE}\n", "has a line of more than 4 KiB"),
    ],
)
def test_a_table_that_cannot_be_used(port: Path, text: str, said: str) -> None:
    (port / "pyproject.toml").write_text(text)
    with pytest.raises(SourceError) as caught:
        read_config(port / "pyproject.toml")
    assert said in str(caught.value)


def test_the_runtime_of_the_file(
    port: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(port, more='runtime = "rocm"\n')
    monkeypatch.chdir(port)
    asked: list[str] = []

    def none(name: str) -> None:
        asked.append(name)
        raise NoRuntime("no such machine")

    monkeypatch.setattr(setup, "choose", none)
    refused(answer(capsys, "run", "fill_u32"), "no such machine")
    refused(answer(capsys, "run", "fill_u32", "--runtime", "cpu"), "no such machine")
    assert asked == ["rocm", "cpu"]
