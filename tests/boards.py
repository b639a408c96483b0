"""The committed board, from the records next to it."""

from __future__ import annotations

from functools import lru_cache

from conformance.files import ROOT
from conformance.record import merge, read_record
from conformance.report.board import board_of
from conformance.report.board.columns import Board
from conformance.spec.load import load_specs

REPORTS = ROOT / "reports"
INTERPRETED = tuple(file.name.removesuffix(".json.xz") for file in sorted((REPORTS / "records").glob("isa-*")))
OURS = ("parity", "parity-wave32", *INTERPRETED, "nvidia")
"""The records of this repository's own port, in the order of ``make pages``."""


@lru_cache(maxsize=1)
def committed() -> Board:
    files = [REPORTS / "records" / f"{name}.json.xz" for name in OURS] + sorted((REPORTS / "board").iterdir())
    return board_of(merge([read_record(file) for file in files]), load_specs())
