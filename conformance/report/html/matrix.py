"""The cases of a kernel by layout and values: how many pass and fail."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from conformance.cases import cases_for, has_cases
from conformance.cases.case import parse_fields
from conformance.cases.never_launched import never_launched
from conformance.record import KernelResult, RunInfo
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs

Matrix = list[tuple[str, str, int, int]]
"""Layout, values, cases that pass, cases that fail."""

_LAYOUTS = ("layout", "lhs", "rhs", "ids", "t", "f", "source", "kernel")


class Matrices:
    """The cases of kernels, of which those of the specs are only made once."""

    def __init__(self, specs: Specs) -> None:
        self._specs = specs
        self._own: dict[str, list[str]] = {}

    def of(self, row: KernelResult, run: RunInfo) -> Matrix:
        """The cases of ``row``; empty where the record does not tell which they were.

        A record names cases of kernels that failed only. Of one that passes they are those of the specs, where these
        are the ones that the record was made with and have as many.
        """
        if row.observations or row.passed:
            failing = [(text, False) for group in row.observations for text in group.cases]
            return _counted([*failing, *((text, True) for text in row.passed)])
        if not row.cases or row.failed or run.traces is not None or run.specs_digest != self._specs.digest:
            return []
        if row.name not in self._own:
            kernel = self._specs.entry(row.name)
            self._own[row.name] = _own_cases(kernel) if has_cases(kernel) else []
        texts = self._own[row.name]
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
