"""Compilers' messages in the same words in every run: without the names of temporary folders."""

from __future__ import annotations

from pathlib import Path

COMPILER_LOST = "the compiler "
"""How the log begins of a source that took its compiler down, or beyond a limit."""

ENDED_BY = "the compiler was ended by signal "
"""How the last line of a log tells that a compiler did not end by itself; the cpu runtime's hiprtc writes it, too."""


def without_copy(log: str, copy: Path, label: str) -> str:
    """``log`` of a compiler that was given a ``copy`` of the source ``label``; nothing else of its folder is named."""
    return log.replace(str(copy), label).replace(f"{copy.parent}/", "")
