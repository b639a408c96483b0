"""Running a program with the library in front, and the folder that its launches are recorded in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from conformance.capture.plan import FOLDER
from conformance.errors import UsageError
from conformance.port.declared.names import Alias, Names
from conformance.processes.child import how_ended
from conformance.writing import write_text

RAW = ".launches"
"""The folder inside of a recording that a program writes to; what is in it becomes traces, and then it is gone."""

_ABOUT = "about.json"


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, or minus the number of the signal, and the seconds that it took."""

    code: int
    seconds: float

    @property
    def text(self) -> str:
        """``ended with exit code 3``, ``was ended by signal SIGSEGV``; empty for exit code 0."""
        if not self.code:
            return ""
        return f"{'ended with' if self.code > 0 else 'was ended by'} {how_ended(self.code)}"


@contextmanager
def new_recording(out: Path) -> Iterator[Path]:
    """``out``, made where it is not there, with a folder in it that the program writes to.

    Where no launch was seen both are gone again. Raises ``UsageError`` where ``out`` is not empty: two programs in one
    folder cannot be told apart.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; give a new or empty one for the launches")
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        if (out / RAW).exists():
            how = f"`candle-parity capture -o {out}` judges what was recorded"
            raise UsageError(f"{out} holds launches already, or a program writes to it; {how}, or give another folder")
        if any(out.iterdir()):
            raise UsageError(f"{out} is not empty; give a new or empty folder")
        (out / RAW).mkdir()
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror}); give another folder") from None
    try:
        yield out
    finally:
        if not any((out / RAW).glob("*.log")):
            shutil.rmtree(out / RAW, ignore_errors=True)
            if made and not any(out.iterdir()):
                out.rmdir()


@dataclass(frozen=True)
class About:
    """What is known of a recording: its program, where the launches were made, and how the program ended (``None``: the
    harness ended before it). ``port_names`` and ``keeping`` are what its kernels are called (``Names``). It lies next
    to the launches until they are traces."""

    program: str
    device: str
    started: str
    arch: str | None = None
    runtime: str | None = None
    ended: Ended | None = None
    port_names: Mapping[str, str] = field(default_factory=dict)
    keeping: Sequence[str] = ()

    @property
    def names(self) -> Names:
        """What the program's kernels are called."""
        return Names((Alias("", "", self.port_names),), frozenset(self.keeping))

    def write(self, raw: Path) -> None:
        """Write it into the folder that the program writes to. Raises ``FileError``, and what was there stays."""
        write_text(raw / _ABOUT, json.dumps(asdict(self)))

    @classmethod
    def read(cls, raw: Path) -> About:
        """What ``write`` has written; raises ``UsageError``."""
        try:
            content = json.loads((raw / _ABOUT).read_text(encoding="utf-8"))
            ended, keeping = content.pop("ended"), content.pop("keeping")
            return cls(**content, ended=None if ended is None else Ended(**ended), keeping=tuple(keeping))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            raise UsageError(f"{raw / _ABOUT} cannot be read: {raw.parent} is no recording; record it anew") from None

    @property
    def recording(self) -> dict[str, str]:
        """What archives say of themselves."""
        fields = (("program", self.program), ("device", self.device), ("started", self.started))
        own = (("arch", self.arch), ("runtime", self.runtime))
        return {name: text for name, text in (*fields, *own) if text is not None}


def run_program(command: Sequence[str], library: Path, raw: Path, variables: Mapping[str, str]) -> Ended:
    """Run the program ``command`` with ``library`` in front of the GPU's, in the environment and ``variables``.

    Ctrl-C goes to the program, and what it has launched until then is judged. Raises ``OSError`` where it cannot be
    started.
    """
    others = filter(None, [variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD"))])
    with _without_separators(library) as path:
        preloaded = ":".join((str(path), *others))
        environment = {**os.environ, **variables, "LD_PRELOAD": preloaded, FOLDER: str(raw.resolve())}
        started = time.perf_counter()
        program = subprocess.Popen(command, env=environment)
        while True:
            try:
                code = program.wait()
                return Ended(code, time.perf_counter() - started)
            except KeyboardInterrupt:  # the program has got it too, and says itself when it ends
                continue


@contextmanager
def _without_separators(library: Path) -> Iterator[Path]:
    """A path of ``library`` that can stand in ``LD_PRELOAD``, where spaces and colons end a path."""
    if not any(character in str(library) for character in ": "):
        yield library
        return
    with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
        link = Path(folder) / "front.so"
        link.symlink_to(library.resolve())
        yield link
