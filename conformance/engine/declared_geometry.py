"""Cases in the launch geometry that a port declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from conformance.cases.geometry import launched_as
from conformance.outcome import Evidence
from conformance.port.config import OPTIONS_FILE
from conformance.port.declared.declared import Declared
from conformance.port.declared.geometry import geometry_of
from conformance.reading import shortened
from conformance.verdict.evidence import IMPOSSIBLE_GEOMETRY
from conformance.verdict.trials import TrialCase


def with_geometry(cases: Iterable[TrialCase], declared: Declared, kernel: str, wave: int) -> Iterator[TrialCase]:
    """``cases`` of ``kernel`` with the geometry that the port declares, if it does; a case that cannot be launched with
    it has a flaw, which names the file and the row."""
    row = geometry_of(declared.launch, kernel)
    if row is None:
        yield from cases
        return
    number = declared.launch.index(row) + 1
    where = f"{Path(declared.file).name or OPTIONS_FILE}: launch, row {number} ({shortened(row.kernels)!r})"
    for case in cases:
        try:
            yield replace(case, launch=launched_as(row, case.case, case.launch, wave, where))
        except ValueError as error:
            yield replace(case, flaw=str(error), evidence=Evidence(fault=IMPOSSIBLE_GEOMETRY))
