"""Bad usage, found after the command line was parsed, and stop signals."""

from __future__ import annotations

import argparse
import signal


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
