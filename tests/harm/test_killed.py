"""Processes that are killed or hang: the record is the one of an undisturbed run, or says whose fault it was not.

What comes out is compared with what an undisturbed run writes; no test asserts how long anything takes.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.harm.healthy import Check, words
from tests.harm.running import Place, Run, read_record, suppress_lookup, wait_until
from tests.harm.trees import ROOT

pytestmark = pytest.mark.nightly("whole runs, of which each process is killed in turn")

EXECUTOR, JUDGE, COMPILER = (
    "conformance.engine.executor",
    "conformance.engine.judge_process",
    "conformance.port.compiling.child",
)
STOPS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""The signals that ask a run to end, and the exit code of each."""


def _find(place: Place, run: Run, word: str, *, leaf: bool = False) -> int:
    """The newest process of the run with ``word`` in its command line, waited for; ``leaf``: one without children."""

    def found() -> int | None:
        pids = place.processes(word)
        if leaf:
            parents = {_parent(pid) for pid in place.processes()}
            pids = [pid for pid in pids if pid not in parents]
        return max(pids, default=None)

    pid = wait_until(lambda: found() or (run.process.poll() is not None and -1), seconds=120)
    assert isinstance(pid, int)
    assert pid > 0, f"no process with {word}; the run said {run.out[-500:]}{run.err[-500:]}"
    return pid


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _busy(run: Run, journal_of: Place) -> bool:
    """Whether the run has got as far as launching: an executor has used the processor for a while."""
    for pid in journal_of.processes(EXECUTOR):
        try:
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        except OSError:
            continue
        if int(ticks) > 60:
            return True
    return run.process.poll() is not None


def _hit(pid: int, number: signal.Signals) -> None:
    with suppress_lookup():
        os.kill(pid, number)


# ---- a process below


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
@pytest.mark.parametrize("kind", [EXECUTOR, JUDGE])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_executor_or_a_judge_is_lost(
    tree: Path, place: Place, check: Check, kind: str, number: signal.Signals, jobs: int
) -> None:
    place.settings["CANDLE_PARITY_HANG_SECONDS"] = "2"
    record = place.folder / "record.json"
    run = place.start(words(tree, record, jobs=jobs))
    wait_until(lambda: _busy(run, place), seconds=120)
    _hit(_find(place, run, kind, leaf=True), number)
    check(run, record)


@pytest.mark.parametrize("times", [1, 3])
def test_executors_are_killed_again_and_again(
    tree: Path, place: Place, undisturbed: dict[str, Any], times: int
) -> None:
    """At most the kernels that lost their executor twice go without a verdict, and none gets a wrong one."""
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    for _ in range(times):
        wait_until(lambda: _busy(run, place), seconds=120)
        if run.process.poll() is None:
            for pid in place.processes(EXECUTOR):
                _hit(pid, signal.SIGKILL)
    code = run.wait()
    found = read_record(record)
    right = {row["name"]: row["status"] for row in undisturbed["kernels"]}
    wrong = [
        (row["name"], row["status"], row["message"])
        for row in found["kernels"]
        if row["status"] not in (right[row["name"]], "not_run")
    ]
    assert wrong == []
    assert code == (2 if found["summary"]["not_run"] else 1)
    assert place.left_behind() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
@pytest.mark.parametrize("which", [COMPILER, "clang"])
def test_a_compiler_is_lost(
    tree: Path, place: Place, own_cache: Path, undisturbed: dict[str, Any], which: str, number: signal.Signals
) -> None:
    """Somebody kills a compiler: its file is compiled again or is not judged; it is never the port's fault."""
    place.cache = own_cache
    record = place.folder / "record.json"
    run = place.start(words(tree, record, "--compile-timeout", 15, jobs=1))
    _hit(_find(place, run, which), number)
    code = run.wait()
    found = read_record(record)
    right = {row["name"]: row["status"] for row in undisturbed["kernels"]}
    changed = [row for row in found["kernels"] if row["status"] != right[row["name"]]]
    assert {row["status"] for row in changed} <= {"not_run"}, changed[:2]
    assert {row["module"] for row in changed} <= {changed[0]["module"]} if changed else True
    assert code == (2 if found["summary"]["not_run"] else 1)
    assert "Traceback" not in run.err
    assert place.left_behind() == []


