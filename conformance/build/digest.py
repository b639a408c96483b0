"""One digest for everything under a kernels path: two records are of the same sources when theirs are equal."""

from __future__ import annotations

import hashlib
from pathlib import Path

from conformance.build.sources import CODE_OBJECT_SUFFIXES, HEADER_SUFFIXES

_SUFFIXES = (*HEADER_SUFFIXES, *CODE_OBJECT_SUFFIXES)


def tree_digest(path: Path) -> str:
    """16 hexadecimal digits over names and contents of the sources, headers and code objects at ``path``.

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
    return digest.hexdigest()[:16]
