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
from conformance.port.compiling.keys import KeptObjects, TreeFolders, Watch, first_key, settle
from conformance.port.compiling.partly import PARTS, Broken, TextRefused, compile_partly, overlaid
from conformance.port.compiling.reads import Reads
from conformance.port.definitions.source_text import reached
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import KernelSource
from conformance.toolchains.amd import SECONDS, AmdToolchain, CompileFailure
from conformance.toolchains.targets import AmdTarget

_MAIN = "hip/hip_runtime.h"
OF_HIPRTC = tuple(word for name in ("runtime", "fp16", "bfloat16") for word in ("-include", f"hip/hip_{name}.h"))
"""What hiprtc gives a source without an ``#include``."""

_RUNS = 3
"""Runs of a compiler that a compilation may take, each within its own limit."""


@dataclass(frozen=True)
class AmdCode:
    """A code object for an AMD target.

    ``fresh`` says that it was compiled now and not taken from the cache. ``broken`` are the kernels of the source that
    do not compile and are missing from it.
    """

    code: bytes
    fresh: bool
    broken: Mapping[str, Broken] = field(default_factory=dict)


def amd_objects() -> ObjectFolder:
    """The cache folder of code objects for AMD targets."""
    return ObjectFolder(cache_folder() / "amd")


def compile_for(
    toolchain: AmdToolchain, source: KernelSource, target: AmdTarget, options: BuildOptions, more: Sequence[str] = ()
) -> AmdCode:
    """The code object of ``source`` for ``target``, through the cache. Kernels that do not compile are left out.

    A source that does not include hip/hip_runtime.h and does not compile is tried again with the headers that hiprtc
    supplies. Raises ``CompileFailure`` where nothing compiles or the errors do not lead to single kernels, and
    ``SourceError``.
    """
    source.text()  # clang skips a NUL, at which hipRTC ends a source: neither verdict would hold for the other
    tree = _Tree.of(source, options)
    folders = dict.fromkeys((source.root, source.path.parent))
    flags = tree.place.relative_flags([*(f"-I{folder}" for folder in folders), *options.compiler_flags(), *more])
    ways = [flags]
    if not toolchain.minimal_headers and not is_for_hipcc(source, options):
        ways.append([*flags, *OF_HIPRTC])
    failures: list[CompileFailure] = []
    watch = Watch(tree.place, tree.starts)
    for way in ways:
        try:
            return _compile(toolchain, tree, target, way)
        except CompileFailure as failure:
            failures.append(failure)
    for way, failed in reversed(list(zip(ways, failures, strict=True))):
        rest = _compile_rest(toolchain, tree, target, way, options, failed.log, watch)
        if rest is not None and parse(rest.code, source.label).kernels:
            return rest
    raise failures[-1]


def is_for_hipcc(source: KernelSource, options: BuildOptions) -> bool:
    """Whether a source includes HIP's main header. One that does not may be meant for hiprtc, which supplies it."""
    starts, folders = (source.path, *options.forced), (source.path.parent, *options.include_dirs, source.root)
    return _MAIN in reached(starts, folders).hip or any(str(header) == _MAIN for header in options.forced)


@dataclass(frozen=True)
class _Tree:
    """A source, the headers that are forced on it, and where it lies."""

    source: KernelSource
    place: TreeFolders
    forced: tuple[Path, ...] = ()

    @classmethod
    def of(cls, source: KernelSource, options: BuildOptions) -> _Tree:
        forced = tuple(header for header in options.forced if header.is_absolute())
        return cls(source, TreeFolders.of(source, options), forced)

    @property
    def starts(self) -> tuple[Path, ...]:
        return (self.source.path, *self.forced)

    @property
    def name(self) -> Path:
        """The source as its compiler is given it, in the folder above the root."""
        path = self.source.path.relative_to(self.place.base)
        return self.source.path if str(path).startswith("-") else path  # else it would be an option

    def key(self, toolchain: AmdToolchain, target: AmdTarget, flags: Sequence[str]) -> str:
        """What is known of an object before its compiler has read a file, the source among them."""
        return first_key("\0".join((toolchain.identity, *toolchain.options, target.name)), flags, self.source.label, "")

    def flags(self) -> list[str]:
        """What makes the code the same wherever the tree lies."""
        unit = hashlib.sha256(self.source.label.encode()).hexdigest()[:16]
        return ["-fdebug-compilation-dir=.", f"-cuid={unit}"]


