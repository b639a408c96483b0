"""One launch of a recording as a case of its own, in a folder of cases that a port keeps and replays for ever."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from conformance.capture.launches import CaptureError
from conformance.replay.archive import SUFFIX, Cases, Pool, read_archive, read_header, write_archive

PINNED = Path("pinned")
"""Where cases are pinned unless another folder is named."""

_WHERE = re.compile(r"(?P<folder>.+)#(?P<number>[0-9]{1,9})")
_ARRAYS = ("data", "expect")


def place_of(text: str) -> tuple[Path, str]:
    """Folder and number of the launch that ``launches#17`` names; raises ``CaptureError``."""
    found = _WHERE.fullmatch(text)
    if found is None:
        raise CaptureError(f"{text!r} names no launch; expected the folder of a recording and a number: launches#17")
    return Path(found["folder"]), str(int(found["number"]))


def pin(folder: Path, number: str, into: Path) -> str:
    """Add launch ``number`` of the recording in ``folder`` to the archive of its module in ``into``; its case id there.

    A launch that is pinned already is there once. Raises ``CaptureError`` where the recording does not have it, and
    ``OSError`` where ``into`` cannot be written.
    """
    for archive in sorted(folder.glob(f"*{SUFFIX}")):
        cases, pool = _read(archive)
        row = next((row for row in cases if row["case"] == number), None)
        if row is not None:
            break
    else:
        raise CaptureError(f"{folder} has no recorded launch {number}; the table of `capture` says which are recorded")
    about = read_header(archive).recording
    pinned = {**row, "case": f"{folder.resolve().name}-{number}"}
    arrays: Pool = {key: pool[key] for key in _keys(pinned)}
    target = into / archive.name
    into.mkdir(parents=True, exist_ok=True)
    others: Cases = []
    if target.exists():
        others, kept = _read(target)
        others = [one for one in others if (one["kernel"], one["case"]) != (pinned["kernel"], pinned["case"])]
        arrays = {**{key: array for key, array in kept.items() if key in _of(others)}, **arrays}
    unfinished = target.with_name(f".{target.name}")
    write_archive(unfinished, [*others, pinned], arrays, about)
    unfinished.replace(target)
    return f"{pinned['kernel']}(trace={pinned['case']})"


def _read(archive: Path) -> tuple[Cases, Pool]:
    try:
        return read_archive(archive)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{archive}: {error}") from None


def _keys(row: dict[str, Any]) -> list[str]:
    """The arrays that a case names."""
    return [argument[field] for argument in row["args"] for field in _ARRAYS if argument.get(field) is not None]


def _of(cases: Cases) -> set[str]:
    return {key for row in cases for key in _keys(row)}
