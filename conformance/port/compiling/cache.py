"""Compiled code objects, kept by the content of everything that can change them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from conformance.cache import ObjectFolder
from conformance.files import cache_folder
from conformance.port.amd_cache import OF_HIPRTC, is_for_hipcc
from conformance.port.compiling.diagnostics import COMPILER_LOST
from conformance.port.compiling.in_child import CompilerUnsupported, compile_in_child
from conformance.port.compiling.keys import KeptObjects, Manifest, TreeFolders, contain, first_key, own_files, settle
from conformance.port.compiling.partly import PARTS, Broken, TextRefused, compile_partly
from conformance.port.compiling.reads import Reads
from conformance.port.compiling.target import (
    CompileLimits,
    CompileTarget,
    refused_by_both,
    refused_by_hiprtc,
    toolchain_for,
)
from conformance.port.definitions.mentioned import mentioned
from conformance.port.options import NO_OPTIONS, BuildOptions
from conformance.port.sources import KernelSource
from conformance.processes import InfrastructureError, Supervisor
from conformance.settings import CompilerChoice
from conformance.toolchains.compile_error import CompileError
from conformance.toolchains.targets import wave_macros

if TYPE_CHECKING:
    from conformance.toolchains.amd import AmdToolchain
    from conformance.toolchains.libraries import LibraryCompiler

_PATIENCE = 30.0
"""Seconds beyond a compilation's own limit that a process waits for another's."""

_WAVE_MACRO = b"__AMDGCN_WAVEFRONT_SIZE"
"""Only what mentions it is compiled anew for another size of waves."""


@dataclass(frozen=True)
class Made:
    """A code object, and its compiler: ``hiprtc`` or ``hipcc``, whose full name is ``name``.

    Both are ``None`` for a file that was a code object already. ``broken`` are the kernels of the source that do not
    compile and are missing from ``code``.
    """

    code: bytes
    compiler: str | None = None
    name: str | None = None
    broken: Mapping[str, Broken] = field(default_factory=dict)


@dataclass(frozen=True)
class _Way:
    """A compiler for one source (without ``toolchain`` hiprtc), its options, the folder that it works in if it is not
    this process's, and the first key of its object."""

    compiler: str
    key: str
    flags: Sequence[str]
    folder: Path | None
    toolchain: AmdToolchain | LibraryCompiler | None = None

    @property
    def name(self) -> str | None:
        return None if self.toolchain is None else self.toolchain.name

    @property
    def rest(self) -> str:
        """Where the object of what compiles of a source is kept, with what does not."""
        return f"{self.key}-rest-{PARTS}"

    @property
    def refused(self) -> str:
        """Where it is kept that a text does not compile."""
        return f"{self.key}-refused"


