"""Reads and writes record files."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from conformance.reading import read_json, shortened
from conformance.record.model import Record


class RecordError(Exception):
    """A record that cannot be read or written; the message names the file, what is wrong and what to do."""


def record_text(record: Record) -> str:
    """The record as JSON text (no infinities, no NaN), indented by one blank so that differences can be read."""
    return (
        json.dumps(record.model_dump(mode="json", by_alias=True), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def write_record(record: Record, path: Path) -> None:
    """Writes the record in one step, as ``write_text``."""
    write_text(path, record_text(record))


def write_text(path: Path, text: str) -> None:
    """Writes ``path`` in one step: a reader sees the old file or the new one. Makes its folder.

    Raises ``RecordError``.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as cause:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise RecordError(f"{path}: cannot be written ({cause.strerror}); give a writable path") from None


def read_record(path: Path) -> Record:
    """Reads a record; raises ``RecordError`` for a file that is absent, no JSON, of another schema or inconsistent."""
    try:
        data: Any = read_json(path, pipe=True)
    except OSError as cause:
        raise RecordError(f"{path}: the record cannot be read ({cause.strerror})") from None
    except ValueError as cause:
        why = shortened(str(cause))
        raise RecordError(f"{path}: not a record: no valid JSON ({why}); was the file cut short?") from None
    if not isinstance(data, dict) or "schema" not in data:
        raise RecordError(f'{path}: not a record: expected an object with "schema": 1')
    if data["schema"] != 1:
        raise RecordError(f"{path}: record schema {shortened(repr(data['schema']))}; this version reads schema 1")
    try:
        return Record.model_validate(data)
    except ValidationError as cause:
        finding = cause.errors(include_url=False)[0]
        place = ".".join(str(part) for part in finding["loc"]) or "the record"
        raise RecordError(f"{path}: not a valid record: {place}: {finding['msg']}; run again to make it anew") from None
