"""What options mean, bad usage that is found after the command line was parsed, and stop signals."""

from __future__ import annotations

import argparse
import signal
from dataclasses import dataclass


class UsageError(ValueError):
    """Arguments that do not go together; the message says which and what would."""


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
