"""Byte code is kept for the tests: they start the harness's processes by the hundred, and each imports all of it.

The marker ``quick`` is put on what tests/durations.py chooses.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.environment import PASS
from conformance.files import cache_folder
from tests.durations import ROOT, is_quick, quick

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache_folder() / "bytecode"))


# Kernels and libraries of the tests are told by these what to do.
os.environ.setdefault(PASS, "STAND_IN_*,ATTEMPT*,LAUNCHER_*,MISTAKE,SEEN,SPEND,BREAK,FULL,WHO")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "quick: the cheapest tests of each folder, which `make quick` runs")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Most of the time of collecting goes into importing modules: those without a quick test are left alone."""
    if config.getoption("markexpr") != "quick" or collection_path.suffix != ".py":
        return None
    modules = {row.partition("::")[0] for row in quick()}
    return collection_path.relative_to(ROOT).as_posix() not in modules or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_quick(item.nodeid):
            item.add_marker("quick")
