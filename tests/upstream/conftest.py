"""Copies of what ``new`` changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.spec.load import SPEC_FOLDER


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SPEC_FOLDER, tmp_path / "specs"))
