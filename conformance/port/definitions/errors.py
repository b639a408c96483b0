"""The errors of reading kernel sources."""

from __future__ import annotations

from pathlib import Path


class SourceError(ValueError):
    """A kernels path, or a source in it, that cannot be used; the message says what was expected."""


class ScanError(SourceError):
    """A source that cannot be read, preprocessed or parsed.

    The message is one sentence, ``FILE:LINE: what is wrong; what to do``. ``line`` counts from 1 and is ``None`` where
    the whole file is meant.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        super().__init__(f"{path}: {problem}" if line is None else f"{path}:{line}: {problem}")
