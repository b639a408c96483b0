"""What the library in front of a program leaves in its folder: a log and a file per recorded launch of each process.

A log begins with its version and the path of the program. Its lines are, in the program's order::

    launch NUMBER TIME STATE KERNEL GRID BLOCK SHARED ARGUMENTS
    recorded NUMBER BYTES NANOSECONDS
    lost NUMBER STATE NANOSECONDS
    note WHAT

``NANOSECONDS`` is what recording took. A launch that is to be recorded has the state ``record`` before it is made; a
process that ends in it leaves no further line. A file is a line with its version, a line of JSON, and the bytes of its
buffers, each before the launch and, where that is told, after it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.errors import UserError
from conformance.port.declared.names import Names

_LOG = "candle-parity capture log 1 "
_LAUNCH = "candle-parity launch 1\n"
_SPACE = "%20"
"""In the name of a kernel that is a template: ``scaled<unsigned%20char>``."""

SAME = Names()
"""Of a port that calls every kernel as Candle does."""

RECORD = "record"

STATES = {
    "count": "an equal launch was recorded before (--first, --every)",
    "unknown": "no spec has the kernel",
    "parameters": "the kernel's parameters are not those of Candle's kernel of that name",
    "room": "its buffers go beyond --most-bytes",
    "range": "a pointer is not in an allocation that the library knows",
    "graph": "it was captured into a graph, which launches it later",
    "capturing": "a stream was captured into a graph meanwhile, which waiting for the device would have ended",
    "failed": "the launch failed",
    "device": "the device's memory could not be read before it",
    "stopped": "the folder could not be written any more",
    RECORD: "the program ended in it",
}
"""Why a launch is not recorded, by its state."""


class CaptureError(UserError, ValueError):
    """A recording that cannot be read; the message names the file and what is wrong."""


@dataclass(slots=True)
class Seen:
    """A launch that a program made. ``number`` counts those of all processes of a recording, from 1."""

    process: Path
    own_number: int
    time: int
    state: str
    kernel: str
    shape: str
    number: int = 0
    bytes: int = 0
    spent: int = 0
    is_recorded: bool = False

    @property
    def file(self) -> Path:
        """Where it is recorded."""
        return self.process.with_name(f"{self.process.stem}-{self.own_number}.launch")


@dataclass
class Log:
    """What a process did. ``notes`` are counted by what they say; ``stopped`` says that the folder could not be written
    any more."""

    file: Path
    program: str
    stopped: bool
    launches: list[Seen] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedBuffer:
    """What a launch got a pointer to: the allocation from that address on."""

    address: int
    before: bytes
    after: bytes | None


@dataclass(frozen=True)
class RecordedLaunch:
    """A launch as its file has it; arguments are the bytes of a scalar, a buffer, or ``None`` for a null pointer."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    args: tuple[bytes | RecordedBuffer | None, ...]


def read_logs(folder: Path, names: Names = SAME, launchers: Mapping[str, str] | None = None) -> list[Log]:
    """The logs of every process in ``folder``; launches are numbered in the order of their time, and kernels have
    Candle's names, which the program's differ from as ``names`` says, or those of their launchers."""
    logs = [log for log in map(_log, sorted(folder.glob("*.log"))) if log is not None]
    every = sorted((seen for log in logs for seen in log.launches), key=lambda seen: seen.time)
    for number, seen in enumerate(every, 1):
        seen.number = number
        launcher = (launchers or {}).get(seen.kernel)
        seen.kernel = launcher or names.candle(seen.kernel) or f"the port's own {seen.kernel}"
    return logs


def _log(file: Path) -> Log | None:
    """The log in ``file``; ``None`` where the process could not even begin it."""
    with file.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        first = next(lines, "")
        if not first.startswith(_LOG):
            return None
        log = Log(file, first.removeprefix(_LOG).removesuffix("\n"), file.with_suffix(".stopped").exists())
        by_number: dict[int, Seen] = {}
        for line in lines:
            if not line.endswith("\n"):  # the last one, which was cut off
                break
            with suppress(ValueError, KeyError):  # on a full disk a line is cut off, and the next one stands behind it
                _take(line.removesuffix("\n"), log, by_number)
    log.launches = list(by_number.values())
    return log


def _take(line: str, log: Log, by_number: dict[int, Seen]) -> None:
    """Put a line of ``log`` into it; raises ``ValueError`` and ``KeyError`` where it is not whole."""
    match line.split(" "):
        case ["launch", number, time, state, kernel, *shape]:
            # Of millions of launches most are equal: their texts are kept once.
            state, kernel, text = map(sys.intern, (state, kernel.replace(_SPACE, " "), " ".join(shape)))
            by_number[int(number)] = Seen(log.file, int(number), int(time), state, kernel, text)
        case ["recorded", number, size, spent]:
            seen = by_number[int(number)]
            seen.bytes, seen.spent, seen.is_recorded = int(size), int(spent), True
        case ["lost", number, state, spent]:
            seen = by_number[int(number)]
            seen.state, seen.spent = state, int(spent)
        case ["note", what]:
            log.notes[what] = log.notes.get(what, 0) + 1


def read_launch(file: Path) -> RecordedLaunch:
    """The launch in ``file``; raises ``CaptureError``."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CaptureError(f"{file}: cannot be read ({error.strerror})") from None
    try:
        if not content.startswith(_LAUNCH.encode()):
            raise ValueError("its first line is of another version")
        end = content.index(b"\n", len(_LAUNCH))
        head: dict[str, Any] = json.loads(content[len(_LAUNCH) : end])
        args = tuple(_arguments(head["args"], memoryview(content)[end + 1 :]))
        grid, block = (tuple(map(int, head[key])) for key in ("grid", "block"))
        return RecordedLaunch(str(head["kernel"]), _three(grid), _three(block), int(head["shared"]), args)
    except (ValueError, KeyError, TypeError) as error:
        raise CaptureError(f"{file}: is not a recorded launch ({error!r})") from None


def _three(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = sizes
    return x, y, z


def _arguments(rows: list[Any], data: memoryview) -> Iterator[bytes | RecordedBuffer | None]:
    at = 0

    def taken(size: int) -> bytes:
        nonlocal at
        if not 0 <= size <= len(data) - at:
            raise ValueError("it is cut short")
        at += size
        return bytes(data[at - size : at])

    for row in rows:
        if row is None:
            yield None
        elif "value" in row:
            yield bytes.fromhex(row["value"])
        else:
            before = taken(int(row["bytes"]))
            yield RecordedBuffer(int(row["address"]), before, taken(int(row["bytes"])) if row["after"] else None)
