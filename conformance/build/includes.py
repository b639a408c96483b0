"""Which files a source includes, read from the text: what the key of a compiled object must cover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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

    A header is looked for beside the file that names it and in ``folders``; where several have it, all count, for the
    order in which a compiler looks is the compiler's affair. Headers found nowhere are the compiler's own.
    """
    waiting = [path.resolve() for path in starts]
    files: set[Path] = set()
    complete = True
    while waiting:
        path = waiting.pop()
        if path in files or not path.is_file():
            continue
        files.add(path)
        for rest in _INCLUDE.findall(path.read_text(errors="replace")):
            name = _NAME.match(rest)
            if name is None:
                complete = False
                continue
            waiting += _candidates(name[1] or name[2], (path.parent, *folders))
    return Reached(tuple(sorted(files)), complete)


def _candidates(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        candidate = folder / name
        if candidate.is_file():
            yield candidate.resolve()
