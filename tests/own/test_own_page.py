"""docs/own-kernels.md: its commands, one after the other in an empty folder, print what the page says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.own.page import follow


@pytest.mark.nightly("runs every command of the page")
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    follow(tmp_path, Path(sys.executable).parent)
