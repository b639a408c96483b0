"""What is released of this tree, and an empty environment that its wheels are installed into; each made once."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.files import cache_folder
from tests.installation.environment import ROOT, Installation


def built(folder: Path, target: str, out: Path) -> Path:
    """The distribution of ``folder`` that is built into ``out``."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building a wheel needs hatchling: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT / "reference" / "traces", "wheel", tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="session")
def shared_installation(wheel: Path, traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("installing a wheel needs pip in the environment of the tests")
    made = Installation(tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("home"))
    venv.create(made.environment, with_pip=False)
    # By a path, whose own .pth files do not count: the editable install of this tree stays out.
    places = [place for place in sys.path if place.endswith("-packages")]
    (made.packages / "dependencies.pth").write_text("\n".join(places) + "\n")
    words = ["--python", made.environment / "bin/python", "install", "--no-deps", "--no-index", "--ignore-installed"]
    done = made.says(made.home, sys.executable, "-m", "pip", "--disable-pip-version-check", *words, wheel, traces)
    assert done.returncode == 0, done.stderr
    if (cache_folder() / "runtime").is_dir():  # built once for all tests, as its key is its content
        shutil.copytree(cache_folder() / "runtime", made.cache / "runtime", symlinks=True)
    return made


@pytest.fixture
def installation(shared_installation: Installation) -> Iterator[Installation]:
    """The installation, which no test may have changed when it ends."""
    before = shared_installation.files()
    yield shared_installation
    assert shared_installation.files() == before
