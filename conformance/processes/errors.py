"""Errors of the machine, not of the port under trial."""

from __future__ import annotations


class InfrastructureError(RuntimeError):
    """A full disk, a process that cannot be started, a folder that cannot be written: never a kernel's doing.

    The message is one sentence that names the thing and says what to do.
    """
