"""A copy of the repository for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.growing.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree.copied(tmp_path)
