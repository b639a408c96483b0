"""Trees of harmful kernels: every verdict right, every healthy kernel ``pass``, and nothing left behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance.files import cache_folder
from tests.harm.running import Place, cli, differences, read_record
from tests.harm.trees import ROOT, Tree, build

pytestmark = pytest.mark.nightly("whole runs of kernels that do harm")

COMPILE_SECONDS = 25
"""CPU time, enough for the largest file of the tree on a busy machine. Six files take all of it, and compile never."""

WAYS = ("run -j 1", "run -j 2", "pytest", "pytest -n 2")


@dataclass
class Trials:
    """A tree, and the records of the ways that it has been put on trial."""

    tree: Tree
    cache: Path
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def words(self, way: str, record: Path) -> list[object]:
        program, *options = way.split()
        if program == "run":
            limit = ["--compile-timeout", COMPILE_SECONDS]
            return cli("run", *options, "--runtime", "cpu", "--kernels", self.tree.path, "--json", record, *limit)
        own = ["--parity-kernels", self.tree.path, "--parity-json", record, "--parity-runtime", "cpu"]
        quiet = ["-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
        workers = options or ["-n", "0"]
        limit = ["--parity-compile-timeout", COMPILE_SECONDS]
        return ["-m", "pytest", ROOT / "specs", *quiet, *workers, *own, *limit]


def _trials(folder: Path, *, small: bool) -> Trials:
    tree = build(folder, small=small)
    cache = folder / "cache"
    cache.mkdir()
    if (cache_folder() / "runtime").is_dir():
        shutil.copytree(cache_folder() / "runtime", cache / "runtime", symlinks=True)
    return Trials(tree, cache)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return _trials(tmp_path_factory.mktemp("few"), small=True)


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return _trials(tmp_path_factory.mktemp("all"), small=False)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Any]:
    """``trial(trials, way)``: the tree put on trial in one of the ways, and all that has to hold afterwards."""
    places: list[Place] = []

    def check(trials: Trials, way: str) -> None:
        place = Place(tmp_path / "place", trials.cache)
        places.append(place)
        kept = trials.tree.path.parent / "kept"
        record = tmp_path / "record.json"
        run = place.start(trials.words(way, record))
        code = run.wait()
        assert record.exists(), f"exit {code}, no record: {run.out[-3000:]}{run.err[-3000:]}"
        trials.records[way] = found = read_record(record)
        mistakes = trials.tree.mistakes(found)
        assert not mistakes, f"{len(mistakes)} verdicts are wrong:\n" + "\n".join(mistakes)
        assert code == (2 if any(row["status"] == "not_run" for row in found["kernels"]) else 1)
        assert place.left_behind() == []
        assert [path.name for path in trials.tree.markers.iterdir()] == []
        assert kept.read_text() == "as it was"
        assert "Traceback" not in run.err
        passed = sum(row["status"] == "pass" for row in found["kernels"])
        assert f"{passed} of 748 kernels at parity" in run.out
        assert "748 of 748 kernels at parity" not in [line.strip() for line in run.out.splitlines()]

    yield check
    for place in places:
        place.end()


def _same_where_certain(trials: Trials) -> None:
    """One worker and two come to the same; what depends on what lies where in a process is left out."""
    if not {"run -j 1", "run -j 2"} <= trials.records.keys():
        pytest.skip("the two runs are not there to be compared")
    certain = {name for name, statuses in trials.tree.expected.items() if len(statuses) == 1}
    one, two = (
        {"kernels": [row for row in trials.records[way]["kernels"] if row["name"] in certain]}
        for way in ("run -j 1", "run -j 2")
    )
    assert differences(one, two) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_few_harmful_kernels(trial: Any, few: Trials, way: str) -> None:
    trial(few, way)


def test_a_few_come_to_the_same_with_any_number_of_workers(few: Trials) -> None:
    _same_where_certain(few)


@pytest.mark.harm_full
@pytest.mark.parametrize("way", WAYS)
def test_200_harmful_kernels(trial: Any, all_of_them: Trials, way: str) -> None:
    assert len(all_of_them.tree.harm) >= 200
    trial(all_of_them, way)


@pytest.mark.harm_full
def test_200_come_to_the_same_with_any_number_of_workers(all_of_them: Trials) -> None:
    _same_where_certain(all_of_them)
