"""One digest for everything under a kernels path: two records are of the same sources when theirs are equal."""

from __future__ import annotations

import hashlib
from pathlib import Path

from conformance.build.includes import reached
from conformance.build.options import NO_OPTIONS, BuildOptions
from conformance.build.sources import CODE_OBJECT_SUFFIXES, HEADER_SUFFIXES, SOURCE_SUFFIXES

_SUFFIXES = (*HEADER_SUFFIXES, *CODE_OBJECT_SUFFIXES)


def tree_digest(path: Path, options: BuildOptions = NO_OPTIONS) -> str:
    """16 hexadecimal digits over names and contents of the sources, headers and code objects at ``path``, and over
    ``options``: macros, dialect, and the headers outside ``path`` that the sources reach through them.

    Raises ``OSError`` for a file that cannot be read.
    """
    root = path.resolve()
    files = [root] if root.is_file() else sorted(file for file in root.rglob("*") if file.suffix in _SUFFIXES)
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(
                f"{file.relative_to(root.parent if root.is_file() else root).as_posix()}\0{content}\0".encode()
            )
    if options != NO_OPTIONS:
        starts = [*options.forced, *(file for file in files if file.suffix in SOURCE_SUFFIXES)]
        outside = [file for file in reached(starts, options.include_dirs).files if file not in files]
        # By content alone: a record must not depend on where a shim lies.
        headers = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in outside)
        digest.update("\0".join([options.dialect, *options.defines, *headers]).encode())
    return digest.hexdigest()[:16]
