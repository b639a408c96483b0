"""What the page's script shows of each kernel, as lists and dictionaries that JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from conformance.cases import cases_for, has_cases
from conformance.cases.case import parse_fields
from conformance.cases.never_launched import never_launched
from conformance.outcome import Failure, Robustness
from conformance.record import KernelResult, Record, Resources, RunInfo
from conformance.report.again import again
from conformance.report.causes import find_causes
from conformance.report.comparison import Changes
from conformance.report.details import SHOWN_MESSAGE, upstream_url
from conformance.report.html.grid import place
from conformance.report.kernels import choices, leak_of, misaligned_of
from conformance.report.launches import launched_by, times_by_program
from conformance.report.runs import executed, rerun
from conformance.report.tally import margin, share, tally
from conformance.spec.entry import ROWS, Entry
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import url, visible

Matrix = list[tuple[str, str, int, int]]
"""Layout, values, cases that pass, cases that fail."""

_LAYOUTS = ("layout", "lhs", "rhs", "ids", "t", "f", "source", "kernel")


class Matrices:
    """The cases of kernels by layout and values. Those that come from the specs are made once for each kernel."""

    def __init__(self, specs: Specs) -> None:
        self._specs = specs
        self._own: dict[str, list[str]] = {}

    def of(self, row: KernelResult, run: RunInfo) -> Matrix:
        """The cases of ``row``; empty where it is not known which they were.

        A record names the cases of kernels that fail. For a kernel that passes they are the cases of the specs,
        provided that the record was made with these specs and has as many cases.
        """
        if row.observations or row.passed:
            failing = [(text, False) for group in row.observations for text in group.cases]
            return _counted([*failing, *((text, True) for text in row.passed)])
        if not row.cases or row.failed or run.traces is not None or run.specs_digest != self._specs.digest:
            return []
        if row.name not in self._own:
            kernel = self._specs.entry(row.name)
            self._own[row.name] = _own_cases(kernel) if has_cases(kernel) else []
        texts = [*self._own[row.name], *[""] * row.pinned]  # a pinned case has neither layout nor kind of values
        return _counted((text, True) for text in texts) if len(texts) == row.cases else []


def _own_cases(kernel: Kernel) -> list[str]:
    """The cases that have a part in the verdict, as an id has them between its brackets."""
    return [
        case.text
        for case in cases_for(kernel)
        if never_launched(kernel.launch, case) is None and not kernel.is_wrong_upstream(case.text)
    ]


def _counted(cases: Iterable[tuple[str, bool]]) -> Matrix:
    counts: dict[tuple[str, str], list[int]] = {}
    for text, passes in cases:
        count = counts.setdefault(_place(text), [0, 0])
        count[0 if passes else 1] += 1
    return [(layout, values, passed, failed) for (layout, values), (passed, failed) in counts.items()]


@lru_cache(maxsize=1 << 14)
def _place(text: str) -> tuple[str, str]:
    """The layout of a case, operand by operand where there are several, and its values."""
    try:
        fields = dict(parse_fields(text))
    except ValueError:
        return "", ""
    named = [(name, fields[name]) for name in _LAYOUTS if fields.get(name, "")[:1].isalpha()]
    layouts = ", ".join(value if name == "layout" else f"{name} {value}" for name, value in named)
    return layouts, fields.get("values", "")


SHOWN_FAILURES = 4
"""Failing cases of a kernel that are written out for each run."""

_LONGEST = 600
"""Characters of what a failure says."""

_FAILURE_BUDGET = 1_000_000
"""Characters of failures in a page; of later kernels less is written out, and what is left out is counted."""


class Pool:
    """Values that many kernels have in common. Each is stored once, and kernels have its number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """The number of ``value``, which is added if it is new."""
        key = json.dumps(value)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def page_data(
    found: Sequence[Record],
    names: Sequence[str],
    rows: Sequence[Sequence[KernelResult]],
    parts: Mapping[Entry, Sequence[Sequence[KernelResult]]],
    specs: Specs,
    changed: Changes | None,
    source_url: str | None,
) -> dict[str, Any]:
    """Everything that the page's script needs. Texts are visible (``conformance.text.visible``) and not escaped for
    HTML.

    ``rows`` are the results of each run over all kernels, ``parts`` those over what is counted apart.
    """
    pools = {
        name: Pool()
        for name in ("params", "bounds", "notes", "wired", "launched", "matrices", "messages", "causes", "builds")
    }
    budget = [_FAILURE_BUDGET]
    matrices = Matrices(specs)
    every = [[row for part in run for row in part] for run in zip(rows, *parts.values(), strict=True)]
    causes = [_causes(part, specs, pools["causes"]) for part in every]
    changes: dict[str, list[list[str]]] = {}
    for change in changed.kernels if changed else ():
        changes.setdefault(change.kernel, []).append(
            [change.label, change.kind, change.before, change.after, change.cases]
        )
    kernels = []
    for columns in zip(*every, strict=True):
        kernel = specs.entry(columns[0].name)
        entry = _kernel(kernel, columns, specs, pools)
        earlier: list[KernelResult] = []
        for number, (record, row) in enumerate(zip(found, columns, strict=True)):
            entry["runs"].append(_result(record, row, matrices, pools, causes[number], earlier, budget))
            earlier.append(row)
        if kernel.name in changes:
            entry["changes"] = changes[kernel.name]
        kernels.append(entry)
    data = {
        "source": source_url,
        "runs": [_run(record, name, part) for record, name, part in zip(found, names, rows, strict=True)],
        **{name: pool.values for name, pool in pools.items()},
        "kernels": kernels,
    }
    return visible_in(data)  # type: ignore[no-any-return]


