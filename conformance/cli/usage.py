"""Bad usage, found after the command line was parsed, and stop signals."""

from __future__ import annotations

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
