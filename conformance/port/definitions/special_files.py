"""FIFOs and devices in a port's folders: a compiler that opens one waits for its writer, or reads without end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from conformance.port.definitions.source_text import MOST, ScanError, reached
from conformance.reading import kind_of, read_bytes


def refuse_special_files(path: Path, folders: Sequence[Path], forced: Sequence[Path]) -> None:
    """Raises ``ScanError`` where the source ``path``, one of its headers or one of ``forced`` may name a FIFO or a
    device that lies below ``folders``.

    Every way to name one counts, where ``refuse_special`` only sees a plain ``#include``. A name that a macro makes may
    be any name.
    """
    special = _special_files((path.parent, *folders))
    if not special:
        return
    files = reached([path, *forced], folders)
    texts = [_content(file) for file in files.files]
    for file in special:
        if not files.complete or any(os.fsencode(file.name) in text for text in texts):
            raise ScanError(path, None, f"may include {file.name}, which is {kind_of(file)}; remove {file}")


@lru_cache(16)
def _special_files(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(file for folder in dict.fromkeys(folders) for file in _below(folder))


def _below(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False) and kind_of(Path(entry.path)) not in (None, "a folder"):
                yield Path(entry.path)


def _content(file: Path) -> bytes:
    try:
        return read_bytes(file, MOST)
    except OSError:
        return b""
