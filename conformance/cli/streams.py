"""Standard streams that end no command: closed, broken, full, or in an encoding that lacks characters."""

from __future__ import annotations

import io
import os
import select
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from conformance.report.terminal import Screen


class _Descriptor(io.FileIO):
    """A file descriptor whose write errors are kept in ``error`` instead of raised; what cannot be written is dropped.

    A command that has a verdict to give, and files to write, goes on when its table is not read.
    """

    error: OSError | None = None

    def write(self, data: object, /) -> int:
        content = memoryview(data).cast("B")  # type: ignore[arg-type]
        while self.error is None:
            try:
                written = super().write(content)
            except OSError as error:
                self.error = error
            else:
                if written is not None:
                    return written
                select.select([], [self.fileno()], [])  # a full pipe that another process made non-blocking
        return len(content)


def screen() -> Screen:
    """What standard output is shown on: colours only on a terminal that has them, unless ``NO_COLOR`` is set."""
    # Here, for it brings numpy and pydantic with it, which --help does without.
    from conformance.report.terminal import LOG, Screen

    if not sys.stdout.isatty():
        return LOG
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return Screen(max(shutil.get_terminal_size((80, 24)).columns, 40), colour)


class Streams:
    """What became of standard output: ``lost`` is the error that kept it from being written, a closed pipe aside."""

    def __init__(self, output: _Descriptor | None) -> None:
        self._output = output

    @property
    def lost(self) -> OSError | None:
        error = None if self._output is None else self._output.error
        return None if isinstance(error, BrokenPipeError) else error


@contextmanager
def safe_streams() -> Iterator[Streams]:
    """Standard streams as a command wants them, until the block ends.

    A closed one becomes ``/dev/null``, so that no file takes its number; characters that the locale's encoding lacks
    are written as ``\\N`` escapes; an error of writing is kept. Streams that are not the process's own (a test's) stay.
    """
    # The lowest free number is taken: 0, 1 and 2 in this order, as far as they are closed.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
    before = sys.stdin, sys.stdout, sys.stderr
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    output = error = None
    if sys.stdout is sys.__stdout__:
        output, sys.stdout = _safe(1, sys.stdout)
    if sys.stderr is sys.__stderr__:
        error, sys.stderr = _safe(2, sys.stderr)
    try:
        yield Streams(output)
    finally:
        for stream, mine in ((sys.stdout, output), (sys.stderr, error)):
            if mine is not None:
                stream.flush()
        sys.stdin, sys.stdout, sys.stderr = before


def _safe(number: int, stream: TextIO | None) -> tuple[_Descriptor, TextIO]:
    raw = _Descriptor(number, "w", closefd=False)
    encoding = "utf-8" if stream is None else stream.encoding
    text = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=number == 2 or os.isatty(number),
        write_through=number == 2,
    )
    return raw, text
