"""Specs: what Candle's kernels are, read from ``specs/*.yaml``; the errors of reading them and of choosing kernels."""

from __future__ import annotations

from pathlib import Path

from conformance.errors import UserError


class SpecError(UserError):
    """A spec that cannot be used.

    The message is one line: ``FILE:LINE: what is wrong; expected ...; what to do``. ``line`` counts from 1 and is
    ``None`` where the whole file or folder is meant.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str, remedy: str) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        self.remedy = remedy
        where = f"{path}" if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {problem}; {remedy}")


class SelectionError(UserError):
    """A kernel pattern or module name that matches nothing; the message names it and the nearest names that exist."""
