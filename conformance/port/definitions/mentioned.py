"""The files that a source mentions, by any spelling: more than a compiler reads of it, for where nobody lists that.

Not a preprocessor. Whatever stands in a text and is the name of a regular file counts, in an ``#include`` or not: in a
macro, a string, a comment, or assembly. So no way of writing an ``#include`` is one too many.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from conformance.reading import MIB, read_bytes

_MOST = 64 * MIB
_MOST_TEXT = 4 * MIB
"""Bytes of the largest file that is searched for further names."""

_MADE_UP = (("/", "proc"), ("/", "sys"), ("/", "dev"))
"""Where no file has a content of its own: /proc/self/environ differs in each process."""

_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t\f\v]*(?:\r\n|\r|\n)")
_QUOTED = re.compile(r'"([^"\r\n]{1,255})"|<([^<>\r\n]{1,255})>')
_WORD = re.compile(r"[\w./+@~%-]+")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[^\w\s]")
_COMPUTED = re.compile(
    r"(?:(?:#|%:|\?\?=)(?:[ \t\f\v]|/\*.*?\*/)*(?:include|include_next|import|embed)\b"
    r"|__has_(?:include|include_next|embed)[ \t]*\()(?:[ \t\f\v]|/\*.*?\*/)*[A-Za-z_]"
)
"""An ``#include``, or a question for a file, whose name a macro makes."""


@dataclass(frozen=True)
class Mentioned:
    """The files that some sources mention, directly or not: ``files``, sorted, with the sources themselves.

    ``paths`` are the paths by which they were found, links among them. ``computed`` says that macros make a name
    somewhere, perhaps from parts that are no name by themselves.
    """

    files: tuple[Path, ...]
    paths: tuple[Path, ...]
    computed: bool


def normalised(data: bytes) -> str:
    """The text of a source, with continued lines joined."""
    return _SPLICE.sub("", data.decode("utf-8", "surrogateescape"))


def names_in(text: str) -> set[str]:
    """Everything in ``text`` that stands in quotes or in angle brackets."""
    return {match[1] or match[2] for match in _QUOTED.finditer(text)}


def mentioned(
    starts: Iterable[Path], folders: Sequence[Path], more: str = "", parts_below: Sequence[Path] = ()
) -> Mentioned:
    """The files that ``starts`` mention, directly or not.

    A name is looked for next to the file that mentions it and in ``folders``. An absolute name counts as it is. So does
    one that begins with the folder's own name, as an assembler that works in the folder above finds it.

    ``more`` is a text that counts as if each file contained it: macros that were given as options. Where names are
    ``computed``, files below ``parts_below`` count too if their names can be put together from words that occur
    somewhere. Only regular files are opened, and what cannot be read is left out.
    """
    found: set[tuple[str, str]] = set()
    paths: dict[Path, None] = {}
    waiting = [Path(os.path.abspath(start)) for start in starts]
    listings: dict[Path, frozenset[str]] = {}
    texts = [more]
    given, computed = _scanned(more)
    while waiting:
        path = waiting.pop()
        # Resolved: "../inc/a.h" in inc/a.h has a longer name each time round. With its folder: a link to a header
        # includes what lies next to the link.
        place = (os.path.realpath(path), os.path.realpath(path.parent))
        if place in found:
            paths[path] = None
            continue
        text = _text(path)
        if text is None:
            continue
        found.add(place)
        paths[path] = None
        texts.append(text)
        of_text, computes = _scanned(text)
        computed = computed or computes
        names = of_text | given
        for folder in dict.fromkeys((path.parent, *folders)):
            if folder not in listings:
                listings[folder] = _listing(folder)
            waiting += [folder / name for name in names & listings[folder]]
            longer = [name for name in names if "/" in name]
            waiting += [folder / name for name in longer if _may_be(folder, name, listings[folder])]
            waiting += [folder.parent / name for name in longer if name.startswith(f"{folder.name}/")]
    files = {Path(path) for path, _ in found}
    if computed and parts_below:
        tokens = {token for text in texts for token in _TOKEN.findall(text)}
        files |= {Path(os.path.realpath(file)) for file in _below(parts_below) if _is_made_of(tokens, file.name)}
    return Mentioned(tuple(sorted(files)), tuple(paths), computed)


@lru_cache(maxsize=256)
def _scanned(text: str) -> tuple[frozenset[str], bool]:
    """What may be names of files in ``text``, and whether macros make others; a command asks of a tree twice."""
    return frozenset(names_in(text)).union(_WORD.findall(text)), _COMPUTED.search(text) is not None


def _may_be(folder: Path, name: str, listing: frozenset[str]) -> bool:
    """Whether ``name``, which has a slash, is a file as seen from ``folder``."""
    first = name.partition("/")[0]
    if first not in listing and first not in ("", ".", ".."):
        return False
    try:
        return os.path.isfile(folder / name)
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str | None:
    """The text of a regular file, "" of one that is too large for a text or holds a NUL.

    ``None`` of what cannot be read, and of what the system makes up as it is read.
    """
    if path.parts[:2] in _MADE_UP:
        return None
    try:
        if path.stat().st_size > _MOST_TEXT:
            return "" if path.is_file() else None
        data = read_bytes(path, _MOST)
    except (OSError, ValueError):
        return None
    # A program mentions half of its machine, and no compiler includes one.
    return "" if b"\0" in data else normalised(data)


def _listing(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _is_made_of(tokens: Container[str], name: str) -> bool:
    """Whether ``name`` is some of ``tokens``, one after the other, as macros put them together."""
    ends = {0}
    for end in range(1, len(name) + 1):
        if any(name[start:end] in tokens for start in ends):
            ends.add(end)
    return len(name) in ends


def _below(roots: Iterable[Path]) -> list[Path]:
    """Regular files below ``roots``, without what is in folders whose name begins with a dot."""
    found = []
    for root in roots:
        for folder, inner, names in os.walk(root):
            inner[:] = [name for name in inner if not name.startswith(".")]
            found += [Path(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))]
    return found
