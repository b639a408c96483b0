"""Each verdict on disk as it falls, so that a run that is cut off can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from conformance.engine.coding import from_map, to_map
from conformance.outcome import Outcome


class Journal:
    """A file with one JSON object per line: what the run is, then the outcome of each kernel as it comes.

    ``what`` is what was asked for; it gives the file its name. ``judged_by`` is everything else that verdicts depend
    on. If the file cannot be written, no verdict is lost; ``warning`` then says why the run could not be resumed.
    """

    def __init__(self, folder: Path, what: Mapping[str, Any], judged_by: Mapping[str, Any]) -> None:
        name = hashlib.sha256(_text(what).encode()).hexdigest()[:24]
        self.path = folder / f"{name}.jsonl"
        self.done: dict[str, Outcome] = {}
        self.elapsed = 0.0
        self.started: datetime | None = None
        self.warning: str | None = None
        self._judged_by = json.loads(_text(judged_by))
        self._file = -1

    def resume(self) -> str | None:
        """Take over the outcomes of an earlier run. Returns why that is not possible, or ``None``."""
        try:
            # Not splitlines(): it would split at U+2028 too, which a text may hold.
            lines = self.path.read_bytes().decode().split("\n")
        except FileNotFoundError:
            return "no run with these options was cut off"
        except (OSError, UnicodeDecodeError) as error:
            return f"its journal cannot be read ({error})"
        rows = [row for row in map(_row, lines) if row is not None]
        if not rows or not isinstance(rows[0].get("judged_by"), dict):
            return "its journal is damaged"
        if rows[0]["judged_by"] != self._judged_by:
            known = rows[0]["judged_by"]
            changed = sorted(key for key in self._judged_by if known.get(key) != self._judged_by[key])
            return f"these have changed since then: {', '.join(changed)}"
        try:
            self.started = datetime.fromisoformat(rows[0]["started"])
            for row in rows[1:]:
                outcome = from_map(row)
                self.done[outcome.name] = outcome
                self.elapsed = float(row["elapsed"])
        except (ValueError, KeyError, TypeError, AttributeError):
            self.done.clear()
            return "its journal is damaged"
        return None

    def begin(self, started: datetime) -> None:
        """Write the file anew, with the outcomes that were taken over."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(f".{os.getpid()}")
            self._file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            self._write({"judged_by": self._judged_by, "started": (self.started or started).isoformat()})
            for outcome in self.done.values():
                self._write({**to_map(outcome), "elapsed": self.elapsed})
            os.replace(fresh, self.path)
        except OSError as error:
            self._fail(error)

    def add(self, outcome: Outcome, elapsed: float) -> None:
        """Write one outcome. A resumed run judges a kernel again that has no verdict."""
        if self._file >= 0 and outcome.status != "not_run":
            try:
                self._write({**to_map(outcome), "elapsed": elapsed})
            except OSError as error:
                self._fail(error)

    def close(self, finished: bool) -> None:
        """Close the file, and remove it if the run is finished."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            if finished:
                self.path.unlink(missing_ok=True)

    def _write(self, row: Mapping[str, Any]) -> None:
        data = (_text(row) + "\n").encode()
        if os.write(self._file, data) != len(data):
            raise OSError(28, "No space left on device")

    def _fail(self, error: OSError) -> None:
        self.warning = f"{self.path}: no journal can be kept ({error.strerror}); the run goes on without --resume"
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _text(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def _row(line: str) -> dict[str, Any] | None:
    """A line of a journal; ``None`` for one that was cut short."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