def _run(record: Record, name: str, part: Sequence[KernelResult]) -> dict[str, Any]:
    count = tally(part)
    return {
        "name": name,
        "executed": executed(record.run),
        "passing": count.passing,
        "total": count.total,
        "percent": count.percent,
        "rerun": rerun(record.run, "KERNEL").removesuffix("KERNEL"),
    }


def _kernel(kernel: Kernel, columns: Sequence[KernelResult], specs: Specs, pools: dict[str, Pool]) -> dict[str, Any]:
    row, column = place(kernel, specs)
    wired = next((result.wired_at for result in columns if result.wired_at is not None), None)
    targets = {target: _figures(found) for result in columns for target, found in result.compiles_for.items()}
    notes = [*kernel.notes, *(f"Upstream: {text}" for text in kernel.upstream_defects)]
    entry: dict[str, Any] = {
        "name": kernel.name,
        "module": kernel.module,
        "op": row,
        "dtype": column,
        "upstream": kernel.upstream,
        "link": url(upstream_url(columns[0], specs)) if ROWS[kernel.entry].in_specs else None,
        "params": pools["params"].number(
            [[one.name, f"{one.dtype}{'*' if one.pointer else ''}", one.role] for one in kernel.params]
        ),
        "bound": pools["bounds"].number([kernel.tolerance.ulp, kernel.tolerance.library_ulp, kernel.tolerance.source]),
        "runs": [],
    }
    if not ROWS[kernel.entry].in_coverage:
        entry["part"] = ROWS[kernel.entry].part
    if notes:
        entry["notes"] = pools["notes"].number(notes)
    if wired is not None:
        entry["wired"] = pools["wired"].number(list(wired))
    launched = launched_by(columns).get(kernel.name)
    if launched is not None:
        entry["launched"] = pools["launched"].number(times_by_program(launched))
    if targets:
        entry["builds"] = pools["builds"].number(targets)
    return entry


def _figures(resources: Resources) -> list[int]:
    """The figures of a kernel in a code object: registers of both kinds, spills, shared memory, scratch, wave."""
    return [getattr(resources, name) for name in ("vgpr", "sgpr", "spills", "lds", "scratch", "wave")]


def _result(
    record: Record,
    row: KernelResult,
    matrices: Matrices,
    pools: dict[str, Pool],
    causes: dict[str, list[int]],
    earlier: Sequence[KernelResult],
    budget: list[int],
) -> dict[str, Any]:
    matrix = matrices.of(row, record.run)
    robust = row.robustness
    entry: dict[str, Any] = {
        "status": row.status,
        "cases": max(row.planned, row.cases) if row.cases else 0,
        "failed": row.failed,
        "missed": max(row.planned - row.cases, 0) if row.cases else 0,
        "source": row.source,
        "seconds": None if row.seconds is None else round(row.seconds, 3),
        "said": [*choices(row), *filter(None, [leak_of(row), misaligned_of(row)])],
        "causes": causes.get(row.name, []),
        "left_out": row.left_out,
        "compiler": row.compiler,
        "robust": None if robust is None or not robust.planned else [robust.planned, robust.failed, _first(robust)],
    }
    entry = {key: value for key, value in entry.items() if value not in (None, 0, [])}
    if row.cases and (row.max_ulp or (row.max_ulp == 0 and row.status == "pass")):
        entry["ulp"] = row.max_ulp  # of values without a distance, such as NaN for a number, the record has 0
    if share(row) is not None:
        entry["nearest"] = margin(row)
    if row.profile:
        entry["profile"] = row.profile
    if matrix:
        entry["matrix"] = pools["matrices"].number(matrix)
    if row.message:
        entry["message"] = pools["messages"].number(row.message[:SHOWN_MESSAGE])
    if row.failures:
        same = next((at for at, other in enumerate(earlier) if _alike(row, other)), None)
        if same is not None:
            entry["as"] = same
        else:
            entry["failures"] = _failures(row, budget)
    return entry


def _first(robust: Robustness) -> str:
    """The first failure among cases without a part in the verdict."""
    first = next(iter(robust.failures), None)
    return "" if first is None else f"{first.case}: {first.why}"[:_LONGEST]


def _alike(one: KernelResult, other: KernelResult) -> bool:
    return one.failed == other.failed and [replace(item, reproduce="") for item in one.failures] == [
        replace(item, reproduce="") for item in other.failures
    ]


def _failures(row: KernelResult, budget: list[int]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for failure in row.failures[:SHOWN_FAILURES]:
        entry = _failure(failure)
        budget[0] -= len(str(entry))
        if budget[0] < 0 and shown:
            break
        shown.append(entry)
    return shown


def _failure(failure: Failure) -> dict[str, Any]:
    entry = asdict(failure) | {"reproduce": again(failure.reproduce)}
    del entry["evidence"], entry["index"]
    return {
        key: value[:_LONGEST] if isinstance(value, str) and key != "reproduce" else value
        for key, value in entry.items()
        if value not in (None, "")
    }


def _causes(rows: Sequence[KernelResult], specs: Specs, pool: Pool) -> dict[str, list[int]]:
    """The causes of each failing kernel, as numbers."""
    numbers: dict[str, list[int]] = {}
    for finding in find_causes(rows, specs):
        cause = finding.cause
        number = pool.number([cause.title, cause.bug_class, cause.advice, finding.detail[:_LONGEST]])
        for one in finding.shares:
            numbers.setdefault(one.kernel.name, []).append(number)
    return numbers


def visible_in(value: Any) -> Any:
    """``value`` with every text in it made visible, keys included."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): visible_in(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible_in(item) for item in value]
    return value
