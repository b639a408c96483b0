"""Which files a source includes, read from the text: what the key of a compiled object must cover."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.port.definitions.reading import MOST, refuse_special
from conformance.reading import read_bytes

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(.*)$", re.MULTILINE)
_NAME = re.compile(r'<([^>]+)>|"([^"]+)"')


@dataclass(frozen=True)
class Reached:
    """The files that a source can include, conditions ignored; ``complete`` is false where an ``#include`` names its
    header by a macro, which only a preprocessor can follow."""

    files: tuple[Path, ...]
    complete: bool


def reached(starts: Sequence[Path], folders: Sequence[Path]) -> Reached:
    """The files that ``starts`` include, directly or not, themselves among them, sorted.

    A header is looked for next to the file that names it and in ``folders``; where several have it, all count, for the
    order in which a compiler looks is the compiler's affair. Headers found nowhere are the compiler's own, and so are
    those that cannot be read. Raises ``SourceError`` for an ``#include`` of a FIFO or a device.
    """
    waiting = [path.resolve() for path in starts]
    files: set[Path] = set()
    complete = True
    while waiting:
        path = waiting.pop()
        if path in files or not path.is_file():
            continue
        files.add(path)
        try:
            text = read_bytes(path, MOST).decode("utf-8", "replace")
        except OSError:
            continue
        for found in _INCLUDE.finditer(text):
            name = _NAME.match(found[1])
            if name is None:
                complete = False
                continue
            for folder in (path.parent, *folders):
                candidate = folder / (name[1] or name[2])
                if _is_file(candidate):
                    waiting.append(candidate.resolve())
                else:
                    refuse_special(path, name[0], candidate, text, found.start())
    return Reached(tuple(sorted(files)), complete)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for a file
        return False
