"""One digest for a folder of specs: two runs have the same kernels to meet when theirs are equal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def specs_digest(paths: Iterable[Path]) -> str:
    """16 hexadecimal digits over the names and bytes of the spec files ``paths``. Raises ``OSError``."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        digest.update(
            f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode(errors="surrogateescape")
        )
    return digest.hexdigest()[:16]
