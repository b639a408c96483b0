"""What options mean, bad usage that is found after the command line was parsed, and stop signals."""

from __future__ import annotations

import argparse
import difflib
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from conformance.reading import shortened

STDOUT = Path("/dev/stdout")
"""What ``--json -`` writes to."""


class UsageError(ValueError):
    """Arguments that do not go together; the message says which and what would."""


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, with the option or command that may have been meant."""

    def error(self, message: str) -> NoReturn:
        """Raises ``UsageError``."""
        found = re.search(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)", message)
        hint = "" if found is None else _meant(found["word"], re.findall(r"[\w-]+", found["choices"]))
        raise UsageError(f"{message}{hint}; `{self.prog} --help` lists what there is")

    def of(self, command: str) -> CommandParser:
        """The parser of ``command``."""
        (commands,) = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        found: CommandParser = commands.choices[command]
        return found

    def unknown(self, words: list[str]) -> NoReturn:
        """Raises ``UsageError`` for options that the parser does not have."""
        options = [option for option in self._option_string_actions if option.startswith("--")]
        first = next((word for word in words if word.startswith("-")), words[0])
        self.error(f"unrecognized arguments: {' '.join(words)}{_meant(first.split('=')[0], options)}")


def _meant(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


class Stopped(BaseException):
    """A signal that asks the process to end (SIGTERM, SIGHUP), raised in the main thread so that context managers clean
    up. The exit code is 128 and the signal's number. Not an ``Exception``: nothing that handles errors may keep it."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def code(self) -> int:
        """The exit code that a shell gives for a process that the signal killed."""
        return 128 + int(self.signal)


def percentage(text: str) -> float:
    """The percentage that an option names; raises ``argparse.ArgumentTypeError``."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage (0 to 100)")
    return value


def json_file(text: str) -> Path:
    """The file that ``--json`` names; ``-`` is standard output, where nothing else stands then."""
    return STDOUT if text == "-" else Path(text)


def seconds(text: str) -> float:
    """The seconds that an option names; raises ``argparse.ArgumentTypeError``."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of seconds (more than 0)")
    return value


def workers(text: str) -> int:
    """The number of workers that an option names; raises ``argparse.ArgumentTypeError``."""
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of workers (1 or more)")
    return int(text)


@dataclass(frozen=True)
class Shard:
    """The ``index``-th of ``of`` parts, counted from 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def shard(text: str) -> Shard:
    """The shard that ``I/N`` names; raises ``argparse.ArgumentTypeError``."""
    index, slash, of = text.partition("/")
    plain = all(part.isascii() and part.isdecimal() and len(part) < 6 for part in (index, of))
    if slash and plain and 1 <= int(index) <= int(of):
        return Shard(int(index), int(of))
    raise argparse.ArgumentTypeError(f"{text!r} is not a shard; expected I/N with I from 1 to N, such as 2/4")
