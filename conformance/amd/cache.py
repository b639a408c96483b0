"""Code objects kept by the content of every file that they were made from."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.amd.targets import Target
from conformance.amd.toolchain import Toolchain
from conformance.build.notices import warn
from conformance.files import cache_folder
from conformance.record.writing import write_bytes


@dataclass(frozen=True)
class Compiled:
    """A code object on disk; ``fresh`` when it was compiled now and not taken from the cache."""

    path: Path
    fresh: bool


def compile_cached(toolchain: Toolchain, source: Path, target: Target, options: Sequence[str] = ()) -> Compiled:
    """The code object of ``source`` for ``target``, in the cache folder.

    An entry holds the digest of each file that the compiler read, headers of the system included, and of the object
    itself, and is used while they are unchanged; ``take_warnings`` names an object that is damaged. Failures are not
    kept. Raises ``CompileFailure``.
    """
    words = (toolchain.identity, *toolchain.options, target.name, *options, str(source.resolve()))
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
    folder = cache_folder() / "amd"
    folder.mkdir(parents=True, exist_ok=True)
    code, listing = folder / f"{key}.hsaco", folder / f"{key}.json"
    with open(folder / f"{key}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if code.is_file() and _unchanged(listing, code):
            return Compiled(code, fresh=False)
        listing.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        os.close(handle)
        try:
            files = toolchain.compile(source, target, Path(name), options)
            os.replace(name, code)
        finally:
            Path(name).unlink(missing_ok=True)
        listing.write_text(json.dumps({str(file.resolve()): _digest(file) for file in (*files, code)}))
    return Compiled(code, fresh=True)


def _unchanged(listing: Path, code: Path) -> bool:
    """Whether the files that ``listing`` names are as they were, ``code`` among them."""
    try:
        files: Mapping[str, str] = json.loads(listing.read_text(encoding="utf-8"))
        own = files[str(code.resolve())]
        if any(_digest(Path(file)) != digest for file, digest in files.items() if Path(file) != code.resolve()):
            return False
        if _digest(code) != own:
            warn(f"{code} is damaged (its content is not what was written): it is compiled again")
            return False
    except (OSError, ValueError, KeyError, AttributeError):
        return False
    return True


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def place(code: Path, output: Path) -> None:
    """Copy a code object out of the cache in one step; raises ``RecordError`` where it cannot be written."""
    write_bytes(output, code.read_bytes())
