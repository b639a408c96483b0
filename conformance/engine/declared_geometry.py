"""Cases in the launch geometry and with the arguments that a port declares, and those that it never launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from conformance.adapter import AdapterRow
from conformance.cases.adapted import adapted
from conformance.cases.case import Case
from conformance.cases.geometry import is_launched, launched_as
from conformance.cases.launch import Launch
from conformance.geometry import GeometryRow
from conformance.outcome import Evidence
from conformance.port.config import OPTIONS_FILE
from conformance.port.declared.adapters import adapter_of
from conformance.port.declared.declared import Declared
from conformance.port.declared.geometry import geometry_of
from conformance.reading import shortened
from conformance.spec.kernel import Kernel
from conformance.verdict.evidence import IMPOSSIBLE_ARGUMENTS, IMPOSSIBLE_GEOMETRY
from conformance.verdict.trials import TrialCase


class NoLaunch(Exception):
    """By the port's condition it launches no case of a kernel, or the condition cannot be evaluated. The message names
    file and row."""


def with_geometry(cases: Iterator[TrialCase], declared: Declared, kernel: str, wave: int) -> Iterator[TrialCase]:
    """``cases`` of ``kernel`` with the grid, block and shared memory that the port declares, if it declares any.

    A case that cannot be launched so has a flaw, which names the file and the row.
    """
    row = geometry_of(declared.launch, kernel)
    if row is None:
        return cases
    where = _place(declared, row)

    def launched(case: TrialCase) -> Launch:
        if case.launch.own_geometry:  # of a pinned launch, which a program has made with this very geometry
            return case.launch
        return launched_as(row, case.case, case.launch, wave, where)

    return _launched_otherwise(cases, launched, IMPOSSIBLE_GEOMETRY)


def with_parameters(cases: Iterator[TrialCase], declared: Declared, kernel: Kernel, wave: int) -> Iterator[TrialCase]:
    """``cases`` of ``kernel`` with the arguments that the port declares (adapters), if it declares any.

    A case for which there are none has a flaw, which names the file and the row.
    """
    row = adapter_of(declared.adapter, kernel.name)
    if row is None:
        return cases
    where = _place(declared, row)

    def launched(case: TrialCase) -> Launch:
        try:
            return adapted(row, kernel, case.case, case.launch, wave)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None

    return _launched_otherwise(cases, launched, IMPOSSIBLE_ARGUMENTS)


def _launched_otherwise(
    cases: Iterator[TrialCase], launched: Callable[[TrialCase], Launch], impossible: str
) -> Iterator[TrialCase]:
    """``cases``, each with what ``launched`` makes of its launch; where that raises ``ValueError``, with a flaw whose
    fault is ``impossible``."""
    for case in cases:
        try:
            yield replace(case, launch=launched(case))
        except ValueError as error:
            yield replace(case, flaw=str(error), evidence=Evidence(fault=impossible))


def launched_by_port(
    declared: Declared, row: GeometryRow, launches: Iterable[tuple[Case, Launch]], wave: int
) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Splits ``launches`` of a kernel by the condition of ``row``: the cases that the port launches, and those that it
    never launches, in waves of ``wave`` lanes. Raises ``NoLaunch``."""
    ever: list[Case] = []
    never: list[Case] = []
    for case, launch in launches:
        try:
            mine = launch.own_geometry or is_launched(row, case, launch, wave)
        except ValueError as error:
            raise NoLaunch(f"{_place(declared, row)}: when: {case.id}: {error}") from None
        (ever if mine else never).append(case)
    if never and not ever:
        raise NoLaunch(
            f"{_place(declared, row)}: when: {row.when!r} holds in none of the {len(never)} cases of "
            f"{never[0].kernel}; correct it, or exclude the kernel"
        )
    return tuple(ever), tuple(never)


def _place(declared: Declared, row: GeometryRow | AdapterRow) -> str:
    """``candle-parity.toml: launch, row 2 ('mul_mat_q4_*')``."""
    file = Path(declared.file).name or OPTIONS_FILE
    part, rows = ("launch", declared.launch) if isinstance(row, GeometryRow) else ("adapter", declared.adapter)
    return f"{file}: {part}, row {rows.index(row) + 1} ({shortened(row.kernels)!r})"