# ---- the run itself


def _end_at(moment: str, run: Run, place: Place) -> None:
    if moment == "at the start":
        wait_until(lambda: place.processes(EXECUTOR) or run.process.poll() is not None, seconds=120)
    else:
        wait_until(lambda: _busy(run, place), seconds=120)


@pytest.mark.parametrize("moment", ["at the start", "in the middle"])
@pytest.mark.parametrize("number", [*STOPS, signal.SIGKILL], ids=lambda number: number.name)
def test_the_run_is_ended_and_resumed(
    tree: Path, place: Place, check: Check, number: signal.Signals, moment: str
) -> None:
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    _end_at(moment, run, place)
    run.send(number)
    code = run.wait()
    assert code == STOPS.get(number, -number), run.err
    assert "Traceback" not in run.err
    left = place.left_behind()
    assert left == []
    if moment == "in the middle" and number in STOPS:
        assert "--resume" in run.err
        partial = read_record(record)
        assert len(partial["kernels"]) == 748
        assert partial["summary"]["not_run"] > 0
    record.unlink(missing_ok=True)
    check(place.start(words(tree, record, "--resume")), record)


def test_the_run_is_ended_while_it_compiles(tree: Path, place: Place, own_cache: Path) -> None:
    for number, code in {**STOPS, signal.SIGKILL: -signal.SIGKILL}.items():
        place.cache = own_cache
        shutil.rmtree(own_cache / "objects", ignore_errors=True)
        run = place.start(words(tree, place.folder / "record.json"))
        _find(place, run, "clang")
        run.send(number)
        assert run.wait() == code, run.err
        assert place.left_behind() == [], number.name


def test_ctrl_c_reaches_every_process_of_a_terminal(tree: Path, place: Place, check: Check) -> None:
    """A terminal sends SIGINT to the whole group, workers included."""
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    wait_until(lambda: _busy(run, place), seconds=120)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait() == 130
    assert "Traceback" not in run.err
    assert place.left_behind() == []
    check(place.start(words(tree, record, "--resume")), record)


def test_resuming_several_times(tree: Path, place: Place, check: Check) -> None:
    record = place.folder / "record.json"
    more: list[object] = []
    for _ in range(3):
        run = place.start(words(tree, record, *more, jobs=1))
        wait_until(lambda run=run: _busy(run, place), seconds=120)
        run.send(signal.SIGKILL)
        run.wait()
        more = ["--resume"]
    check(place.start(words(tree, record, *more)), record)


@pytest.mark.parametrize("number", [*STOPS, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("workers", [0, 2])
def test_pytest_is_ended(tree: Path, place: Place, number: signal.Signals, workers: int) -> None:
    own = ["--parity-kernels", tree, "--parity-runtime", "cpu", "-n", workers]
    quiet = ["-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    run = place.start(["-m", "pytest", ROOT / "specs", *quiet, *own])
    wait_until(lambda: _busy(run, place), seconds=120)
    run.send(number)
    assert run.wait() not in (0, None)
    assert place.left_behind() == []


def test_the_processes_have_the_names_that_these_tests_look_for(tree: Path, place: Place, own_cache: Path) -> None:
    place.cache = own_cache
    run = place.start(words(tree, place.folder / "record.json"))
    seen: set[str] = set()

    def look() -> bool:
        for pid in place.processes():
            seen.update(word for word in (EXECUTOR, JUDGE, COMPILER) if pid in place.processes(word))
        return len(seen) == 3 or run.process.poll() is not None

    wait_until(look)
    run.wait()
    assert seen == {EXECUTOR, JUDGE, COMPILER}
