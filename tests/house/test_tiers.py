"""``make test`` leaves out what is marked as nightly, and the slices of CI run all of that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.durations import mark_for
from tests.slices import SLICES, chosen

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "tests").glob("*/test_*.py"))


def slices_of(module: Path) -> list[str]:
    """The names of the slices that run the nightly tests of ``module``."""
    return [one.name for one in SLICES for path in one.paths if module.is_relative_to(ROOT / path)]


def has_nightly(module: Path) -> bool:
    return "mark.nightly(" in module.read_text(encoding="utf-8") and module != Path(__file__)


def test_every_nightly_test_is_in_one_slice() -> None:
    counted = {str(module.relative_to(ROOT)): slices_of(module) for module in MODULES if has_nightly(module)}
    assert len(counted) > 10
    assert {module: names for module, names in counted.items() if len(names) != 1} == {}


def test_every_slice_has_tests() -> None:
    empty = [
        one.name for one in SLICES if one.paths and not any(one.name in slices_of(m) for m in MODULES if has_nightly(m))
    ]
    assert empty == []


def test_successive_commits_run_every_slice() -> None:
    assert {chosen(commits) for commits in range(300, 300 + len(SLICES))} == set(range(1, len(SLICES) + 1))


@pytest.mark.slow("starts pytest")
def test_a_mark_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n\n@pytest.mark.slow\ndef test_it():\n    pass\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert 'the mark "slow" takes a reason' in done.stdout + done.stderr


@pytest.mark.parametrize(("seconds", "mark"), [(0.1, ""), (3.0, "slow"), (100.0, "nightly")])
def test_the_mark_that_fits_a_cost(seconds: float, mark: str) -> None:
    assert mark_for(seconds) == mark
