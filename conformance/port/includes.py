"""Which files a source includes, read from the text: what the key of a compiled object must cover, and which headers
a preprocessor would not find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.port.definitions.reading import MOST, refuse_special
from conformance.reading import read_bytes

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(.*)$", re.MULTILINE)
_NAME = re.compile(r'<([^>]+)>|"([^"]+)"')


@dataclass(frozen=True)
class Include:
    """An ``#include``: the header's name, ``None`` where a macro names it, and the files ``found`` under that name."""

    name: str | None
    angled: bool
    found: tuple[Path, ...]


@dataclass(frozen=True)
class Reached:
    """The files that a source can include, conditions ignored; ``complete`` is false where an ``#include`` names its
    header by a macro, which only a preprocessor can follow. ``hip``: HIP's headers among the names."""

    files: tuple[Path, ...]
    complete: bool
    hip: frozenset[str] = frozenset()


def includes(
    starts: Sequence[Path], folders: Sequence[Path], read: Callable[[Path], str | None], *, first: bool = False
) -> Iterator[Include]:
    """Every ``#include`` of ``starts`` and of what they include, directly or not, conditions ignored.

    A header is looked for next to the file that names it and in ``folders``; all files of its name are followed, for
    the order in which a compiler looks is the compiler's affair. With ``first``, it is looked for as a compiler does
    (one in angle brackets in ``folders`` alone), and the first is followed. ``read`` gives a file's text, or ``None``
    for one that is not followed further. Raises ``ScanError`` for an ``#include`` of a FIFO or a device, and what
    ``read`` raises.
    """
    waiting = list(starts)
    seen: set[tuple[Path, Path]] = set()
    while waiting:
        path = waiting.pop()
        # Resolved: "../inc/a.h" in inc/a.h has a longer name each time round. With its folder: a link to a header
        # includes what lies next to the link.
        place = (path.resolve(), path.parent.resolve())
        if place in seen:
            continue
        seen.add(place)
        text = read(path)
        for line in _INCLUDE.finditer(text or ""):
            named = _NAME.match(line[1])
            if named is None:
                yield Include(None, False, ())
                continue
            angled, name = named[1] is not None, named[1] or named[2]
            found: list[Path] = []
            for folder in folders if first and angled else (path.parent, *folders):
                candidate = folder / name
                if not _exists(candidate) or (first and found):
                    continue
                refuse_special(path, named[0], candidate, text or "", line.start())
                found.append(candidate)
            waiting += found
            yield Include(name, angled, tuple(found))


def reached(starts: Sequence[Path], folders: Sequence[Path]) -> Reached:
    """The files that ``starts`` include, directly or not, themselves among them, sorted.

    Headers found nowhere are the compiler's own, and so are those that cannot be read. Raises ``SourceError`` for an
    ``#include`` of a FIFO or a device.
    """
    present = [path for path in starts if path.is_file()]
    files = {path.resolve() for path in present}
    complete = True
    hip: set[str] = set()
    for include in includes(present, folders, _text):
        complete = complete and include.name is not None
        hip.update(name for name in (include.name,) if name is not None and name.startswith("hip/"))
        files.update(path.resolve() for path in include.found)
    return Reached(tuple(sorted(files)), complete, frozenset(hip))


def _text(path: Path) -> str | None:
    try:
        return read_bytes(path, MOST).decode("utf-8", "replace")
    except OSError:
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # a name too long for a file
        return False
