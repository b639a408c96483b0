"""Code objects for AMD targets, kept by the content of every file that they were made from."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.cache import ObjectFolder
from conformance.files import cache_folder
from conformance.port.code_objects import parse
from conformance.port.compiling.partly import PARTS, Broken, Refused, compile_partly, overlaid
from conformance.port.definitions.source_text import reached
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.toolchains.amd import SECONDS, CompileFailure, Toolchain
from conformance.toolchains.targets import Target

_MAIN = "hip/hip_runtime.h"
OF_HIPRTC = tuple(word for name in ("runtime", "fp16", "bfloat16") for word in ("-include", f"hip/hip_{name}.h"))
"""What hiprtc gives a source without an ``#include``."""

_BROKEN = "broken"
"""The key of an entry's listing that is not a file's."""

_RUNS = 3
"""Runs of a compiler that a compilation may take, each within its own limit."""


@dataclass(frozen=True)
class Compiled:
    """A code object; ``fresh`` when it was compiled now and not taken from the cache. ``broken`` are the kernels of the
    source that do not compile, and are not in it."""

    code: bytes
    fresh: bool
    broken: Mapping[str, Broken] = field(default_factory=dict)


def amd_objects() -> ObjectFolder:
    """Where the code objects are kept."""
    return ObjectFolder(cache_folder() / "amd")


def compile_for(
    toolchain: Toolchain, source: KernelSource, target: Target, options: BuildOptions, more: Sequence[str] = ()
) -> Compiled:
    """The code object of ``source`` for ``target``, or of what compiles of it, through the cache.

    A source without hip/hip_runtime.h that does not compile is tried with the headers that hiprtc supplies. Raises
    ``CompileFailure`` where no kernel compiles, or the errors lead to none, and ``SourceError``.
    """
    source.text()  # clang skips a NUL, at which hipRTC ends a source: neither verdict would hold for the other
    folders = dict.fromkeys((source.root, source.path.parent))
    words = [*(f"-I{folder}" for folder in folders), *options.compiler_flags(), *more]
    ways = [words]
    if not toolchain.minimal_headers and not is_for_hipcc(source, options):
        ways.append([*words, *OF_HIPRTC])
    failures: list[CompileFailure] = []
    for way in ways:
        try:
            return compile_cached(toolchain, source.path, target, way)
        except CompileFailure as failure:
            failures.append(failure)
    for way, failed in reversed(list(zip(ways, failures, strict=True))):
        rest = _compile_rest(toolchain, source, target, way, options, failed.log)
        if rest is not None and parse(rest.code, source.label).kernels:
            return rest
    raise failures[-1]


def is_for_hipcc(source: KernelSource, options: BuildOptions) -> bool:
    """Whether a source names HIP's main header; one that does not may be written for hiprtc, which supplies it."""
    starts, folders = (source.path, *options.forced), (source.path.parent, *options.include_dirs, source.root)
    return _MAIN in reached(starts, folders).hip or any(str(header) == _MAIN for header in options.forced)


def _compile_rest(
    toolchain: Toolchain, source: KernelSource, target: Target, words: Sequence[str], options: BuildOptions, log: str
) -> Compiled | None:
    """What compiles of a source that does not as a whole, by ``log``, and the kernels that do not."""
    key, objects = f"{_key(toolchain, source.path, target, words)}-rest-{PARTS}", amd_objects()
    with objects.turn(key, SECONDS) as ours:
        entry = objects.read(key)
        code = _unchanged(entry)
        if code is not None and entry is not None:
            broken = json.loads(entry.partition(b"\n")[0])[_BROKEN]
            return Compiled(code, False, {name: Broken(*row) for name, row in broken.items()})

        def compile_text(text: str, more: Sequence[str], seconds: float) -> tuple[bytes, list[Path]]:
            with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
                # In the place of the source, whose name stands in messages and decides what it includes.
                overlay = overlaid({source.path: text}, Path(folder))
                output = Path(folder, "code")
                every = [*words, *more, *overlay, "-ferror-limit=0"]
                try:
                    files = toolchain.compile(source.path, target, output, every)
                except CompileFailure as failure:
                    raise Refused(failure.log) from None
                return output.read_bytes(), files

        found = compile_partly(source, options, log, compile_text, SECONDS)
        if found is None:
            return None
        (code, files), broken = found
        if ours:
            objects.keep(key, _entry(files, code, {_BROKEN: broken}))
    return Compiled(code, True, broken)


def compile_cached(toolchain: Toolchain, source: Path, target: Target, options: Sequence[str] = ()) -> Compiled:
    """The code object of ``source`` for ``target``, through the cache.

    An entry holds the digest of each file that the compiler read, headers of the system included, and is used while
    they are unchanged; ``take_warnings`` names one that is damaged. Failures are not kept. Raises ``CompileFailure``.
    """
    key, objects = _key(toolchain, source, target, options), amd_objects()
    with objects.turn(key, _RUNS * SECONDS) as ours:
        code = _unchanged(objects.read(key))
        if code is not None:
            return Compiled(code, fresh=False)
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
            output = Path(folder, "code")
            files = toolchain.compile(source, target, output, options)
            code = output.read_bytes()
        if ours:
            objects.keep(key, _entry(files, code))
    return Compiled(code, fresh=True)


def _key(toolchain: Toolchain, source: Path, target: Target, options: Sequence[str]) -> str:
    words = (toolchain.identity, *toolchain.options, target.name, *options, str(source.resolve()))
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def _entry(files: Sequence[Path], code: bytes, more: Mapping[str, object] | None = None) -> bytes:
    listing = json.dumps({**{str(file.resolve()): _digest(file) for file in files}, **(more or {})})
    return listing.encode() + b"\n" + code


def _unchanged(entry: bytes | None) -> bytes | None:
    """The code in an entry, where the files that it was made from are as they were."""
    if entry is None:
        return None
    listing, _, code = entry.partition(b"\n")
    files: dict[str, str] = json.loads(listing)
    files.pop(_BROKEN, None)
    try:
        return code if all(_digest(Path(file)) == digest for file, digest in files.items()) else None
    except OSError:
        return None


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
