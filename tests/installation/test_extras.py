"""Packages that only one wing needs are extras: without them everything else works, and what needs one says so."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib

import pytest

from conformance.cli.commands import command_names
from conformance.extras import EXTRAS, missing
from conformance.files import ROOT
from tests.commands import answer, refused

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED_FOR = ("pytest", "pytest-xdist", "hip-python", "numpy", "pyyaml", "tabulate", "ml_dtypes")
NEEDS_RUST = ("wiring", "drift")


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~ ]", one)[0] for one in requirements}


def test_the_packages_that_were_asked_for_are_dependencies() -> None:
    assert set(ASKED_FOR) <= names(PROJECT["dependencies"])


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra.name)
def test_a_row_is_the_extra_of_the_distribution(extra) -> None:
    assert list(extra.packages) == PROJECT["optional-dependencies"][extra.name]
    assert not names(list(extra.packages)) & names(PROJECT["dependencies"])


def test_upper_bounds_are_for_packages_that_break_theirs() -> None:
    versions = [one.partition(";")[0] for one in PROJECT["dependencies"]]
    bounded = {name for one in versions for name in names([one]) if "<" in one or "==" in one}
    assert bounded == {"hip-python"}


def test_a_module_of_no_extra_is_a_defect() -> None:
    assert missing(ModuleNotFoundError("no", name="numpy"), "run") is None


@pytest.mark.parametrize("name", NEEDS_RUST)
def test_a_command_without_its_extra_is_one_sentence_with_the_command_that_installs_it(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"conformance.cli.commands.{name}"
    for loaded in [
        one for one in sys.modules if one == module or one.startswith(("candle_wiring", "conformance.upst"))
    ]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    refused(answer(capsys, name, "--candle", "nowhere"), f"{name}: reading Candle's Rust sources", "pip install 'tree-")


WITHOUT = """
import importlib, sys
for name in ("tree_sitter", "tree_sitter_rust", "argcomplete", "safetensors", "watchfiles"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    importlib.import_module(f"conformance.cli.commands.{name}")
"""


@pytest.mark.slow("imports every command in a process of its own")
def test_every_other_command_does_without_extras() -> None:
    others = [name for name in command_names() if name not in NEEDS_RUST]
    subprocess.run([sys.executable, "-c", WITHOUT, *others], check=True, cwd=ROOT)
    assert all(importlib.util.find_spec(f"conformance.cli.commands.{name}") for name in NEEDS_RUST)
