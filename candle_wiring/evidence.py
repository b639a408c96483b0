"""What programs have launched: evidence next to what the Rust side asks for, from recordings of ``capture``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from conformance.errors import UsageError
from conformance.outcome import Launched
from conformance.reading import read_json
from conformance.record.launched import LaunchedBy, summed

NAME = "capture.json"
"""The file of a recording that says which kernels were launched (docs/capture.md)."""


def launches_by_program(folders: Iterable[Path]) -> LaunchedBy | None:
    """What programs launched, by the recordings of ``capture`` in ``folders``; ``None`` without any.

    Raises ``UsageError`` for a folder that is no recording.
    """
    folders = list(folders)
    found: dict[str, tuple[Launched, ...]] = {}
    for folder in folders:
        for name, launched in _of_recording(folder / NAME).items():
            found[name] = summed((*found.get(name, ()), launched))
    return found if folders else None


def _of_recording(file: Path) -> dict[str, Launched]:
    try:
        content = read_json(file)
        program = str(content["program"])
        return {str(name): Launched(program, int(row["launches"])) for name, row in content["kernels"].items()}
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); give a folder that capture has written") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{file} is not what capture writes; record the program again") from None
