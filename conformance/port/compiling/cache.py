"""Compiled code objects, kept by the content of everything that can change them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conformance.cache import ObjectFolder
from conformance.files import cache_folder
from conformance.port.amd_cache import OF_HIPRTC, is_for_hipcc
from conformance.port.compiling.diagnostics import COMPILER_LOST
from conformance.port.compiling.in_child import Unsupported, compile_in_child
from conformance.port.compiling.partly import PARTS, Broken, Refused, compile_partly
from conformance.port.compiling.target import Limits, Target, refused_by_both, refused_by_hiprtc, toolchain_for
from conformance.port.definitions.source_text import reached
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import HEADER_SUFFIXES, KernelSource, SourceError
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import CompileError
from conformance.settings import CompilerChoice
from conformance.toolchains.targets import wave_macros

if TYPE_CHECKING:
    from conformance.toolchains.amd import Toolchain
    from conformance.toolchains.libraries import LibraryCompiler

_PATIENCE = 30.0
"""Seconds beyond a compilation's own limit that a process waits for another's."""

_WAVE_MACRO = b"__AMDGCN_WAVEFRONT_SIZE"
"""Only what mentions it is compiled anew for another size of waves."""


@dataclass(frozen=True)
class Made:
    """A code object and who compiled it: ``hiprtc``, or ``hipcc``, which is called ``name`` in full.

    Neither for a file that was a code object before. ``broken`` are the kernels of the source that do not compile, and
    are not in ``code``.
    """

    code: bytes
    compiler: str | None = None
    name: str | None = None
    broken: Mapping[str, Broken] = field(default_factory=dict)


@dataclass(frozen=True)
class _Way:
    """A compiler for one source (without ``toolchain`` hiprtc), its options, and where its object is kept."""

    compiler: str
    key: str
    words: Sequence[str]
    toolchain: Toolchain | LibraryCompiler | None = None

    @property
    def name(self) -> str | None:
        return None if self.toolchain is None else self.toolchain.name

    @property
    def rest(self) -> str:
        """Where the object of what compiles of a source is kept, with what does not."""
        return f"{self.key}-rest-{PARTS}"


def made(
    source: KernelSource,
    target: Target,
    supervisor: Supervisor,
    options: BuildOptions = NO_OPTIONS,
    extra: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    compiler: CompilerChoice = "hiprtc",
    library: LibraryCompiler | None = None,
    launchers: bool = False,
) -> Made:
    """The code object of ``source``: from the cache, or compiled in a child process and kept.

    With ``library`` it is a shared library, which that compiler makes whatever ``compiler`` says. With ``launchers`` a
    launcher that does not compile costs no other.

    ``extra`` are further compiler options. ``compiler`` is ``hiprtc``, ``hipcc`` or ``auto``: hiprtc, and hipcc where
    that refuses the source. The key covers the source, every header that it can include, the options, and the compiler
    with its target, so that no edit is missed; under ``auto`` an object of hipcc is bound to both compilers. Headers
    are looked for next to the source, in the options' folders, then in the root. Processes that want the same object
    wait for one compilation, within the limits, which are of each compiler. Of a source that does not
    compile as a whole it is the object of what does, where the errors lead to kernels (``compile_partly``).

    Raises ``CompileError`` when nothing of the source compiles, which is so too when it takes the compiler down or
    beyond its memory (failures are not kept), ``SourceError`` when a file cannot be read, and ``InfrastructureError``
    when the machine cannot compile, or not in time. A cache that is damaged or cannot be written only leads to a
    warning (``take_warnings``).
    """
    if source.is_code_object:
        return Made(source.code())
    plan = _Plan(source, target, supervisor, options, extra, limits, library, launchers)
    objects = ObjectFolder(cache_folder() / "objects")
    found = _kept(plan, compiler, objects)
    if found is not None:
        return found
    first = next(plan.ways(compiler))
    tries = 4 if compiler == "auto" else 2
    with objects.turn(first.key, tries * limits.wall + _PATIENCE) as ours:
        found = _kept(plan, compiler, objects) if ours else None
        if found is None:
            key, found = plan.compiled(compiler)
            if ours:
                listing = json.dumps(found.broken).encode() + b"\n" if found.broken else b""
                objects.keep(key, listing + found.code)
    return found


@dataclass(frozen=True)
class Text:
    """What is compiled in place of the text of a source, with further ``words`` as options."""

    text: str
    words: tuple[str, ...] = ()


def made_of(
    texts: Sequence[Text],
    source: KernelSource,
    target: Target,
    supervisor: Supervisor,
    options: BuildOptions = NO_OPTIONS,
    extra: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    compiler: CompilerChoice = "hiprtc",
) -> Made | None:
    """The code object of the first of ``texts`` of ``source`` that is kept, else of the last one, compiled.

    ``None`` where that does not compile, which is remembered: nothing is known of the source itself then. The rest is
    as in ``made``, but that no part of a text is compiled, and that of ``auto`` only hiprtc is asked. Raises
    ``SourceError`` and ``InfrastructureError``.
    """
    of_one: CompilerChoice = "hiprtc" if compiler == "auto" else compiler
    plans = [
        _Plan(source, target, supervisor, options, [*extra, *each.words], limits, text=each.text) for each in texts
    ]
    objects = ObjectFolder(cache_folder() / "objects")
    for plan in plans:
        found = _kept(plan, of_one, objects)
        if found is not None:
            return found
    key = next(plans[-1].ways(of_one)).key
    refused = f"{key}-refused"
    if objects.read(refused) is not None:
        return None
    with objects.turn(key, 2 * limits.wall + _PATIENCE) as ours:
        if ours:  # another process may have made it meanwhile
            found = _kept(plans[-1], of_one, objects)
            if found is not None or objects.read(refused) is not None:
                return found
        # Under ``auto`` hipcc compiles what hiprtc is not installed for, but the whole of it.
        with suppress(CompileError, *((Unsupported,) if compiler == "auto" else ())):
            found = plans[-1].compiled_whole(of_one)
        if ours:
            objects.keep(refused if found is None else key, b"" if found is None else found.code)
    return found


def _kept(plan: _Plan, compiler: CompilerChoice, objects: ObjectFolder) -> Made | None:
    for way in plan.ways(compiler):
        code = objects.read(way.key)
        if code is not None:
            return Made(code, way.compiler, way.name)
    for way in plan.ways(compiler):
        entry = objects.read(way.rest)
        if entry is not None:
            listing, _, code = entry.partition(b"\n")
            broken = {name: Broken(*row) for name, row in json.loads(listing).items()}
            return Made(code, way.compiler, way.name, broken)
    return None


@dataclass
class _Plan:
    """What compiling a source for a target takes, whoever does it."""

    source: KernelSource
    target: Target
    supervisor: Supervisor
    options: BuildOptions
    extra: Sequence[str]
    limits: Limits
    library: LibraryCompiler | None = None
    launchers: bool = False
    text: str | None = None
    """What is compiled in place of the source's text."""

    def __post_init__(self) -> None:
        source, kind = self.source, runtime_kind(self.target.runtime)
        self._refusals: dict[str, str] = {}
        self._text = source.text() if self.text is None else self.text
        self._headers = _headers(source, self.options)
        if kind.chooses_wave and self.target.wave is not None and _WAVE_MACRO in self._headers:
            self.options = replace(self.options, defines=(*wave_macros(self.target.wave), *self.options.defines))
        # Where no hiprtc is to be had, hipcc also compiles what was written for it.
        alone = kind.compiler == "hipcc" and self.library is None and not is_for_hipcc(source, self.options)
        self._supplied = OF_HIPRTC if alone else ()
        self._words = [*self.options.compiler_flags((source.path.parent,), (source.root,)), *self.extra]

    def compiled(self, compiler: CompilerChoice) -> tuple[str, Made]:
        """The code of the source, or of what compiles of it, and the key that it is kept by."""
        try:
            way, code = self._first_that_compiles(compiler)
            return way.key, Made(code, way.compiler, way.name)
        except CompileError as error:
            for way in self.ways(compiler):
                found = self._rest(way)
                if found is not None:
                    return way.rest, found
            raise error

    def compiled_whole(self, compiler: CompilerChoice) -> Made:
        """The code of the whole text; raises ``CompileError`` where some of it does not compile."""
        way, code = self._first_that_compiles(compiler)
        return Made(code, way.compiler, way.name)

    def _first_that_compiles(self, compiler: CompilerChoice) -> tuple[_Way, bytes]:
        """The first way that leads to code; raises what the ways end in, and of two refusals both."""
        label, ways = self.source.label, self.ways(compiler)
        way = next(ways)
        try:
            return way, self._code(way)
        except (CompileError, Unsupported) as error:
            if compiler != "auto":
                raise
            refusal = error
        other = next(ways, None)
        if other is None:
            raise CompileError(label, refused_by_hiprtc(refusal.log)) if isinstance(refusal, CompileError) else refusal
        try:
            return other, self._code(other)
        except CompileError as error:
            if isinstance(refusal, Unsupported):
                raise  # the one that has the headers has judged
            log = refused_by_both(refusal.log, error.log, other.name or other.compiler)
            raise CompileError(label, log) from None

    def ways(self, compiler: CompilerChoice) -> Iterator[_Way]:
        """The compilers to try in turn; a search for hipcc begins only when it is asked for."""
        source, target = self.source, self.target
        if self.library is not None:
            identity = "\0".join((self.library.identity, *self.library.command))
            yield _Way("hipcc", self._key(identity, self._words), self._words, self.library)
            return
        if compiler != "hipcc":
            words = [*self._words, *target.words()]
            yield _Way("hiprtc", self._key(target.identity, words), words)
        if compiler != "hiprtc":
            alone = runtime_kind(target.runtime).compiler == "hipcc"
            toolchain = toolchain_for(target.arch, alone)
            if toolchain is None and compiler == "auto":
                return
            if toolchain is None:
                raise InfrastructureError(
                    f"{source.label} cannot be compiled: there is no hipcc for {target.arch}; install ROCm's, or "
                    + ("candle-parity[zig]; `candle-parity doctor` says more" if alone else "take --compiler hiprtc")
                )
            bound = target.identity if compiler == "auto" else ""
            identity = "\0".join((bound, toolchain.identity, *toolchain.options, target.arch))
            words = [*self._words, *runtime_kind(target.runtime).hipcc_words]
            yield _Way("hipcc", self._key(identity, [*words, *self._supplied]), words, toolchain)

    def _rest(self, way: _Way) -> Made | None:
        """What compiles of the source by a ``way`` that refused the whole, and the kernels that do not."""
        log = self._refusals.get(way.key, COMPILER_LOST)
        if log.startswith(COMPILER_LOST):
            return None
        every = ["-ferror-limit=0"] if runtime_kind(self.target.runtime).code == "amd" else []

        def compile_text(text: str, words: Sequence[str], seconds: float) -> bytes:
            try:
                limits = replace(self.limits, seconds=min(self.limits.seconds, seconds))
                return self._made(way, text, [*words, *every], limits)
            except CompileError as error:
                raise Refused(error.log) from None

        found = compile_partly(self.source, self.options, log, compile_text, self.limits.wall, self.launchers)
        return None if found is None else Made(found[0], way.compiler, way.name, found[1])

    def _code(self, way: _Way) -> bytes:
        try:
            return self._made(way, self._text, (), self.limits)
        except CompileError as error:
            self._refusals[way.key] = error.log
            raise

    def _made(self, way: _Way, text: str, more: Sequence[str], limits: Limits) -> bytes:
        """The code of ``text``, with hiprtc's headers where hipcc stands in for hiprtc and the source names none."""
        words, rest = [*way.words, *more], (self.target, self.supervisor, limits, way.toolchain)
        try:
            return compile_in_child(text, self.source.label, words, *rest)
        except CompileError:
            if not self._supplied:
                raise
        return compile_in_child(text, self.source.label, [*words, *self._supplied], *rest)

    def _key(self, compiler: str, words: Sequence[str]) -> str:
        digest = hashlib.sha256()
        for part in (compiler, *words, str(self.source.path), self._text):
            digest.update(part.encode() + b"\0")
        digest.update(self._headers)
        return digest.hexdigest()[:32]


def _headers(source: KernelSource, options: BuildOptions) -> bytes:
    """Names and contents of the headers that ``source`` can include."""
    content: list[bytes] = []
    folders = (*options.include_dirs, source.root)
    try:
        places = (source.path.parent, *folders)
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
