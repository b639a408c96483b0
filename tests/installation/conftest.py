"""A wheel of this tree, and an empty environment that it is installed into; both made once."""

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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("hatchling", "hatch_vcs"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"building a wheel needs {name}: pip install -e '.[dev]'")
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def shared_installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("installing a wheel needs pip in the environment of the tests")
    made = Installation(tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("home"))
    venv.create(made.environment, with_pip=False)
    # By a path, whose own .pth files do not count: the editable install of this tree stays out.
    places = [place for place in sys.path if place.endswith("-packages")]
    (made.packages / "dependencies.pth").write_text("\n".join(places) + "\n")
    words = ["--python", made.environment / "bin/python", "install", "--no-deps", "--no-index", "--ignore-installed"]
    done = made.says(made.home, sys.executable, "-m", "pip", "--disable-pip-version-check", *words, wheel)
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
