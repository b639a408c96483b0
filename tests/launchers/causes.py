"""The causes that a record's launchers have."""

from __future__ import annotations

from pathlib import Path

from conformance.record import read_record
from conformance.report.causes import find_causes
from conformance.report.tally import launcher_results
from conformance.spec.load import load_specs

FAULT, DOING, MENDED = "LAUNCHER_FAULT", "LAUNCHER_DOING", "LAUNCHER_MENDED"
"""What a planted launcher does wrong, and, where it is set, that it follows the advice of the cause instead."""


def causes_of(record: Path) -> list[str]:
    """The ids of the causes in the file ``record``."""
    specs = load_specs()
    return [finding.cause.id for finding in find_causes(launcher_results(read_record(record), specs), specs)]
