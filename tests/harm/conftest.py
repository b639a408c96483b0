"""What the tests of harmful kernels share; the whole set of them runs with ``CANDLE_PARITY_HARM=full``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.files import cache_folder
from tests.harm import healthy
from tests.harm.running import Place, Run, differences, read_record


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "harm_full: all 200 harmful kernels; runs with CANDLE_PARITY_HARM=full")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("CANDLE_PARITY_HARM") == "full":
        return
    skipped = pytest.mark.skip(reason="all 200 harmful kernels: CANDLE_PARITY_HARM=full")
    for item in items:
        if item.get_closest_marker("harm_full"):
            item.add_marker(skipped)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for these tests alone, with the runtime libraries of the harness's own."""
    return _cache(tmp_path_factory.mktemp("harm") / "cache", cache_folder())


def _cache(folder: Path, source: Path) -> Path:
    folder.mkdir()
    if (source / "runtime").is_dir():
        shutil.copytree(source / "runtime", folder / "runtime", symlinks=True)
    return folder


@pytest.fixture
def place(tmp_path: Path, shared_cache: Path) -> Iterator[Place]:
    """A working folder and a TMPDIR of the test's own; what still lives at the end is killed."""
    made = Place(tmp_path / "place", shared_cache)
    yield made
    made.end()


@pytest.fixture
def own_cache(tmp_path: Path, shared_cache: Path) -> Path:
    """A cache folder to damage, with runtime libraries and nothing else."""
    return _cache(tmp_path / "cache", shared_cache)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The healthy tree."""
    folder: Path = tmp_path_factory.mktemp("healthy") / "tree"
    healthy.write_tree(folder)
    return folder


@pytest.fixture(scope="session")
def undisturbed(tree: Path, tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> dict[str, Any]:
    """The record of a run of the healthy tree that nobody disturbs."""
    made = Place(tmp_path_factory.mktemp("undisturbed") / "place", shared_cache)
    record = made.folder / "record.json"
    run = made.start(healthy.words(tree, record))
    assert run.wait() == 1, run.out + run.err
    found = read_record(record)
    assert (found["summary"]["pass"], found["summary"]["missing"]) == (healthy.KERNELS, 748 - healthy.KERNELS)
    return found


@pytest.fixture
def check(undisturbed: dict[str, Any], place: Place) -> healthy.Check:
    """``check(run, record)``: the run ended, its record is the undisturbed one, and nothing is left."""

    def same(run: Run, record: Path) -> None:
        code = run.wait()
        assert record.exists(), f"exit {code}, no record: {run.out[-2000:]}{run.err[-2000:]}"
        assert differences(undisturbed, read_record(record)) == []
        assert code == 1
        assert "Traceback" not in run.err
        assert place.left_behind() == []

    return same
