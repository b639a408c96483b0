"""Code objects for AMD targets, kept by the content of every file that they were made from."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.cache import ObjectFolder
from conformance.files import cache_folder
from conformance.toolchains.amd import SECONDS, Toolchain
from conformance.toolchains.targets import Target

_RUNS = 3
"""Runs of a compiler that a compilation may take, each within its own limit."""


@dataclass(frozen=True)
class Compiled:
    """A code object; ``fresh`` when it was compiled now and not taken from the cache."""

    code: bytes
    fresh: bool


def amd_objects() -> ObjectFolder:
    """Where the code objects are kept."""
    return ObjectFolder(cache_folder() / "amd")


def compile_cached(toolchain: Toolchain, source: Path, target: Target, options: Sequence[str] = ()) -> Compiled:
    """The code object of ``source`` for ``target``, through the cache.

    An entry holds the digest of each file that the compiler read, headers of the system included, and is used while
    they are unchanged; ``take_warnings`` names one that is damaged. Failures are not kept. Raises ``CompileFailure``.
    """
    words = (toolchain.identity, *toolchain.options, target.name, *options, str(source.resolve()))
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
    objects = amd_objects()
    with objects.turn(key, _RUNS * SECONDS) as ours:
        code = _unchanged(objects.read(key))
        if code is not None:
            return Compiled(code, fresh=False)
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
            output = Path(folder, "code")
            files = toolchain.compile(source, target, output, options)
            code = output.read_bytes()
        if ours:
            listing = json.dumps({str(file.resolve()): _digest(file) for file in files})
            objects.keep(key, listing.encode() + b"\n" + code)
    return Compiled(code, fresh=True)


def _unchanged(entry: bytes | None) -> bytes | None:
    """The code in an entry, where the files that it was made from are as they were."""
    if entry is None:
        return None
    listing, _, code = entry.partition(b"\n")
    files: Mapping[str, str] = json.loads(listing)
    try:
        return code if all(_digest(Path(file)) == digest for file, digest in files.items()) else None
    except OSError:
        return None


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
