"""What tests cost in seconds of CPU, with the processes that they wait for, and whether their marks fit that.

For whoever marks a test. ``python -m pytest -p tests.durations tests/FOLDER`` prints the seconds of each folder, then
every test function whose mark does not fit its cost:

- without a mark up to ``QUICK`` seconds: ``make quick`` runs it;
- ``slow(reason)`` up to ``SLOW`` seconds: ``make test`` runs it;
- ``nightly(reason)`` beyond that: a slice of CI and ``make test-all`` run it.

What a fixture of a module or of the session costs is shared among the functions that use it. ``DURATIONS=FILE`` in the
environment also writes the seconds of each function to FILE as JSON.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
QUICK, SLOW = 0.4, 4.6
"""Seconds of CPU of a function with all its parameters."""

_TICKS = os.sysconf("SC_CLK_TCK")


def folder_of(node: str) -> str:
    return node.split("/")[1]


def mark_for(seconds: float) -> str:
    """The mark of a function that costs ``seconds`` of CPU: "", "slow" or "nightly"."""
    if seconds <= QUICK:
        return ""
    return "slow" if seconds <= SLOW else "nightly"


def _cpu() -> float:
    """Seconds of this process, of the children that it has waited for, and of those that are there."""
    return sum(os.times()[:4]) + sum(map(_cpu_of, _children(os.getpid())))


def _children(process: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, thread.read_text().split())
    return found


def _cpu_of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS + sum(map(_cpu_of, _children(process)))


class _Clock:
    """Charges what is spent since it was last asked to a phase of a test, or to a shared fixture."""

    def __init__(self) -> None:
        self.last, self.shared = _cpu(), 0.0
        self.fixtures: dict[str, float] = {}

    def lap(self) -> float:
        now = _cpu()
        # What a browser has spent is lost when it ends, for its processes are not waited for.
        spent, self.last = max(0.0, now - self.last), now
        return spent


_clock = _Clock()


def pytest_collection_finish() -> None:
    _clock.lap()


def _name(fixture: Any) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    before, inner = _cpu(), _clock.shared
    result = yield
    if fixturedef.scope != "function":
        spent = _cpu() - before - (_clock.shared - inner)
        _clock.fixtures[_name(fixturedef)] = max(spent, _clock.fixtures.get(_name(fixturedef), 0.0))
        _clock.shared += spent
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any) -> Iterator[None]:
    report: Any = yield
    used = [fixtures[-1] for fixtures in item._fixtureinfo.name2fixturedefs.values()]
    report.cpu = _clock.lap() - _clock.shared
    _clock.shared = 0.0
    report.fixtures = {_name(one): _clock.fixtures.get(_name(one), 0.0) for one in used if one.scope != "function"}
    report.marked = next((mark for mark in ("nightly", "slow") if item.get_closest_marker(mark)), "")
    return report


_own: dict[str, float] = defaultdict(float)
_fixtures: dict[str, dict[str, float]] = defaultdict(dict)
_marks: dict[str, set[str]] = defaultdict(set)


def pytest_runtest_logreport(report: Any) -> None:
    function = report.nodeid.partition("[")[0]
    _own[function] += report.cpu
    _fixtures[function].update(report.fixtures)
    _marks[function].add(report.marked)


def _shares() -> dict[str, float]:
    """Seconds of each shared fixture over the number of functions that use it."""
    users: dict[str, int] = defaultdict(int)
    costs: dict[str, float] = {}
    for fixtures in _fixtures.values():
        costs.update(fixtures)
        for fixture in fixtures:
            users[fixture] += 1
    return {fixture: seconds / users[fixture] for fixture, seconds in costs.items()}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    shares = _shares()
    seconds = {function: _own[function] + sum(shares[one] for one in _fixtures[function]) for function in sorted(_own)}
    folders: dict[str, float] = defaultdict(float)
    for function, cost in seconds.items():
        folders[folder_of(function)] += cost
    for folder, cost in sorted(folders.items(), key=lambda row: -row[1]):
        terminalreporter.write_line(f"{cost:8.1f} s of CPU  {folder}")
    for function, cost in seconds.items():
        marks = _marks[function]
        # A function of which some parameters are nightly is cut by hand.
        if len(marks) == 1 and mark_for(cost) not in marks:
            has, fits = (f'the mark "{mark}"' if mark else "no mark" for mark in (*marks, mark_for(cost)))
            terminalreporter.write_line(f"{cost:8.1f} s of CPU  {function} has {has}; {fits} fits")
    if file := os.environ.get("DURATIONS"):
        Path(file).write_text(json.dumps(seconds, indent=1), encoding="utf-8")
