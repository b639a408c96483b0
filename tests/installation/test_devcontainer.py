"""The development container: what its file says, as far as that can be told without Docker."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from conformance.files import ROOT

FILE = ROOT / ".devcontainer" / "devcontainer.json"
COMMANDS = ("onCreateCommand", "postCreateCommand")


@pytest.fixture
def container() -> dict[str, Any]:
    """The file without its comments, which its schema allows."""
    if not FILE.exists():
        pytest.skip("this is not a checkout")
    lines = FILE.read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    return found


def test_the_keys_are_those_of_a_container_from_an_image(container: dict[str, Any]) -> None:
    assert container.keys() == {"name", "image", *COMMANDS, "customizations"}
    assert all(isinstance(container[key], str) for key in ("name", "image", *COMMANDS))
    assert re.fullmatch(r"[\w.-]+(/[\w.-]+)+:[\w.-]+", container["image"])


def test_its_target_is_in_the_makefile(container: dict[str, Any]) -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    words = container["postCreateCommand"].split()
    assert words[0] == "make"
    done = subprocess.run([*words, "--dry-run", "--always-make"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_it_installs_what_contributing_names(container: dict[str, Any]) -> None:
    """All packages that CONTRIBUTING.md gives for AMD targets."""
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    named = re.findall(r"`apt-get install ([^`]+)`", text)
    assert named
    installed = container["onCreateCommand"].partition("install")[2].split()
    assert {package for packages in named for package in packages.split()} - {*installed} == set()
