"""One launch of a recording as a case of its own, in a folder of cases that a port keeps and replays for ever."""

from __future__ import annotations

import re
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from conformance.capture.launches import CaptureError
from conformance.replay.archive import SUFFIX, Cases, Pool, read_archive, read_header, write_archive_in_place
from conformance.replay.traces import PROGRAM, Traces

_WHERE = re.compile(r"(?P<folder>.+)#(?P<number>[0-9]{1,9})")
_NO_LABEL = re.compile(r"[^\w.+-]")
"""What is not kept of a folder's name in a case id, which a comma would cut."""

_ARRAYS = ("data", "expect")


def place_of(text: str) -> tuple[Path, str]:
    """Folder and number of the launch that ``launches#17`` names; raises ``CaptureError``."""
    found = _WHERE.fullmatch(text)
    if found is None:
        raise CaptureError(f"{text!r} names no launch; expected the folder of a recording and a number: launches#17")
    return Path(found["folder"]), str(int(found["number"]))


def pin(folder: Path, number: str, into: Path) -> str:
    """Add launch ``number`` of the recording in ``folder`` to the archive of its module in ``into``; its case id there.

    A launch that is pinned already is there once; one of another recording whose folder has the same name gets a name
    of its own: ``launches-17b``. Raises ``CaptureError`` where the recording does not have it, and where the archive in
    ``into`` has Candle's own answers, which are judged otherwise; ``OSError`` where ``into`` cannot be written.
    """
    for archive in sorted(folder.glob(f"*{SUFFIX}")):
        cases, pool, about = _read(archive)
        row = next((row for row in cases if row["case"] == number), None)
        if row is not None:
            break
    else:
        raise CaptureError(f"{folder} has no recorded launch {number}; the table of `capture` says which are recorded")
    arrays: Pool = {key: pool[key] for key in _keys(row)}
    target = into / archive.name
    into.mkdir(parents=True, exist_ok=True)
    others: Cases = []
    if target.exists():
        others, kept, about_others = _read(target)
        if PROGRAM not in about_others:
            raise CaptureError(f"{target} has answers that no program gave; name another folder with --into")
        arrays = {**kept, **arrays}
    by_label = {one["case"]: one for one in others if one["kernel"] == row["kernel"]}
    label = f"{_NO_LABEL.sub('_', folder.resolve().name)}-{number}"
    for end in ("", *ascii_lowercase[1:]):
        pinned = {**row, "case": label + end}
        if pinned["case"] not in by_label:
            write_archive_in_place(target, [*others, pinned], arrays, about)
            break
        if by_label[pinned["case"]] == pinned:
            break
    else:
        raise CaptureError(f"{target} has {len(ascii_lowercase)} launches called {label}; name another folder")
    return f"{pinned['kernel']}(trace={pinned['case']})"


def _read(archive: Path) -> tuple[Cases, Pool, dict[str, Any]]:
    """The cases and arrays of ``archive`` and what it says of itself; raises ``CaptureError`` and ``TraceError``."""
    Traces(archive.parent)  # whose cases have all that is read here
    try:
        cases, pool = read_archive(archive)
        about = read_header(archive).recording
    except (OSError, ValueError) as error:
        raise CaptureError(f"{archive}: {error}") from None
    absent = [key for row in cases for key in _keys(row) if key not in pool]
    if absent:
        raise CaptureError(f"{archive}: has no array {absent[0]}, which a case names; record it anew")
    return cases, pool, about


def _keys(row: dict[str, Any]) -> list[str]:
    """The arrays that a case names."""
    return [str(argument[name]) for argument in row["args"] for name in _ARRAYS if argument.get(name) is not None]
