"""Reads and writes record files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from conformance.reading import read_json, shortened
from conformance.record.model import Record
from conformance.writing import FileError, write_text

__all__ = ["FileError", "read_record", "record_text", "write_record", "write_text"]


def record_text(record: Record) -> str:
    """The record as JSON text (no infinities, no NaN), indented by one blank so that differences can be read."""
    return (
        json.dumps(record.model_dump(mode="json", by_alias=True), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def write_record(record: Record, path: Path) -> None:
    """Writes the record in one step, as ``write_text``."""
    write_text(path, record_text(record))


def read_record(path: Path) -> Record:
    """Reads a record; raises ``FileError`` for a file that is absent, not JSON, of another schema or inconsistent."""
    try:
        data: Any = read_json(path, pipe=True)
    except OSError as cause:
        raise FileError(f"{path}: the record cannot be read ({cause.strerror})") from None
    except ValueError as cause:
        why = shortened(str(cause))
        raise FileError(f"{path}: not a record: not valid JSON ({why}); was the file cut short?") from None
    if not isinstance(data, dict) or "schema" not in data:
        raise FileError(f'{path}: not a record: expected an object with "schema": 1')
    if data["schema"] != 1:
        raise FileError(f"{path}: record schema {shortened(repr(data['schema']))}; this version reads schema 1")
    try:
        return Record.model_validate(data)
    except ValidationError as cause:
        finding = cause.errors(include_url=False)[0]
        place = ".".join(str(part) for part in finding["loc"]) or "the record"
        # A key of the record may be anything; the report's helpers import this package.
        from conformance.text import one_line

        why = one_line(f"not a valid record: {place}: {finding['msg']}")
        raise FileError(f"{path}: {why}; run again to make it anew") from None
