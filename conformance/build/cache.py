"""Compiled code objects, kept by the content of everything that can change them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from conformance.build.includes import reached
from conformance.build.options import NO_OPTIONS, BuildOptions
from conformance.build.sources import HEADER_SUFFIXES, KernelSource


class Compiler(Protocol):
    """What compiling needs of a device."""

    def compiler_identity(self) -> str: ...

    def compile(self, source: str, name: str, options: Sequence[str]) -> bytes: ...


def cache_folder() -> Path:
    """``$CANDLE_PARITY_CACHE``, else ``.cache/candle-parity`` beside the package."""
    chosen = os.environ.get("CANDLE_PARITY_CACHE")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[2] / ".cache" / "candle-parity"


def compiled(
    source: KernelSource, compiler: Compiler, options: BuildOptions = NO_OPTIONS, extra: Sequence[str] = ()
) -> bytes:
    """The code object of ``source``: from the cache, or compiled and kept; ``extra`` are further compiler options.

    The key covers the source, every header that it can include, the options, and the compiler with its target, so
    that no edit is missed. Headers are looked for beside the source, in the options' folders, then in the root. Two
    processes that want the same object wait for one compilation. Raises ``CompileError`` as the compiler does (failures
    are not kept), ``SourceError`` when the file cannot be read.
    """
    if source.is_code_object:
        return source.code()
    text = source.text()
    folder = cache_folder() / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    words = [*options.words((source.path.parent,), (source.root,)), *extra]
    entry = folder / f"{_key(source, text, compiler.compiler_identity(), words, options)}.co"
    if entry.is_file():
        return entry.read_bytes()
    with open(entry.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if entry.is_file():
            return entry.read_bytes()
        code = compiler.compile(text, source.label, words)
        _write_atomically(entry, code)
        return code


def _key(source: KernelSource, text: str, compiler: str, words: Sequence[str], options: BuildOptions) -> str:
    digest = hashlib.sha256()
    for part in (compiler, *words, str(source.path), text):
        digest.update(part.encode() + b"\0")
    folders = (*options.include_dirs, source.root)
    found = reached([source.path, *options.forced], (source.path.parent, *folders))
    headers = set(found.files)
    if not found.complete:
        headers |= {file for folder in folders for file in folder.rglob("*") if file.suffix in HEADER_SUFFIXES}
    for header in sorted(headers):
        if header.is_file():
            digest.update(str(header).encode() + b"\0" + header.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _write_atomically(entry: Path, code: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=entry.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(code)
    os.replace(name, entry)
