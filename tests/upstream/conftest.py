"""Copies of what ``new`` changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.spec.load import SPEC_FOLDER
from tests.upstream.tree import ROOT, Tree


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SPEC_FOLDER, tmp_path / "specs"))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """The repository's packages, specs and kernels in a folder of their own."""
    for name in ("conformance", "reference", "specs", "kernels"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "traces"))
    (tmp_path / "tests" / "reference").mkdir(parents=True)
    return Tree(tmp_path)
