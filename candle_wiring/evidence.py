"""What programs have launched: evidence next to what the Rust side asks for, from recordings of ``capture``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import UsageError
from conformance.reading import read_json

NAME = "capture.json"
"""The file of a recording that says which kernels were launched (docs/capture.md)."""


@dataclass(frozen=True)
class Launches:
    """How often ``program`` launched a kernel."""

    program: str
    count: int

    def as_json(self) -> dict[str, object]:
        """As the wiring's JSON has it."""
        return {"program": self.program, "launches": self.count}


Launched = Mapping[str, tuple[Launches, ...]]
"""By kernel, the programs that launched it."""


def launches_by_program(folders: Iterable[Path]) -> Launched | None:
    """What the recordings in ``folders`` say, ``None`` without any; raises ``UsageError`` for one that is none."""
    folders = list(folders)
    found: dict[str, tuple[Launches, ...]] = {}
    for folder in folders:
        for name, launches in _of_recording(folder / NAME).items():
            found[name] = (*found.get(name, ()), launches)
    return found if folders else None


def _of_recording(file: Path) -> dict[str, Launches]:
    try:
        content = read_json(file)
        program = str(content["program"])
        return {str(name): Launches(program, int(row["launches"])) for name, row in content["kernels"].items()}
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); give a folder that capture has written") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{file} is not what capture writes; record the program again") from None
