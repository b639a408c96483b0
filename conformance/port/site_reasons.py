"""Why some of a port's machine code is executed by no case: ``sites.yaml`` at the root of the port's tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from conformance.port.line_tables import Frame
from conformance.port.sources import KernelSource
from conformance.spec.nodes import Document, read_document

NAME = "sites.yaml"

_WORDS = ("name", "why", "tested")
_LISTS = ("functions", "text", "kernels", "targets")
_KEYS = (*_WORDS, *_LISTS, "file")
_NEEDED = (*_WORDS, "functions", "file")


@dataclass(frozen=True)
class SiteReason:
    """What no case reaches: code of one of ``functions`` in ``file``, also where it is inlined elsewhere.

    ``text`` has parts of the source lines; without them every line of these functions is meant. ``targets`` names
    those that have such code, ``kernels`` patterns of the kernels; none: all.
    """

    name: str
    why: str
    tested: str
    functions: tuple[str, ...]
    file: str
    text: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    line: int = 0
    """Where the row is in its file."""

    def covers(self, frames: Sequence[Frame], source: KernelSource) -> bool:
        """Whether the code at ``frames``, the innermost first, is meant. ``source`` is what was compiled."""
        if self.kernels and not any(fnmatchcase(frames[-1].plain, pattern) for pattern in self.kernels if frames):
            return False
        return any(
            frame.plain in self.functions
            and (frame.file if frame.file.startswith("/") else source.label).endswith(f"/{self.file}")
            and (not self.text or self._means(_line(source.root / self.file, frame.line)))
            for frame in frames
        )

    def _means(self, line: str) -> bool:
        return any(text in line for text in self.text)


def read_site_reasons(root: Path) -> tuple[SiteReason, ...]:
    """The rows of ``sites.yaml`` in the folder ``root``; none where it has no such file.

    Raises ``SpecError`` for a row that is not well-formed, and for one that names a function or a text that its file
    does not have.
    """
    path = root / NAME
    if not path.is_file():
        return ()
    document = read_document(path)
    if not isinstance(document.data, list) or not document.data:
        raise document.error((), "is not a list of rows", f"each has {', '.join(_NEEDED)}")
    rows = tuple(_row(document, number, root) for number in range(len(document.data)))
    for number, row in enumerate(rows):
        if any(row.name == other.name for other in rows[:number]):
            raise document.error((number,), f"two rows are called {row.name!r}", "give each a name of its own")
    return rows


def unused(rows: Sequence[SiteReason], root: Path, target: str, explained: set[str]) -> list[str]:
    """A sentence for each of ``rows`` that says of code for ``target`` what no longer holds: that some of it, and none
    is in ``explained``, is not executed."""
    return [
        f"{root.name}/{NAME}:{row.line}: {row.name!r} explains nothing for {target}: every instruction that it "
        "names is executed, explained by a row above, or not there; take the row out, or give it the targets it is for"
        for row in rows
        if row.name not in explained and target in (row.targets or (target,))
    ]


def _row(document: Document, number: int, root: Path) -> SiteReason:
    row = document.data[number]
    if not isinstance(row, dict):
        raise document.error((number,), "is not a row", f"give a mapping with {', '.join(_NEEDED)}")
    for key in row:
        if key not in _KEYS:
            raise document.error((number, key), f"unknown key {key!r}", f"expected one of {', '.join(_KEYS)}")
    for key in _NEEDED:
        if key not in row:
            raise document.error((number,), f"lacks {key!r}", f"a row has {', '.join(_NEEDED)}")
    if isinstance(row.get("text"), str):
        row = {**row, "text": [row["text"]]}
    for key in _LISTS:
        value = row.get(key, ["-"])
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
            raise document.error((number, key), f"{key!r} is not a list of names", "give [name, ...]")
    for key in (*_WORDS, "file"):
        if not isinstance(row.get(key, "-"), str) or not row.get(key, "-").strip():
            raise document.error((number, key), f"{key!r} is not text", "give a line of text")
    _check_file(document, number, row, root)
    lists = {key: tuple(row.get(key, ())) for key in _LISTS}
    return SiteReason(**{**row, **lists, "line": document.line((number,))})


def _check_file(document: Document, number: int, row: dict[str, object], root: Path) -> None:
    file = root / str(row["file"])
    if not file.resolve().is_relative_to(root.resolve()) or not file.is_file():
        raise document.error((number, "file"), f"there is no {row['file']!r} in {root.name}", "name a file of the port")
    text = _text(file)
    functions = row["functions"]
    for name in functions if isinstance(functions, list) else ():
        if not re.search(rf"\b{re.escape(name)}\(", text):
            raise document.error((number, "functions"), f"{row['file']} has no function {name!r}", "name one of its")
    parts = row.get("text")
    for part in parts if isinstance(parts, list) else ():
        if not any(part in line for line in text.splitlines()):
            raise document.error((number, "text"), f"no line of {row['file']} has {part!r}", "copy a part of one")


@lru_cache(maxsize=64)
def _lines(file: Path) -> tuple[str, ...]:
    return tuple(_text(file).splitlines())


def _line(file: Path, number: int) -> str:
    """Line ``number`` of ``file``, from 1; empty where there is none."""
    lines = _lines(file)
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _text(file: Path) -> str:
    return KernelSource(file, file.parent).text()
