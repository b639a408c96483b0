"""What tests cost in seconds of CPU, with the processes that they wait for, and which of them ``make quick`` runs.

``python -m pytest -p tests.durations tests/FOLDER`` measures, prints a row per folder and renews the folder's rows of
durations.json: one per module, and of a module that costs more than ``MODULE`` one per function. A function that uses
a fixture of the module or the session is charged with all of it.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".json")
MODULE = 2.0
BUDGETS = defaultdict(lambda: 0.8, house=5.0, launchers=1.8)
"""Seconds of each folder's quick tests, of which the cheapest come first."""
FOR_AMD = re.compile(r"toolchains\.(amd|targets)|\btoolchain\b|amd_cache|hipcc|--arch|\"(isa|build|amd)\"|amdgcn|gfx\d")
"""What tests name that have something compiled for AMD targets, which no quick test has."""


_TICKS = os.sysconf("SC_CLK_TCK")


def folder_of(row: str) -> str:
    return row.split("/")[1]


@cache
def table() -> dict[str, float]:
    """Seconds by module (tests/spec/test_specs.py) or function (the same, ``::`` and its name)."""
    rows: dict[str, float] = json.loads(TABLE.read_text())["seconds"]
    return rows


def reasons() -> dict[str, str]:
    """What the modules that cost most spend it on."""
    rows: dict[str, str] = json.loads(TABLE.read_text())["why"]
    return rows


@cache
def _functions(module: str) -> dict[str, str]:
    """The source of each function of a module of tests, with what decorates it."""
    text = (ROOT / module).read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found


@cache
def may_be_quick(row: str) -> bool:
    """Whether the tests of ``row`` are there and have nothing compiled for AMD targets."""
    module, _, function = row.partition("::")
    if not (ROOT / module).is_file():
        return False
    source = _functions(module).get(function) if function else (ROOT / module).read_text(encoding="utf-8")
    return source is not None and FOR_AMD.search(source) is None


def chosen(rows: Mapping[str, float]) -> frozenset[str]:
    """The rows of the quick tests."""
    found, spent = set(), dict.fromkeys(map(folder_of, rows), 0.0)
    for row, seconds in sorted(rows.items(), key=lambda row: row[::-1]):
        folder = folder_of(row)
        if spent[folder] + seconds <= BUDGETS[folder] and may_be_quick(row):
            found.add(row)
            spent[folder] += seconds
    return frozenset(found)


@cache
def quick() -> frozenset[str]:
    return chosen(table())


def is_quick(node: str) -> bool:
    return not {node.partition("::")[0], node.partition("[")[0]}.isdisjoint(quick())


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
        spent, self.last = now - self.last, now
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
    return report


_own: dict[str, float] = defaultdict(float)
_fixtures: dict[str, dict[str, float]] = defaultdict(dict)


def pytest_runtest_logreport(report: Any) -> None:
    function = report.nodeid.partition("[")[0]
    _own[function] += report.cpu
    _fixtures[function].update(report.fixtures)


def _seconds(functions: list[str]) -> float:
    shared: dict[str, float] = {}
    for function in functions:
        shared.update(_fixtures[function])
    return round(sum(_own[function] for function in functions) + sum(shared.values()), 2)


def measured() -> tuple[dict[str, float], dict[str, float]]:
    """Seconds by row, as durations.json has them, and by folder."""
    modules: dict[str, list[str]] = defaultdict(list)
    folders: dict[str, list[str]] = defaultdict(list)
    for function in _own:
        modules[function.partition("::")[0]].append(function)
        folders[folder_of(function)].append(function)
    rows = {module: _seconds(functions) for module, functions in modules.items()}
    for module, seconds in list(rows.items()):
        if seconds > MODULE:
            rows |= {one: _seconds([one]) for one in modules[module] if _seconds([one]) <= MODULE}
    return rows, {folder: _seconds(functions) for folder, functions in folders.items()}


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    rows, folders = measured()
    for folder, seconds in sorted(folders.items(), key=lambda row: -row[1]):
        terminalreporter.write_line(f"{seconds:8.1f} s of CPU  {folder}")
    if not config.getoption("markexpr") and not config.getoption("keyword"):
        seen = {row.partition("::")[0] for row in rows}
        kept = {row: seconds for row, seconds in table().items() if row.partition("::")[0] not in seen}
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        text = {"machine": machine, "seconds": dict(sorted((kept | rows).items())), "why": reasons()}
        TABLE.write_text(json.dumps(text, indent=1) + "\n")
