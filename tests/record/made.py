"""Rows and records by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.outcome import Evidence, Observation
from conformance.record import KernelResult, Record
from conformance.status import Status
from tests.runs import run_info


def row(name: str, status: Status, failing: Sequence[str] = (), passed: Sequence[str] = (), **changes: Any) -> Any:
    """A row; ``failing`` and ``passed`` are what stands in the brackets of case ids."""
    values: dict[str, Any] = {
        "name": name,
        "module": "m",
        "family": "f",
        "upstream": "m.cu:1",
        "status": status,
        "cases": len(failing) + len(passed) or int(status == "pass"),
        "failed": len(failing),
        "message": "why" if status in ("fail", "crash", "timeout", "compile_error") else None,
        "observations": (Observation(Evidence(), tuple(failing)),) if failing else (),
        "passed": tuple(passed),
        **changes,
    }
    return KernelResult(**values)


def record(*rows: KernelResult, **run: Any) -> Record:
    return Record.of(run_info(**{"specs_digest": "d", **run}), rows)
