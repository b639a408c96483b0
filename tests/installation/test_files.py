"""Where the harness finds its files, and which Python its processes are started with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance import files
from conformance.cli.main import main
from tests.installation.environment import ROOT


@pytest.fixture
def wheel_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if this were an installation whose data is in the folder."""
    folder = tmp_path / "_data"
    folder.mkdir()
    monkeypatch.setattr(files, "DATA", folder)
    return folder


def test_a_checkout_uses_its_own_folders() -> None:
    assert files.spec_folder() == ROOT / "specs"
    assert files.kernels_folder() == ROOT / "kernels"
    assert files.traces_folder() == ROOT / "reference" / "traces"
    assert files.shipped_name(ROOT / "kernels") is None


def test_an_installation_uses_the_data_in_the_package(wheel_data: Path) -> None:
    assert files.spec_folder() == wheel_data / "specs"
    assert files.kernels_folder() == wheel_data / "kernels"
    assert files.checkout() is None
    assert files.shipped_name(wheel_data / "kernels") == "the shipped kernels"
    assert files.shipped_name(wheel_data) is None


def test_without_the_recorded_answers_replay_says_how_to_get_them(
    wheel_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "REFERENCE", tmp_path)
    monkeypatch.setattr(files, "find_spec", lambda name: None)  # the extra is installed where a release is tried
    shutil.copytree(ROOT / "specs", wheel_data / "specs")
    assert main(["replay", "--subject", "reference"]) == 2
    assert "pip install 'candle-parity[replay]'" in capsys.readouterr().err


def test_the_cache_of_a_checkout_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(files.CACHE, raising=False)
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")  # a worktree has a file
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    assert files.cache_folder() == tmp_path / "users" / "candle-parity"
    (tmp_path / "pyproject.toml").touch()
    assert files.cache_folder() == tmp_path / ".cache" / "candle-parity"


def test_the_cache_of_an_installation_is_the_users(
    wheel_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(files.CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    assert files.cache_folder() == tmp_path / "users" / "candle-parity"
    monkeypatch.setenv(files.CACHE, str(tmp_path / "named"))
    assert files.cache_folder() == tmp_path / "named"


@pytest.mark.parametrize("command", [files.own_python("import conformance.cli.usage"), files.own_module("this")])
def test_a_folder_in_the_way_is_not_taken_for_a_package(tmp_path: Path, command: list[str]) -> None:
    for name in ("conformance", "runpy", "this"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not ours')\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_installation_before_this_one_on_the_path_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("raise SystemExit('another')\n")
    path = os.pathsep.join([str(tmp_path), str(files.ROOT)])
    command = files.own_python("import conformance; print(conformance.__file__)")
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent.parent == files.ROOT
