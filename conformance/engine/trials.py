"""The trials of one kernel: what is launched and what is expected, from generated cases or from recorded traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import reference
from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Launch
from conformance.replay.traces import Traces, shifted
from conformance.spec.kernel import Kernel
from reference.expected import Expected


@dataclass(frozen=True)
class TrialCase:
    """One launch and the expected content of each written buffer, from the address that the kernel gets.

    ``answer`` is what somebody recorded, whole buffers by name, where the trial comes from a trace.
    """

    id: str
    launch: Launch
    expected: dict[str, Expected]
    answer: dict[str, NDArray[Any]] | None = None


def case_ids(kernel: Kernel) -> list[str]:
    """The ids of the generated cases of ``kernel``; empty where its family has no generator yet."""
    return [case.id for case in cases_for(kernel)] if has_cases(kernel) else []


def generated(kernel: Kernel, case_id: str, salt: str) -> TrialCase:
    """The trial that ``case_id`` names."""
    launch = launch_for(kernel, Case.parse(case_id), salt)
    return TrialCase(case_id, launch, _reference(kernel, launch))


def recorded(kernel: Kernel, traces: Path, subject: str) -> Iterator[TrialCase]:
    """The recorded cases of ``kernel``; expected is the reference's answer, or the recording for ``kernels``."""
    for trace in _traces(traces).of(kernel):
        expected = _reference(kernel, trace.launch) if subject == "reference" or kernel.tolerance.library_ulp else {}
        if subject == "kernels":
            expected = shifted(trace, expected)
        yield TrialCase(trace.id, trace.launch, expected, trace.answer)


def _reference(kernel: Kernel, launch: Launch) -> dict[str, Expected]:
    return reference.evaluate(
        kernel.module, kernel.family, kernel.variant, kernel.tolerance.library_ulp, launch.reference_arguments()
    )


@lru_cache(maxsize=1)
def _traces(folder: Path) -> Traces:
    return Traces(folder)
