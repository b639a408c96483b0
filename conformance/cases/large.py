"""Cases that take long: rows of one kernel or a few, by the rule that each is there for (``large.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cases.arguments import Row
from conformance.cases.case import Case
from conformance.cases.rows import parsed
from conformance.reading import own_yaml


@dataclass(frozen=True)
class Rule:
    """What there are more of than an index of some type counts, and the rows that have so many, by kernel."""

    what: str
    bug: str
    cases: Mapping[str, Sequence[str]]


_ROWS: list[dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))

RULES: tuple[Rule, ...] = tuple(Rule(**row) for row in _ROWS)


def _by_kernel() -> dict[str, tuple[Row, ...]]:
    found: dict[str, tuple[Row, ...]] = {}
    for rule in RULES:
        for kernel, rows in rule.cases.items():
            found[kernel] = (*found.get(kernel, ()), *parsed(rows))
    return found


_BY_KERNEL = _by_kernel()


def large_rows(kernel: str) -> tuple[Row, ...]:
    """The rows of the kernel called ``kernel``, in addition to those of its launch family."""
    return _BY_KERNEL.get(kernel, ())


def is_large(case: Case) -> bool:
    """Whether ``case`` is one of these: it runs in one order of threads."""
    return case.fields in large_rows(case.kernel)