def made(
    source: KernelSource,
    target: CompileTarget,
    supervisor: Supervisor,
    options: BuildOptions = NO_OPTIONS,
    extra: Sequence[str] = (),
    limits: CompileLimits = CompileLimits(),  # noqa: B008 (frozen)
    compiler: CompilerChoice = "hiprtc",
    library: LibraryCompiler | None = None,
    launchers: bool = False,
) -> Made:
    """The code object of ``source``: from the cache, or compiled in a child process and kept.

    ``extra`` are further compiler options. ``compiler`` is ``hiprtc``, ``hipcc``, or ``auto``: hiprtc first, and hipcc
    where hiprtc refuses the source. With ``library`` that compiler makes a shared library, whatever ``compiler`` says.
    With ``launchers`` a launcher that does not compile costs no other.

    The cache knows an object by its compiler with its target, the options, the source, and every file that the compiler
    read (``keys``), so that no edit is missed. Under ``auto`` an object of hipcc is bound to both compilers. Where this
    cannot be known, the object is made anew each time. Headers are looked for next to the source, then in the options'
    folders, then in the root. Processes that want the same object wait for one compilation. ``limits`` hold for each
    compiler.

    If the source does not compile as a whole, the object contains what does, provided that the errors lead to kernels
    (``compile_partly``).

    Raises ``CompileError`` where nothing compiles, which includes a source that crashes the compiler or exceeds its
    memory; it is not kept. Raises ``SourceError`` where a file cannot be read. Raises ``InfrastructureError`` where the
    machine cannot compile, or not in time. A cache that is damaged or cannot be written only leads to a warning
    (``take_warnings``).
    """
    if source.is_code_object:
        return Made(source.code())
    text = source.text()
    tree = TreeFolders.of(source, options)
    plan = _Plan(source, text, tree, target, supervisor, options, extra, limits, library, launchers)
    plans = plan.by_wave()
    folder = ObjectFolder(cache_folder() / "objects")
    objects = KeptObjects(folder, tree)
    found = _kept(plans, compiler, objects)
    if found is not None:
        return found
    first = next(plans[0].ways(compiler))
    tries = 4 if compiler == "auto" else 2
    with folder.turn(first.key, tries * limits.wall + _PATIENCE) as ours:
        found = _kept(plans, compiler, objects) if ours else None
        if found is None:
            key, compiled, manifest = _compiled(plans, lambda plan, reads: plan.compiled(compiler, reads))
            if ours and manifest is not None:
                listing = json.dumps(compiled.broken).encode() + b"\n" if compiled.broken else b""
                objects.keep(key, manifest, listing + compiled.code)
            found = compiled
    return found


@dataclass(frozen=True)
class Text:
    """A text to compile in place of a source's own, with further options ``flags``."""

    text: str
    flags: tuple[str, ...] = ()


def made_of(
    texts: Sequence[Text],
    source: KernelSource,
    target: CompileTarget,
    supervisor: Supervisor,
    options: BuildOptions = NO_OPTIONS,
    extra: Sequence[str] = (),
    limits: CompileLimits = CompileLimits(),  # noqa: B008 (frozen)
    compiler: CompilerChoice = "hiprtc",
) -> Made | None:
    """The code object of the first of ``texts`` that the cache has; if it has none, that of the last one, compiled.

    ``None`` where that does not compile. This is remembered with what the compiler read, and says nothing about the
    source itself. Everything else is as in ``made``, except that a text is compiled as a whole or not at all, and that
    under ``auto`` only hiprtc is asked. Raises ``SourceError`` and ``InfrastructureError``.
    """
    of_one: CompilerChoice = "hiprtc" if compiler == "auto" else compiler
    tree = TreeFolders.of(source, options)
    each_by_wave = [
        _Plan(
            source, each.text, tree, target, supervisor, options, [*extra, *each.flags], limits, None, False
        ).by_wave()
        for each in texts
    ]
    folder = ObjectFolder(cache_folder() / "objects")
    objects = KeptObjects(folder, tree)
    for plans in each_by_wave:
        found = _kept(plans, of_one, objects)
        if found is not None:
            return found
    plans = each_by_wave[-1]
    if _is_refused(plans, of_one, objects):
        return None
    # Under ``auto`` hipcc compiles what hiprtc is not installed for, but the whole of it.
    refusals = (CompileError, CompilerUnsupported) if compiler == "auto" else (CompileError,)

    def whole_or_refused(plan: _Plan, reads: Reads) -> tuple[str, Made | None]:
        try:
            return plan.compiled_whole(of_one, reads)
        except refusals:
            return next(plan.ways(of_one)).refused, None

    with folder.turn(next(plans[0].ways(of_one)).key, 2 * limits.wall + _PATIENCE) as ours:
        if ours:  # another process may have made it meanwhile
            found = _kept(plans, of_one, objects)
            if found is not None or _is_refused(plans, of_one, objects):
                return found
        key, made_whole, manifest = _compiled(plans, whole_or_refused)
        if ours and manifest is not None:
            objects.keep(key, manifest, b"" if made_whole is None else made_whole.code)
    return made_whole


