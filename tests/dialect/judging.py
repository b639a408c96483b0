"""What a tree of kernels on trial comes to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

TREES = Path(__file__).parent / "trees"


@dataclass(frozen=True)
class Verdicts:
    """What a run came to: its exit code, standard error, wave size, and the record's row of each kernel
    and launcher by name."""

    code: int
    err: str
    wave: int
    rows: dict[str, dict[str, Any]]

    def statuses(self) -> dict[str, str]:
        return {name: row["status"] for name, row in self.rows.items() if row["status"] != "not_run"}


class Run(Protocol):
    def __call__(self, tree: Path | str, *words: object) -> Verdicts: ...
