"""What changed in the contract of Candle's kernels, and a case as Candle launched it before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.cases.case import Case
from conformance.cases.traits import traits_of
from conformance.reading import own_yaml


@dataclass(frozen=True)
class CandleChange:
    """A row of ``candle_changes.yaml``; without ``traits`` the specs cannot express the launches before it."""

    commit: str
    date: str
    since: str
    causes: Sequence[str]
    launches: Sequence[str]
    traits: Sequence[str] = ()
    instead: Mapping[str, str] | None = None


_ROWS: list[dict[str, Any]] = own_yaml(Path(__file__).with_suffix(".yaml"))

CHANGES = tuple(CandleChange(**row) for row in _ROWS)
"""The oldest first."""


def changes_from(commit: str) -> tuple[CandleChange, ...]:
    """The change ``commit`` and all after it; none where it is not known."""
    at = next((number for number, change in enumerate(CHANGES) if change.commit == commit), len(CHANGES))
    return CHANGES[at:]


def launched_before(changes: Iterable[CandleChange], launch: str, case: Case) -> Case | None:
    """``case``, of launch family ``launch``, as Candle launched it before ``changes``; ``None`` if it did not."""
    for change in changes:
        if launch in change.launches and not traits_of(case.text).isdisjoint(change.traits):
            if change.instead is None:
                return None
            case = replace(case, fields=tuple({**dict(case.fields), **change.instead}.items()))
    return case