def _is_refused(plans: Sequence[_Plan], compiler: CompilerChoice, objects: KeptObjects) -> bool:
    return any(objects.find(way.refused) is not None for plan in plans for way in plan.ways(compiler))


def _kept(plans: Sequence[_Plan], compiler: CompilerChoice, objects: KeptObjects) -> Made | None:
    ways = [way for plan in plans for way in plan.ways(compiler)]
    for way in ways:
        code = objects.find(way.key)
        if code is not None:
            return Made(code, way.compiler, way.name)
    for way in ways:
        entry = objects.find(way.rest)
        if entry is not None:
            listing, _, code = entry.partition(b"\n")
            broken = {name: Broken(*row) for name, row in json.loads(listing).items()}
            return Made(code, way.compiler, way.name, broken)
    return None


_Found = TypeVar("_Found", bound=Made | None)


def _compiled(
    plans: Sequence[_Plan], work: Callable[[_Plan, Reads], tuple[str, _Found]]
) -> tuple[str, _Found, Manifest | None]:
    """What ``work`` makes by a plan, the key that it is kept by, and what it was made from, where that is known."""
    plan = plans[0]
    starts = [plan.source.path, *(header for header in plan.options.forced if header.is_absolute())]

    def compilation(reads: Reads) -> tuple[str, _Found, bool]:
        key, found = work(plan, reads)
        return key, found, contain(own_files(plan.tree, reads), _WAVE_MACRO)

    if len(plans) > 1 and contain(mentioned(starts, plan.tree.folders).files, _WAVE_MACRO):
        plan = plans[1]
    (key, found, by_wave), manifest = settle(plan.tree, starts, plan.text, compilation, (CompileError,))
    if by_wave and len(plans) > 1 and plan is plans[0]:
        plan = plans[1]
        (key, found, by_wave), manifest = settle(plan.tree, starts, plan.text, compilation, (CompileError,))
    if found is not None and found.broken and plan.source.text() != plan.text:
        manifest = None  # what is broken was looked for in another text
    return key, found, manifest


