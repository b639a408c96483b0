"""A source's text, the files that it includes, and what is wrong with them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import UserError
from conformance.reading import MIB, kind_of, read_bytes


class SourceError(UserError, ValueError):
    """A kernels path, or a source in it, cannot be used. The message says what was expected."""


class ScanError(SourceError):
    """A source cannot be read, preprocessed or parsed.

    The message is one sentence: ``FILE:LINE: what is wrong; what to do``. ``line`` counts from 1; ``None`` stands for
    the whole file.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        super().__init__(f"{path}: {problem}" if line is None else f"{path}:{line}: {problem}")


MOST = 64 * MIB
"""Bytes of the largest source; Candle's own have 200 thousand at most."""

# What is not UTF-8 is taken for Latin-1, byte by byte: comments written in it are common, and no line changes.
_LATIN_1 = {0xDC00 + byte: chr(byte) for byte in range(0x80, 0x100)}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_source(path: Path) -> str:
    """The text of ``path``, with plain newlines and without a byte order mark.

    Raises ``ScanError`` for a file that cannot be read, is no regular file, is larger than ``MOST``, or contains a NUL
    byte, where a compiler that takes the text as a C string would stop.
    """
    try:
        data = read_bytes(path, MOST)
    except OSError as error:
        raise ScanError(path, None, f"cannot be read ({error.strerror})") from None
    if data.startswith(_UTF_16):
        raise ScanError(path, None, "is UTF-16 text, which compilers do not read; save it as UTF-8")
    position = data.find(b"\0")
    if position >= 0:
        line = data.count(b"\n", 0, position) + 1
        problem = f"a NUL byte at byte {position + 1} (line {line}); compilers end a source there, so take it out"
        raise ScanError(path, line, problem)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").translate(_LATIN_1)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def refuse_special(path: Path, name: str, candidate: Path, text: str, position: int) -> None:
    """Raises ``ScanError`` where ``candidate`` is a FIFO or a device, for which a compiler would wait or which it would
    read for ever.

    ``text`` of ``path`` includes it as ``name``, at ``position``.
    """
    kind = kind_of(candidate)
    if kind is not None and kind != "a folder":
        line = text.count("\n", 0, position) + 1
        raise ScanError(path, line, f"includes {name}, which is {kind}; a header is a regular file")


_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(.*)$", re.MULTILINE)
_NAME = re.compile(r'<([^>]+)>|"([^"]+)"')


@dataclass(frozen=True)
class Include:
    """An ``#include``: the name of the header (``None`` where a macro names it), and the files ``found`` under that
    name."""

    name: str | None
    angled: bool
    found: tuple[Path, ...]


@dataclass(frozen=True)
class Reached:
    """The files that a source can include, whatever conditions the includes stand under.

    ``complete`` is false where a macro names a header, which only a preprocessor can follow. ``hip`` says that headers
    of HIP are among the names.
    """

    files: tuple[Path, ...]
    complete: bool
    hip: frozenset[str] = frozenset()


def includes(
    starts: Sequence[Path], folders: Sequence[Path], read: Callable[[Path], str | None], *, first: bool = False
) -> Iterator[Include]:
    """Every ``#include`` in ``starts`` and in what they include, directly or not, whatever conditions they stand under.

    A header is looked for next to the file that names it and in ``folders``. All files with its name are followed, as
    the order of the search is the compiler's affair. With ``first`` the search is a compiler's (a name in angle
    brackets only in ``folders``), and the first file is followed. ``read`` gives the text of a file, or ``None`` for
    one that is not followed.

    Raises ``ScanError`` for an ``#include`` of a FIFO or a device, and what ``read`` raises.
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
    """The files that ``starts`` include, directly or not, and they themselves, sorted.

    Headers that are found nowhere, or cannot be read, are left to the compiler. Raises ``SourceError`` for an
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
