"""Which kernels programs have launched, by the folders that ``capture`` writes: evidence for the rows of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance.errors import UsageError
from conformance.outcome import KernelResult, Launched
from conformance.reading import read_json
from conformance.record.model import Record

CAPTURE_FILE = "capture.json"
"""The file of a recording that says which kernels were launched (docs/capture.md)."""

LaunchedBy = Mapping[str, Sequence[Launched]]
"""By kernel, the programs that launched it."""


def launches_by_program(folders: Iterable[Path]) -> LaunchedBy | None:
    """What programs launched, by the recordings of ``capture`` in ``folders``; ``None`` without any.

    Raises ``UsageError`` for a folder that is no recording.
    """
    folders = list(folders)
    found: dict[str, tuple[Launched, ...]] = {}
    for folder in folders:
        for name, launched in _of_recording(folder / CAPTURE_FILE).items():
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


def summed(launched: Iterable[Launched]) -> tuple[Launched, ...]:
    """What several recordings say of one kernel: the launches of a program together, in the order of programs."""
    counts: dict[str, int] = {}
    for one in launched:
        counts[one.program] = counts.get(one.program, 0) + one.launches
    return tuple(Launched(program, count) for program, count in counts.items())


def told_once(launched: Iterable[Launched]) -> tuple[Launched, ...]:
    """What several records say of one kernel, which may go back to one recording: of a program the largest count."""
    counts: dict[str, int] = {}
    for one in launched:
        counts[one.program] = max(counts.get(one.program, 0), one.launches)
    return tuple(Launched(program, count) for program, count in counts.items())


def with_launches(record: Record, launched: LaunchedBy) -> Record:
    """``record`` with these launches in the rows of kernels and of own kernels, besides those that it tells itself.

    A kernel that ``launched`` does not have was launched by none of its programs. Launchers and library calls stay as
    they are, for capture sees no calls of host functions.
    """

    def told(row: KernelResult) -> KernelResult:
        both = (*(row.launched_by or ()), *launched.get(row.name, ()))
        return row.model_copy(update={"launched_by": told_once(both)})

    return record.with_parts({"kernel": map(told, record.kernels), "own": map(told, record.own)})