@dataclass
class _Plan:
    """What compiling a source for a target takes, whoever does it."""

    source: KernelSource
    text: str
    tree: TreeFolders
    target: CompileTarget
    supervisor: Supervisor
    options: BuildOptions
    extra: Sequence[str]
    limits: CompileLimits
    library: LibraryCompiler | None
    launchers: bool

    def __post_init__(self) -> None:
        source, runtime = self.source, self.target.runtime
        self._refusals: dict[str, str] = {}
        # Where no hiprtc is to be had, hipcc also compiles what was written for it.
        alone = runtime.compiler == "hipcc" and self.library is None and not is_for_hipcc(source, self.options)
        self._supplied = OF_HIPRTC if alone else ()
        self._flags = [*self.options.compiler_flags((source.path.parent,), (source.root,)), *self.extra]

    def by_wave(self) -> list[_Plan]:
        """The plans to look for an object of: this, and with the macros of a size of waves, which only sources get that
        ask for it. They alone are compiled anew for another size."""
        wave = self.target.wave
        if not self.target.runtime.chooses_wave or wave is None:
            return [self]
        options = replace(self.options, defines=(*wave_macros(wave), *self.options.defines))
        sized = replace(self, options=options)
        return [sized] if _WAVE_MACRO.decode() in self.text else [self, sized]

    def compiled(self, compiler: CompilerChoice, reads: Reads) -> tuple[str, Made]:
        """The code of the source, or of what compiles of it, and the key that it is kept by."""
        try:
            way, code = self._first_that_compiles(compiler, reads)
            return way.key, Made(code, way.compiler, way.name)
        except CompileError as error:
            for way in self.ways(compiler):
                found = self._rest(way, reads)
                if found is not None:
                    return way.rest, found
            raise error

    def compiled_whole(self, compiler: CompilerChoice, reads: Reads) -> tuple[str, Made]:
        """The code of the whole text and its key; raises ``CompileError`` where some of it does not compile."""
        way, code = self._first_that_compiles(compiler, reads)
        return way.key, Made(code, way.compiler, way.name)

    def _first_that_compiles(self, compiler: CompilerChoice, reads: Reads) -> tuple[_Way, bytes]:
        """The first way that leads to code; raises what the ways end in, and of two refusals both."""
        label, ways = self.source.label, self.ways(compiler)
        way = next(ways)
        try:
            return way, self._code(way, reads)
        except (CompileError, CompilerUnsupported) as error:
            if compiler != "auto":
                raise
            refusal = error
        other = next(ways, None)
        if other is None:
            raise CompileError(label, refused_by_hiprtc(refusal.log)) if isinstance(refusal, CompileError) else refusal
        try:
            return other, self._code(other, reads)
        except CompileError as error:
            if isinstance(refusal, CompilerUnsupported):
                raise  # the one that has the headers has judged
            log = refused_by_both(refusal.log, error.log, other.name or other.compiler)
            raise CompileError(label, log) from None

    def ways(self, compiler: CompilerChoice) -> Iterator[_Way]:
        """The compilers to try in turn; a search for hipcc begins only when it is asked for."""
        source, target, runtime = self.source, self.target, self.target.runtime
        # Relative to a folder, options name no place, so that copies of a tree share objects.
        folder, relative = self.tree.base, self.tree.relative_flags(self._flags)
        if self.library is not None:
            identity = "\0".join((self.library.identity, *self.library.command))
            yield _Way("hipcc", self._key(identity, relative), relative, folder, self.library)
            return
        if compiler != "hipcc":
            flags = [*(relative if runtime.in_a_folder else self._flags), *target.flags()]
            key = self._key(target.identity, flags)
            yield _Way("hiprtc", key, flags, folder if runtime.in_a_folder else None)
        if compiler != "hiprtc":
            alone = runtime.compiler == "hipcc"
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
            flags = [*relative, *runtime.hipcc_flags]
            yield _Way("hipcc", self._key(identity, [*flags, *self._supplied]), flags, folder, toolchain)

    def _rest(self, way: _Way, reads: Reads) -> Made | None:
        """What compiles of the source by a ``way`` that refused the whole, and the kernels that do not."""
        log = self._refusals.get(way.key, COMPILER_LOST)
        if log.startswith(COMPILER_LOST):
            return None
        every = ["-ferror-limit=0"] if self.target.runtime.code == "amd" else []

        def compile_text(text: str, flags: Sequence[str], seconds: float) -> bytes:
            try:
                limits = replace(self.limits, seconds=min(self.limits.seconds, seconds))
                return self._made(way, text, [*flags, *every], limits, reads)
            except CompileError as error:
                raise TextRefused(error.log) from None

        found = compile_partly(self.source, self.options, log, compile_text, self.limits.wall, self.launchers)
        return None if found is None else Made(found[0], way.compiler, way.name, found[1])

    def _code(self, way: _Way, reads: Reads) -> bytes:
        try:
            return self._made(way, self.text, (), self.limits, reads)
        except CompileError as error:
            self._refusals[way.key] = error.log
            raise

    def _made(self, way: _Way, text: str, more: Sequence[str], limits: CompileLimits, reads: Reads) -> bytes:
        """The code of ``text``, with hiprtc's headers where hipcc stands in for hiprtc and the source names none."""
        flags, rest = [*way.flags, *more], (self.target, self.supervisor, limits, way.toolchain)
        try:
            return compile_in_child(text, self.source.label, flags, *rest, folder=way.folder, reads=reads)
        except CompileError:
            if not self._supplied:
                raise
        flags += self._supplied
        return compile_in_child(text, self.source.label, flags, *rest, folder=way.folder, reads=reads)

    def _key(self, compiler: str, flags: Sequence[str]) -> str:
        return first_key(compiler, flags, self.source.label, self.text)
