"""What is released of this tree, and an empty environment that its wheels are installed into; each made once."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.toolchains.host import ENVIRONMENT, find_toolchain
from tests.installation.environment import ROOT, Installation


def built(folder: Path, target: str, out: Path, **variables: str) -> Path:
    """The distribution of ``folder`` that is built into ``out``, with ``variables`` in the environment."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building a wheel needs hatchling: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
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
def wheel_with_runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By the compiler of this machine: zig would take two minutes."""
    compiler = shlex.join(find_toolchain(links_standard_library=True).compiler)
    variables = {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true", ENVIRONMENT: compiler}
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"), **variables)


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT / "reference" / "traces", "wheel", tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="session")
def shared_installation(
    wheel_with_runtime: Path, traces: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("installing a wheel needs pip in the environment of the tests")
    made = Installation(tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("home"))
    venv.create(made.environment, with_pip=False)
    # By a path, whose own .pth files do not count: the editable install of this tree stays out.
    places = [place for place in sys.path if place.endswith("-packages")]
    (made.packages / "dependencies.pth").write_text("\n".join(places) + "\n")
    words = ["--python", made.environment / "bin/python", "install", "--no-deps", "--no-index", "--ignore-installed"]
    done = made.says(
        made.home, sys.executable, "-m", "pip", "--disable-pip-version-check", *words, wheel_with_runtime, traces
    )
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def installation(shared_installation: Installation) -> Iterator[Installation]:
    """The installation, which no test may have changed when it ends."""
    before = shared_installation.files()
    yield shared_installation
    assert shared_installation.files() == before
