"""What the tests of harmful kernels share; the whole set of them runs with ``CANDLE_PARITY_HARM=full``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.build.cache import cache_folder
from tests.harm.running import Place


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "harm_full: all 200 harmful kernels; runs with CANDLE_PARITY_HARM=full")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("CANDLE_PARITY_HARM") == "full":
        return
    skipped = pytest.mark.skip(reason="all 200 harmful kernels: CANDLE_PARITY_HARM=full")
    for item in items:
        if item.get_closest_marker("harm_full"):
            item.add_marker(skipped)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A working folder and a TMPDIR of the test's own; what still lives at the end is killed."""
    made = Place(tmp_path / "place")
    yield made
    made.end()


@pytest.fixture
def own_cache(tmp_path: Path) -> Path:
    """A cache folder to damage, with what the harness's own cache holds of runtime libraries."""
    folder = tmp_path / "cache"
    folder.mkdir()
    runtime = cache_folder() / "runtime"
    if runtime.is_dir():
        shutil.copytree(runtime, folder / "runtime", symlinks=True)
    return folder
