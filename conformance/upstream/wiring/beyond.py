"""Kernels of a checkout's own: names in its CUDA and HIP sources that no spec has."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from conformance.reading import read_bytes

_SUFFIXES = frozenset((".cu", ".cuh", ".hip", ".h", ".hpp"))
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_]\w*")


def defined_here(candle: Path, names: Collection[str]) -> dict[str, str]:
    """``file:line`` of the first mention of each of ``names`` outside comments, of those that the kernel crates have.

    A file that cannot be read holds none.
    """
    wanted = {name.encode() for name in names}
    found: dict[str, str] = {}
    for path in sorted(candle.glob("candle-*kernels/**/*")) if wanted else ():
        if path.suffix not in _SUFFIXES:
            continue
        try:
            source = read_bytes(path)
        except OSError:
            continue
        code = _COMMENT.sub(lambda match: b"\n" * match[0].count(b"\n"), source)
        for word in _WORD.finditer(code):
            if word[0] in wanted:
                line = code.count(b"\n", 0, word.start()) + 1
                found.setdefault(word[0].decode(), f"{path.relative_to(candle).as_posix()}:{line}")
    return found