def _compile_rest(
    toolchain: AmdToolchain,
    tree: _Tree,
    target: AmdTarget,
    flags: Sequence[str],
    options: BuildOptions,
    log: str,
    watch: Watch,
) -> AmdCode | None:
    """What compiles of a source that does not as a whole, by ``log``, and the kernels that do not.

    ``watch`` began before the compilation that wrote the log.
    """
    key, folder = f"{tree.key(toolchain, target, flags)}-rest-{PARTS}", amd_objects()
    objects = KeptObjects(folder, tree.place)
    with folder.turn(key, SECONDS) as ours:
        entry = objects.find(key)
        if entry is not None:
            listing, _, code = entry.partition(b"\n")
            return AmdCode(code, False, {name: Broken(*row) for name, row in json.loads(listing).items()})

        def compilation(reads: Reads) -> tuple[bytes, dict[str, Broken]] | None:
            def compile_text(text: str, more: Sequence[str], seconds: float) -> bytes:
                with tempfile.TemporaryDirectory(prefix="candle-parity-") as temporary:
                    # In the place of the source, whose name stands in messages and decides what it includes.
                    overlay = overlaid({tree.source.path: text}, Path(temporary))
                    output = Path(temporary, "code")
                    every = [*flags, *tree.flags(), *more, *overlay, "-ferror-limit=0"]
                    try:
                        reads.add(toolchain.compile(tree.name, target, output, every, tree.place.base))
                    except CompileFailure as failure:
                        reads.add(failure.files)
                        raise TextRefused(failure.log) from None
                    return output.read_bytes()

            return compile_partly(tree.source, options, log, compile_text, SECONDS)

        found, manifest = settle(tree.place, tree.starts, "", compilation, ())
        if found is None:
            return None
        code, broken = found
        if ours and manifest is not None and not watch.has_seen_change(manifest.files):
            objects.keep(key, manifest, json.dumps(broken).encode() + b"\n" + code)
    return AmdCode(code, True, broken)


def compile_cached(toolchain: AmdToolchain, source: Path, target: AmdTarget, options: Sequence[str] = ()) -> AmdCode:
    """The code object of the file ``source`` for ``target``, through the cache; ``options`` are words of the compiler.

    The cache knows an object by every file that the compiler read, the system's headers included (``compiling.keys``),
    and uses it while they are unchanged. ``take_warnings`` names one that was damaged. Failures are not kept. Raises
    ``CompileFailure``.
    """
    path = source.resolve()
    alone = KernelSource(path, path.parent)
    return _compile(toolchain, _Tree.of(alone, NO_OPTIONS), target, options)


def _compile(toolchain: AmdToolchain, tree: _Tree, target: AmdTarget, flags: Sequence[str]) -> AmdCode:
    key, folder = tree.key(toolchain, target, flags), amd_objects()
    objects = KeptObjects(folder, tree.place)

    def compilation(reads: Reads) -> bytes:
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as temporary:
            output = Path(temporary, "code")
            try:
                every = [*flags, *tree.flags()]
                reads.add(toolchain.compile(tree.name, target, output, every, tree.place.base))
            except CompileFailure as failure:
                reads.add(failure.files)
                raise
            return output.read_bytes()

    with folder.turn(key, _RUNS * SECONDS) as ours:
        code = objects.find(key)
        if code is not None:
            return AmdCode(code, fresh=False)
        fresh, manifest = settle(tree.place, tree.starts, "", compilation, (CompileFailure,))
        if ours and manifest is not None:
            objects.keep(key, manifest, fresh)
    return AmdCode(fresh, fresh=True)
