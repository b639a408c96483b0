"""The causes that are recognised by their evidence: a row each, the more specific ones first.

``bug_class`` is the id in ``specs/bug-classes.md``. A failing case fits a row when all of the row's conditions hold for
it; a cause is named only where each failing case that is counted under it fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.reading import own_yaml
from conformance.report.causes.cause import Cause


def _causes() -> Iterator[Cause]:
    table: dict[str, Any] = own_yaml(Path(__file__).with_name("causes.yaml"))
    shared = {key: value for key, value in table["only"].items() if key != "traits"}
    by_trait = (
        {"id": f"only {trait}", "traits": [trait], **shared, **row} for trait, row in table["only"]["traits"].items()
    )
    for row in (*table["causes"], *by_trait):
        fields: dict[str, Any] = {
            name: _flat(value) if isinstance(value, list) else value for name, value in row.items()
        }
        yield Cause(**{"bug_class": "", **fields})


def _flat(values: list[str | list[str]]) -> tuple[str, ...]:
    """``values``, of which a list stands for what is in it."""
    return tuple(one for value in values for one in (value if isinstance(value, list) else [value]))


CAUSES = tuple(_causes())
