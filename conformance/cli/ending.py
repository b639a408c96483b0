"""How a command ends: an exit code, and one sentence on standard error where something went wrong."""

from __future__ import annotations

import codecs
import io
import os
import re
import select
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from conformance.errors import UserError
from conformance.files import PACKAGE, REFERENCE, ROOT
from conformance.reading import shortened
from conformance.text import LOG, NARROWEST, Screen, one_line

BAD_INPUT = 2
INTERRUPTED = 130

DEBUG = "CANDLE_PARITY_DEBUG"
"""Set to 1 in the environment: the traceback of a defect is printed too."""

ASCII = "CANDLE_PARITY_ASCII"
"""Set to 1 in the environment: nothing but ASCII is printed."""

_PLAIN = {"✓": "+", "✗": "x", "–": "-", "·": "-", "○": "o", "…": "~"}
"""What stands for the signs of tables where they cannot be shown; each as wide as the sign, so that columns hold."""

_PLAINLY = "candle-parity"

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_LONGEST = 4000

_came: list[int] = []
"""The signals for which ``Stopped`` was raised."""

_OWN = (PACKAGE, REFERENCE, ROOT / "tests")


class Stopped(BaseException):
    """A signal that asks the process to end (SIGTERM, SIGHUP), raised in the main thread, so that context managers
    clean up.

    The exit code is 128 plus the signal's number. It is no ``Exception``, so that no error handling swallows it.
    """

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def code(self) -> int:
        """The exit code: 128 plus the number of the signal."""
        return 128 + int(self.signal)


def ended(command: Callable[[], int]) -> int:
    """The exit code with which ``command`` ends: its own; 2 for bad input, and for a defect of ours; 128 plus a
    signal's number.

    Closing the pipe at standard output changes no exit code. If output is lost otherwise (a full disk), it is 2.
    """
    with safe_streams() as streams:
        try:
            with signals_raised():
                code = command()
        except (Stopped, KeyboardInterrupt) as stop:
            code = _stopped(stop)
        except Exception as error:
            code = BAD_INPUT
            _print_line(sentence(error))
            if os.environ.get(DEBUG) == "1":
                traceback.print_exc()
        sys.stdout.flush()
        if streams.lost is not None:
            _print_line(f"standard output: cannot be written ({streams.lost.strerror}); the exit code would be {code}")
            code = BAD_INPUT
    return code


@contextmanager
def signals_raised() -> Iterator[None]:
    """A context in which SIGTERM and SIGHUP raise ``Stopped`` in the main thread.

    Only the first does, so that cleaning up is not interrupted. Signals that the parent process ignores (``nohup``)
    stay ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)
        _came.append(number)
        raise Stopped(number)

    _came.clear()
    mine = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in mine:
            signal.signal(number, stop)
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def what_stopped() -> Stopped | KeyboardInterrupt:
    """The exception that a signal raised, for code where a library replaced it by a ``KeyboardInterrupt``."""
    return Stopped(_came[-1]) if _came else KeyboardInterrupt()


def sentence(error: Exception) -> str:
    """The message of ``error``, for the user."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory{_detail(error)}; give fewer or smaller cases or files, or a lower -j"
    if isinstance(error, OSError) and error.strerror:
        names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
        return f"{' -> '.join(names) or f'input or output ({_place(error)})'}: {error.strerror}"
    if isinstance(error, RecursionError):
        return f"the input is nested too deep to be read ({_place(error)}); give one with fewer levels"
    return (
        f"a defect of candle-parity: {type(error).__name__}{_detail(error)} at {_place(error)}; report it with the "
        f"command ({DEBUG}=1 prints the traceback)"
    )


def _stopped(stop: Stopped | KeyboardInterrupt) -> int:
    # What stopped it may say more: where the partial record lies and how to go on.
    if isinstance(stop, Stopped):
        _print_line(f"stopped by {stop}")
        return stop.code
    _print_line(str(stop) or "stopped by Ctrl-C")
    return INTERRUPTED


def _print_line(text: str) -> None:
    # One line, whatever a file's name or content put into the message.
    print(f"candle-parity: {shortened(one_line(text), _LONGEST)}", file=sys.stderr)


def _detail(error: Exception) -> str:
    text = str(error)
    return f" ({shortened(text)})" if text else ""


def _place(error: Exception) -> str:
    """Where ``error`` arose: the innermost line of our own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if any(map(Path(frame.filename).is_relative_to, _OWN))]
    if not own:
        return "an unknown place"
    last = own[-1]
    return f"{Path(last.filename).relative_to(ROOT).as_posix()}:{last.lineno}"


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
    """The screen that standard output is: colours and links only on a terminal that has them, and not if ``NO_COLOR``
    is set.

    Without a terminal the width is that of ``COLUMNS``, if set.
    """
    if not sys.stdout.isatty():
        columns = os.environ.get("COLUMNS", "")
        return Screen(max(int(columns), NARROWEST)) if re.fullmatch("[1-9][0-9]{0,5}", columns) else LOG
    terminal = os.environ.get("TERM", "dumb")
    colour = not os.environ.get("NO_COLOR") and terminal != "dumb"
    # These print the address of a link (OSC 8) as text; other terminals skip what they do not know.
    links = colour and not terminal.startswith(("linux", "screen")) and "INSIDE_EMACS" not in os.environ
    return Screen(max(shutil.get_terminal_size((80, 24)).columns, NARROWEST), colour, links)


def _written_plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """A codec's error handler: our own signs by ``_PLAIN``, other characters as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    if all(sign in _PLAIN for sign in lost):
        return "".join(_PLAIN[sign] for sign in lost), error.end
    if lost[0] in _PLAIN:
        return _PLAIN[lost[0]], error.start + 1
    return codecs.backslashreplace_errors(
        UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, error.reason)
    )


class Streams:
    """What became of standard output."""

    def __init__(self, output: _Descriptor | None) -> None:
        self._output = output

    @property
    def lost(self) -> OSError | None:
        """The error because of which standard output could not be written; a closed pipe is none. ``None`` where all
        was written."""
        error = None if self._output is None else self._output.error
        return None if isinstance(error, BrokenPipeError) else error


@contextmanager
def safe_streams() -> Iterator[Streams]:
    """A context with standard streams as a command needs them.

    A closed stream becomes ``/dev/null``, so that no file gets its number. Characters that the encoding lacks are
    written as escapes. Errors of writing are kept. Streams that a test has put in place of the process's own are left
    alone.
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
    codecs.register_error(_PLAINLY, _written_plainly)
    text = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="ascii" if os.environ.get(ASCII) == "1" else encoding,
        errors=_PLAINLY,
        line_buffering=number == 2 or os.isatty(number),
        write_through=number == 2,
    )
    return raw, text
