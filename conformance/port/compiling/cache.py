"""Compiled code objects, kept by the content of everything that can change them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.cache import ObjectFolder
from conformance.files import cache_folder
from conformance.port.compiling.choice import CompilerChoice, refused_by_both, refused_by_hiprtc, toolchain_for
from conformance.port.compiling.in_child import STOPPED, MissingHeaders, compile_in_child
from conformance.port.compiling.target import Limits, Target
from conformance.port.includes import reached
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import HEADER_SUFFIXES, KernelSource, SourceError
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import CompileError

if TYPE_CHECKING:
    from conformance.toolchains.amd import Toolchain

_PATIENCE = 30.0
"""Seconds beyond a compilation's own limit that a process waits for another's."""


@dataclass(frozen=True)
class Made:
    """A code object and who compiled it: ``hiprtc``, or ``hipcc``, which is called ``name`` in full.

    Neither for a file that was a code object before.
    """

    code: bytes
    compiler: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class _Way:
    """A compiler for one source: where its object is kept, and how it is made."""

    compiler: str
    name: str | None
    key: str
    make: Callable[[], bytes]


def made(
    source: KernelSource,
    target: Target,
    supervisor: Supervisor,
    options: BuildOptions = NO_OPTIONS,
    extra: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    compiler: CompilerChoice = "hiprtc",
) -> Made:
    """The code object of ``source``: from the cache, or compiled in a child process and kept.

    ``extra`` are further compiler options. ``compiler`` is ``hiprtc``, ``hipcc`` or ``auto``: hiprtc, and hipcc where
    that refuses the source. The key covers the source, every header that it can include, the options, and the compiler
    with its target, so that no edit is missed; under ``auto`` an object of hipcc is bound to both compilers. Headers
    are looked for next to the source, in the options' folders, then in the root. Processes that want the same object
    wait for one compilation, within the limits, which are of each compiler.

    Raises ``CompileError`` when the source does not compile, which is so too when it takes the compiler down or beyond
    its limits (failures are not kept), ``SourceError`` when a file cannot be read, and ``InfrastructureError`` when the
    machine cannot compile. A cache that is damaged or cannot be written is only told by ``take_warnings``.
    """
    if source.is_code_object:
        return Made(source.code())
    plan = _Plan(source, target, supervisor, options, extra, limits)
    objects = ObjectFolder(cache_folder() / "objects")
    found = _kept(plan.ways(compiler), objects)
    if found is not None:
        return found
    first = next(plan.ways(compiler))
    tries = 2 if compiler == "auto" else 1
    with objects.turn(first.key, tries * limits.seconds + _PATIENCE) as ours:
        found = _kept(plan.ways(compiler), objects) if ours else None
        if found is None:
            way, code = _first_that_compiles(source.label, plan.ways(compiler), compiler)
            found = Made(code, way.compiler, way.name)
            if ours:
                objects.keep(way.key, code)
    return found


def _kept(ways: Iterator[_Way], objects: ObjectFolder) -> Made | None:
    for way in ways:
        code = objects.read(way.key)
        if code is not None:
            return Made(code, way.compiler, way.name)
    return None


def _first_that_compiles(label: str, ways: Iterator[_Way], compiler: CompilerChoice) -> tuple[_Way, bytes]:
    """The first way that leads to code; raises what the ways end in, and of two refusals both."""
    way = next(ways)
    try:
        return way, way.make()
    except (CompileError, MissingHeaders) as error:
        # The limit of time is for a file.
        if compiler != "auto" or (isinstance(error, CompileError) and error.log.startswith(STOPPED)):
            raise
        refusal = error
    other = next(ways, None)
    if other is None:
        raise CompileError(label, refused_by_hiprtc(refusal.log)) if isinstance(refusal, CompileError) else refusal
    try:
        return other, other.make()
    except CompileError as error:
        if isinstance(refusal, MissingHeaders):
            raise  # the one that has the headers has judged
        log = refused_by_both(refusal.log, error.log, other.name or other.compiler)
        raise CompileError(label, log) from None


class _Plan:
    """What compiling a source for a target takes, whoever does it."""

    def __init__(
        self,
        source: KernelSource,
        target: Target,
        supervisor: Supervisor,
        options: BuildOptions,
        extra: Sequence[str],
        limits: Limits,
    ) -> None:
        self._source, self._target, self._supervisor, self._limits = source, target, supervisor, limits
        self._text = source.text()
        self._words = [*options.compiler_flags((source.path.parent,), (source.root,)), *extra]
        self._headers = _headers(source, options, runtime_kind(target.runtime).stand_ins)

    def ways(self, compiler: CompilerChoice) -> Iterator[_Way]:
        """The compilers to try in turn; a search for hipcc begins only when it is asked for."""
        source, target = self._source, self._target
        if compiler != "hipcc":
            words = [*self._words, *target.words()]
            yield _Way("hiprtc", None, self._key(target.identity, words), lambda: self._compile(words))
        if compiler != "hiprtc":
            toolchain = toolchain_for(target.arch)
            if toolchain is None and compiler == "auto":
                return
            if toolchain is None:
                raise InfrastructureError(
                    f"{source.label} cannot be compiled: there is no hipcc for {target.arch}; install "
                    "ROCm's, or take --compiler hiprtc"
                )
            bound = target.identity if compiler == "auto" else ""
            identity = "\0".join((bound, toolchain.identity, *toolchain.options, target.arch))
            key = self._key(identity, self._words)
            yield _Way("hipcc", toolchain.name, key, lambda: self._compile(self._words, toolchain))

    def _compile(self, words: Sequence[str], toolchain: Toolchain | None = None) -> bytes:
        return compile_in_child(
            self._text, self._source.label, words, self._target, self._supervisor, self._limits, toolchain
        )

    def _key(self, compiler: str, words: Sequence[str]) -> str:
        digest = hashlib.sha256()
        for part in (compiler, *words, str(self._source.path), self._text):
            digest.update(part.encode() + b"\0")
        digest.update(self._headers)
        return digest.hexdigest()[:32]


def _headers(source: KernelSource, options: BuildOptions, own: Sequence[Path]) -> bytes:
    """Names and contents of the headers that ``source`` can include, those in ``own`` folders of the harness too."""
    content: list[bytes] = []
    folders = (*options.include_dirs, source.root)
    try:
        places = (source.path.parent, *folders, *own)
        forced = [place / header for header in options.forced for place in places if (place / header).is_file()]
        found = reached([source.path, *forced], places)
        headers = set(found.files)
        if not found.complete:
            headers |= {file for folder in folders for file in folder.rglob("*") if file.suffix in HEADER_SUFFIXES}
        for header in sorted(headers):
            if header.is_file():
                content.append(str(header).encode() + b"\0" + header.read_bytes() + b"\0")
    except OSError as error:
        raise SourceError(
            f"{error.filename}: cannot be read ({error.strerror}), and {source.label} may include it"
        ) from error
    return b"".join(content)
