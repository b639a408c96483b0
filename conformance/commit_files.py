"""The files of a commit, written to a folder without git's checkout: no filter, no hook and no index is asked.

A stranger's repository is data. Its blobs are read from the object store one after the other, and written here as they
are. So a file is what the commit has: line ends are not converted, and what Git LFS would fetch is its pointer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.repository import LINK, MODULE, Entry, Repository, RepositoryError, TooLarge
from conformance.text import counted, some
from conformance.writing import make_links

MOST_BYTES = 64 << 20
"""Of one file: sources and code objects are smaller, and models that lie in a repository are larger."""

MOST_TOTAL = 1 << 30
"""Bytes of all files together, which is more than any port has. Some kilobytes of a repository can be as much: blobs
are compressed, and a file may be in the tree many times."""

_NAMED = 3
_LFS = b"version https://git-lfs.github.com/spec/v1\n"
_EXECUTABLE = "100755"


@dataclass(frozen=True)
class Written:
    """What a folder of ``write_files`` has otherwise than a git checkout: the paths of submodules, of files that Git
    LFS would fetch, of links that lead out of the tree, and of files with more than ``MOST_BYTES``."""

    modules: tuple[str, ...]
    pointers: tuple[str, ...]
    links: tuple[str, ...]
    large: tuple[str, ...]

    def sentences(self) -> Iterator[str]:
        """A sentence for the user for each kind of difference that occurs."""
        kinds = (
            (self.modules, "left out", "submodule", "of which other repositories have the files"),
            (self.pointers, "without content", "file", "of which the repository has only a pointer of Git LFS"),
            (self.links, "left out", "symbolic link", "out of the repository"),
            (self.large, "left out", "file", f"of more than {MOST_BYTES >> 20} MiB"),
        )
        for paths, what, kind, which in kinds:
            if paths:
                yield f"{what}: {counted(len(paths), kind)} {which} ({some(paths, _NAMED)})"


def write_files(repository: Repository, commit: str, folder: Path) -> Written:
    """Write the files of ``commit`` into the empty ``folder``; returns what is missing there.

    Raises ``RepositoryError`` where git cannot read an object (in a partial clone it may be absent) and for a tree with
    a path that no checkout could have; ``TooLarge`` as soon as the files written have more than ``MOST_TOTAL`` bytes
    together; ``OSError`` where a file cannot be written.
    """
    entries = repository.entries(["."], commit)
    _check(entries)
    links = [entry for entry in entries if entry.mode == LINK]
    files = [entry for entry in entries if entry.mode not in (LINK, MODULE)]
    pointers, large, total = [], [], 0
    for entry, content in repository.contents(files, MOST_BYTES):
        if content is None:
            large.append(entry.path)
            continue
        total += len(content)
        if total > MOST_TOTAL:
            raise TooLarge(
                f"{repository.top}: the files of {commit} have more than {MOST_TOTAL >> 20} MiB together, up to "
                f"{entry.path}; compare is for repositories of sources: take what is large out, or judge two checkouts "
                "by `candle-parity run --json` and `candle-parity diff`"
            )
        if content.startswith(_LFS):
            pointers.append(entry.path)
        file = folder / entry.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if entry.mode == _EXECUTABLE:
            file.chmod(0o755)
    targets = repository.contents(links, MOST_BYTES)
    outside = make_links(folder, {entry.path: os.fsdecode(content or b"") for entry, content in targets})
    modules = [entry.path for entry in entries if entry.mode == MODULE]
    return Written(tuple(modules), tuple(pointers), tuple(outside), tuple(large))


def _check(entries: Iterable[Entry]) -> None:
    """Raises ``RepositoryError`` for paths by which a file would be written elsewhere than below the folder. Git makes
    no such tree, but reads one."""
    seen: set[str] = set()
    folders: set[str] = set()
    for entry in entries:
        parts = entry.path.split("/")
        strange = any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        if strange or entry.path in seen or entry.path in folders or not seen.isdisjoint(above):
            raise RepositoryError(f"the commit has the path {entry.path!r}, which no checkout can have")
        seen.add(entry.path)
        folders.update(above)
