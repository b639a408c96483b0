"""Places in a port's sources as a reader at the terminal can open them.

A record names a file by the folder that was judged and the path in it, ``port/fill.hip:4``, wherever that folder lies,
so that records of several machines compare. At a terminal the same place is a path from the working directory,
``../port/fill.hip:4``, and a link where the terminal has them. A file that is not there (a record of another machine)
keeps the name that the record has.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from rich.style import Style
from rich.text import Text

from conformance.files import KERNELS, SHIPPED_KERNELS, kernels_folder
from conformance.record import RunInfo

_REST = r"/(?P<file>[\w.+/-]*\w)(?P<line>:\d+(?:-\d+)?)?"


@dataclass(frozen=True)
class Places:
    """Finds the files that a record names, from the folder ``root`` of the judged sources (absolute; ``None`` where
    unknown)."""

    root: Path | None = None
    _known: dict[str, Path | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, run: RunInfo) -> Places:
        """The places of a run, by the path in its record, which is relative to the working directory."""
        if run.kernels is None:
            return cls()
        if run.kernels in (KERNELS, SHIPPED_KERNELS):
            return cls.at(kernels_folder())
        return cls.at(Path(run.kernels))

    @classmethod
    def at(cls, path: Path) -> Places:
        """The places of the sources at ``path``, a folder or a file."""
        try:
            resolved = path.resolve()
        except ValueError:  # a stranger's record may have characters that no path has
            return cls()
        return cls(resolved.parent if resolved.is_file() else resolved)

    def relative(self, text: str) -> str:
        """``text`` with every place in it relative to the working directory."""
        return self._shown(text, links=False).plain

    def linked(self, text: str, style: str = "") -> Text:
        """``relative(text)`` as rich's ``Text``, in which each place is a link to the file."""
        return self._shown(text, links=True, style=style)

    def _shown(self, text: str, links: bool, style: str = "") -> Text:
        shown = Text(style=style)
        end = 0
        for match in self._matches(text):
            path = self._path(match["file"])
            if path is None:
                continue
            shown.append(text[end : match.start()])
            link = Style(link=f"file://{quote(str(path))}") if links else ""
            shown.append(f"{_from_here(path)}{match['line'] or ''}", style=link)
            end = match.end()
        return shown.append(text[end:])

    def _matches(self, text: str) -> list[re.Match[str]]:
        if self.root is None or not self.root.name:
            return []
        # Not within a longer path: what a command names is a path from the working directory already.
        return list(re.finditer(rf"(?<![\w./+-]){re.escape(self.root.name)}{_REST}", text))

    def _path(self, file: str) -> Path | None:
        """The file that is called ``file`` in ``root``, if it is there."""
        if file not in self._known:
            assert self.root is not None
            path = Path(os.path.normpath(self.root / file))
            self._known[file] = path if path.is_relative_to(self.root) and path.is_file() else None
        return self._known[file]


def _from_here(path: Path) -> str:
    """``path`` from the working directory, as a record shows it: absolute where it lies further away than next door."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith(f"..{os.sep}..{os.sep}") else str(path)


NOWHERE = Places()
