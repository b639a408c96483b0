"""Running a program with the library in front, and the folder that its launches are recorded in."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.capture.plan import FOLDER
from conformance.errors import UsageError

RAW = ".launches"
"""The folder inside of a recording that a program writes to; what is in it becomes traces, and then it is gone."""

NAME = "capture.json"
"""The file of a recording that says which launches there were."""


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, or minus the number of the signal, and the seconds that it took."""

    code: int
    seconds: float

    @property
    def text(self) -> str:
        """``ended with exit code 3``, ``was ended by SIGSEGV``; empty for exit code 0."""
        if self.code >= 0:
            return f"ended with exit code {self.code}" if self.code else ""
        return f"was ended by {signal.Signals(-self.code).name}"


@contextmanager
def new_recording(out: Path) -> Iterator[Path]:
    """``out``, made where it is not there; the folder for what the program writes is in it.

    Raises ``UsageError`` where ``out`` is not empty: two programs in one folder cannot be told apart.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; give a new or empty one for the launches")
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            what = "holds launches already, or a program writes to it" if (out / RAW).exists() else "is not empty"
            raise UsageError(f"{out} {what}; give a new or empty folder")
        (out / RAW).mkdir()
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror}); give another folder") from None
    try:
        yield out
    finally:
        if (out / RAW).is_dir() and not any(file for file in (out / RAW).iterdir() if file.suffix == ".launch"):
            for file in (out / RAW).iterdir():
                file.unlink()
            (out / RAW).rmdir()
        if made and not any(out.iterdir()):
            out.rmdir()


def run_program(words: Sequence[str], library: Path, raw: Path, variables: Mapping[str, str]) -> Ended:
    """Run the program ``words`` with ``library`` in front of the GPU's, in the environment and ``variables``.

    Ctrl-C goes to the program, and what it has launched until then is judged. Raises ``OSError`` where it cannot be
    started.
    """
    loaded = [str(library), *filter(None, [variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD"))])]
    environment = {**os.environ, **variables, "LD_PRELOAD": ":".join(loaded), FOLDER: str(raw.resolve())}
    started = time.perf_counter()
    program = subprocess.Popen(words, env=environment)
    while True:
        try:
            code = program.wait()
            return Ended(code, time.perf_counter() - started)
        except KeyboardInterrupt:  # the program has got it too, and says itself when it ends
            continue
