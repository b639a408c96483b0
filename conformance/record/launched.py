"""Which kernels programs have launched, as evidence in the rows of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from conformance.outcome import KernelResult, Launched
from conformance.record.model import Record

LaunchedBy = Mapping[str, Sequence[Launched]]
"""By kernel, the programs that launched it."""


def summed(launched: Iterable[Launched]) -> tuple[Launched, ...]:
    """What several recordings say of one kernel: the launches of a program together, in the order of programs."""
    counts: dict[str, int] = {}
    for one in launched:
        counts[one.program] = counts.get(one.program, 0) + one.launches
    return tuple(Launched(program, count) for program, count in counts.items())


def told_once(launched: Iterable[Launched]) -> tuple[Launched, ...]:
    """What several records say of one kernel, which may go back to one recording: of a program the largest count."""
    counts: dict[str, int] = {}
    for one in launched:
        counts[one.program] = max(counts.get(one.program, 0), one.launches)
    return tuple(Launched(program, count) for program, count in counts.items())


def with_launches(record: Record, launched: LaunchedBy) -> Record:
    """``record`` with these launches in the rows of kernels and of own kernels, besides those that it tells itself.

    A kernel that ``launched`` does not have was launched by none of its programs. Launchers and library calls stay as
    they are, for capture sees no calls of host functions.
    """

    def told(row: KernelResult) -> KernelResult:
        both = (*(row.launched_by or ()), *launched.get(row.name, ()))
        return row.model_copy(update={"launched_by": told_once(both)})

    return record.with_parts({"kernel": map(told, record.kernels), "own": map(told, record.own)})
