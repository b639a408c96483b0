"""Reads and writes record files, and tells whether a record is of the specs that it is reported against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from conformance.reading import read_json, shortened
from conformance.record.model import Record
from conformance.spec.entry import ENTRIES
from conformance.spec.load import Specs
from conformance.text import one_line
from conformance.writing import FileError, write_text


def record_text(record: Record) -> str:
    """The record as JSON text, without infinities and NaN. It is indented by one blank, so that a diff of two can be
    read."""
    content = record.model_dump(mode="json", by_alias=True)
    # Most ports have no kernels of their own: their records are as before there was such a thing.
    of_port: tuple[tuple[dict[str, Any], str, Any], ...] = (
        (content, "own", []),
        (content, "own_launchers", []),
        (content["run"], "own_digest", None),
    )
    for part, key, nothing in of_port:
        if part[key] == nothing:
            del part[key]
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_record(record: Record, path: Path) -> None:
    """Write ``record`` to ``path`` in one step, compressed by suffix, as ``conformance.writing.write_text``. Raises
    ``FileError``."""
    write_text(path, record_text(record))


def read_record(path: Path) -> Record:
    """The record in the file at ``path``.

    Raises ``FileError`` for a file that is absent, is not JSON, has another schema, or contradicts itself.
    """
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
        why = one_line(f"not a valid record: {place}: {finding['msg']}")
        raise FileError(f"{path}: {why}; run again to make it anew") from None


def check_specs(record: Record, specs: Specs, path: Path) -> None:
    """Raises ``FileError`` where the record at ``path`` is of other specs than ``specs``, or of other kernels.

    Two records are let through: one of an earlier version of the harness's own specs, and one that is older than
    digests.
    """
    run = record.run
    if run.specs_digest is None:
        return
    if run.specs_digest != specs.digest:
        if run.specs is not None:
            raise FileError(
                f"{path}: the record is of the specs {run.specs!r} (digest {run.specs_digest!r}), not of "
                f"{_named(specs)} (digest {specs.digest}); give those with --specs"
            )
        if specs.given is not None:
            raise FileError(
                f"{path}: the record is of the harness's own specs (digest {run.specs_digest!r}), not of "
                f"{_named(specs)} (digest {specs.digest}); leave out --specs"
            )
        return
    names = {kernel.name for kernel in record.kernels}
    strange = {row.name for entry in ENTRIES for row in record.rows_of(entry) if row.name not in specs.of(entry)}
    strange -= {row.name for row in record.of_port}  # the port's specs have these
    for what, found in (("lacks", specs.kernels.keys() - names), ("has", strange)):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            whose = "of its specs" if what == "lacks" else "that its specs do not have"
            raise FileError(
                f"{path}: the record {what} kernel {min(found)!r}{more} {whose} (digest {specs.digest}); it was "
                "changed or cut: run again to make it anew"
            )


def _named(specs: Specs) -> str:
    return "the harness's own specs" if specs.given is None else f"the specs {str(specs.given)!r}"
