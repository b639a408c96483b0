"""One digest for everything under a kernels path: two records are of the same sources when theirs are equal."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.port.compiling.reads import environment_folders
from conformance.port.definitions.mentioned import mentioned
from conformance.port.definitions.source_text import reached
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import CODE_OBJECT_SUFFIXES, HEADER_SUFFIXES, MOST_CODE, SOURCE_SUFFIXES, SourceError
from conformance.reading import read_bytes

_SUFFIXES = (*HEADER_SUFFIXES, *CODE_OBJECT_SUFFIXES)


def tree_digest(path: Path, options: BuildOptions = NO_OPTIONS) -> str:
    """A digest (16 hexadecimal digits) of the sources, headers and code objects at ``path``, their names, and
    ``options``.

    ``options`` count with macros, dialect, standard, and the headers outside of ``path`` that sources reach through
    them. Every other file that the sources mention counts too (``mentioned``): a header without a suffix, embedded
    data. A file that cannot be read counts as such; its kernels report the consequence.
    """
    root = path.resolve()
    files = _files(root)
    digest = hashlib.sha256()
    base = root.parent if root.is_file() else root
    for file in files:
        if file.is_file():
            digest.update(f"{file.relative_to(base).as_posix()}\0{_content(file)}\0".encode())
    starts = _starts(files, options)
    known = set(files)
    if options != NO_OPTIONS:
        outside = [file for file in _reached(starts, options.include_dirs) if file not in known]
        # By content alone: a record must not depend on where a shim lies.
        headers = sorted(map(_content, outside))
        extra = [f"-U{name}" for name in options.undefines] + ([] if options.std is None else [options.std])
        extra += [*options.flags, *(str(header) for header in options.forced if not header.is_absolute())]
        digest.update("\0".join([options.dialect, *options.defines, *extra, *headers]).encode())
        known |= set(outside)
    folders = (*options.include_dirs, base, *environment_folders())
    for file in mentioned(starts, folders, "\n".join(options.defines), (base, *options.include_dirs)).files:
        if file not in known:
            # A name where a tree has it; outside, content alone, as above.
            name = file.relative_to(base).as_posix() if file.is_relative_to(base) else ""
            digest.update(f"mentioned\0{name}\0{_content(file)}\0".encode())
    return digest.hexdigest()[:16]


def files_of(path: Path, options: BuildOptions = NO_OPTIONS) -> set[Path]:
    """The files that a run of the kernels at ``path`` reads: sources, headers and code objects there, and what the
    sources reach through ``options``. The paths may be links."""
    files = _files(path.resolve())
    return {*files, *_reached(_starts(files, options), options.include_dirs)}


def _files(root: Path) -> list[Path]:
    return [root] if root.is_file() else sorted(_below(root))


def _starts(files: Sequence[Path], options: BuildOptions) -> list[Path]:
    return [*options.forced, *(file for file in files if file.suffix in SOURCE_SUFFIXES)]


def _below(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        yield from (Path(folder, name) for name in names if os.path.splitext(name)[1] in _SUFFIXES)


def _content(file: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(file, MOST_CODE)).hexdigest()
    except OSError:
        return "unreadable"


def _reached(starts: Sequence[Path], folders: Sequence[Path]) -> tuple[Path, ...]:
    try:
        return reached(starts, folders).files
    except SourceError:
        return ()
