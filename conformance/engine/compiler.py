"""From a source to its code object, for whoever loads it; and what AMD's compiler says of one that the host refuses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.engine.messages import Compile, Compiled, Ready, Setup
from conformance.notices import take_warnings
from conformance.outcome import INFRASTRUCTURE
from conformance.port.amd_cache import compile_for
from conformance.port.code_objects import parse
from conformance.port.compiling.cache import Made, Text, made, made_of
from conformance.port.compiling.cut import Cuts, cuts_of
from conformance.port.compiling.driver import lacked
from conformance.port.compiling.in_child import NotJudged
from conformance.port.compiling.shards import Part, parts_of
from conformance.port.compiling.target import CompileLimits, CompileTarget, NoHipcc, require_hipcc
from conformance.port.definitions.source_text import SourceError
from conformance.port.definitions.special_files import refuse_special_files
from conformance.port.options import BuildOptions, is_cuda
from conformance.port.sources import KernelSource
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import HipError
from conformance.settings import CompilerChoice
from conformance.spec.entry import Build
from conformance.status import Status
from conformance.toolchains.amd import CompileFailure
from conformance.toolchains.compile_error import CompileError, first_error
from conformance.toolchains.headers import NEWER, lacks_function
from conformance.toolchains.libraries import amd_library_compiler
from conformance.toolchains.targets import AmdError, macros, target

NOT_HERE = "linked launchers cannot be called on the {runtime} runtime yet; --runtime cpu calls them"


def compile_answer(request: Compile, load: Callable[[str], str | None]) -> Compiled:
    """The answer to ``request``. ``load`` compiles and loads a source; it returns what is wrong with it, or raises."""
    error: str | None = None
    infrastructure: str | None = None
    try:
        error = load(request.source)
    except CompileError as refused:
        first = first_error(refused.log)
        if lacks_function(first):
            infrastructure = f"{request.source} cannot be compiled: {first}; {NEWER}"
        else:
            error = refused.log
    except (HipError, SourceError) as refused:
        error = str(refused)
    except InfrastructureError as failed:
        infrastructure = str(failed)
    warnings = tuple(take_warnings())
    return Compiled(request.source, error, request.tree, infrastructure, warnings, request.build, first=request.first)


class Compiler:
    """Compiles the sources of one tree, in child processes and through the cache.

    ``begin`` is told what is being compiled, as that may take longer than a case may. ``ready`` says for which device.
    ``options`` include the macros of the AMD GPU that the setup names.
    """

    def __init__(
        self,
        setup: Setup,
        options: BuildOptions,
        supervisor: Supervisor,
        begin: Callable[[str], None],
        ready: Callable[[], Ready],
    ) -> None:
        self.kind = runtime_kind(setup.runtime)
        wave = setup.wave or (target(setup.arch).default_wave if setup.arch else None)
        defines = macros(setup.arch, wave) if setup.arch and wave else ()
        self.options = replace(options, defines=(*defines, *options.defines))
        self.begin = begin
        self._setup = setup
        self._supervisor = supervisor
        self._ready = ready
        self._cuts: dict[str, Cuts | None] = {}
        self._made: dict[tuple[str, Build], Made] = {}
        self._made_in_part: dict[tuple[str, str], Made] = {}
        self._refused: dict[tuple[str, Build], CompileError | NotJudged] = {}

    @property
    def arch(self) -> str:
        """The architecture of the devices that load the code, such as ``gfx942``."""
        return self._ready().arch

    def compiled(self, source: KernelSource, build: Build = "kernels") -> Made:
        """The code object of ``source``, with the kernels of it that do not compile.

        A source that does not compile is remembered, since each of its kernels asks again. Raises ``CompileError``,
        ``SourceError`` and ``InfrastructureError``.
        """
        key = (source.label, build)
        refusal = self._refused.get(key)
        if refusal is not None:
            raise refusal.with_traceback(None)
        try:
            return self._compiled(source, build)
        except (CompileError, NotJudged) as error:
            self._refused[key] = error
            raise

    def parts(self, source: KernelSource, asked: Collection[str], own: Collection[str]) -> tuple[Part, ...] | None:
        """The parts in which ``source`` is compiled for the kernels ``asked``; ``None`` where it is compiled as a
        whole.

        ``own`` are those of ``asked`` that the source is expected to define. A kernel that cannot be cut out may be
        there all the same. If no compiler can make code for such kernels alone, the whole source is compiled.
        """
        cuts = self._cuts_of(source) if asked else None
        if cuts is not None and not self._only(own) and not cuts.kernels.issuperset(own):
            return None
        return parts_of(cuts, asked, own if self._only(own) else ())

    def compiled_part(self, source: KernelSource, part: Part) -> Made | None:
        """The code object of one ``part`` of ``source``. If the cache has one with all kernels of the part's shard, it
        is that one.

        ``None`` where the part does not compile, which proves nothing about the source. Raises ``SourceError`` and
        ``InfrastructureError``.
        """
        cuts = self._cuts_of(source)
        assert cuts is not None, part
        self.begin(f"compiling {source.label}")
        _refuse_special_files(source, self.options)
        texts = [
            Text(cuts.text if part.whole else cuts.text_for(names), self._only(names))
            for names in dict.fromkeys((part.shard, part.asked))
        ]
        found = made_of(
            texts,
            source,
            self._target(),
            self._supervisor,
            self.options,
            self._extra(source),
            self._limits,
            self._chosen,
        )
        if found is not None and self.kind.code == "amd":
            self._made_in_part |= {(source.label, name): found for name in part.asked}
        return found

    def lacks(self, label: str, name: str) -> None:
        """Note that the compiled part of source ``label`` is not used for the kernel ``name``."""
        self._made_in_part.pop((label, name), None)

    def _only(self, kernels: Collection[str]) -> tuple[str, ...]:
        """The options by which the compiler makes code for ``kernels`` alone, where it can."""
        return self.kind.only_flags(tuple(kernels)) if kernels and self._chosen == "hiprtc" else ()

    def _cuts_of(self, source: KernelSource) -> Cuts | None:
        if source.label not in self._cuts:
            self.begin(f"compiling {source.label}")
            self._cuts[source.label] = cuts_of(source, self.options)
        return self._cuts[source.label]

    def no_launchers(self) -> str | None:
        """Why launchers cannot be compiled here, and what to do; ``None`` where they can."""
        build = self.kind.launchers
        if build is None:
            return NOT_HERE.format(runtime=self._setup.runtime)
        compiler = None if build.compiler is None else build.compiler(self.arch)
        return compiler if isinstance(compiler, str) else None

    def _compiled(self, source: KernelSource, build: Build) -> Made:
        self.begin(f"compiling {source.label}")
        _refuse_special_files(source, self.options)
        linked = self.kind.launchers if build == "launchers" else None
        flags = () if linked is None else linked.flags
        library = None if linked is None or linked.compiler is None else linked.compiler(self.arch)
        assert not isinstance(library, str), library  # ``no_launchers`` has been asked
        found = made(
            source,
            self._target(),
            self._supervisor,
            self.options,
            (*self._extra(source), *flags),
            self._limits,
            self._chosen,
            library,
            build == "launchers",
        )
        if self.kind.code == "amd":
            self._made[source.label, build] = found
        return found

    def _target(self) -> CompileTarget:
        ready = self._ready()
        return CompileTarget(self.kind, self._setup.wave, ready.arch, ready.identity)

    def _extra(self, source: KernelSource) -> tuple[str, ...]:
        """The options for ``source`` in addition to those of its tree."""
        kind, dialect = self.kind, self.options.dialect
        if kind.code == "opaque" and source.path.suffix == ".cu" and not is_cuda(source, self.options):
            dialect = "hip"  # its compiler goes by the suffix
        return ("-x", dialect) if dialect != "auto" and kind.takes_dialect else ()

    @property
    def _limits(self) -> CompileLimits:
        return CompileLimits(seconds=self._setup.compile_seconds)

    @property
    def _chosen(self) -> CompilerChoice:
        return self._setup.compiler if self.kind.chooses_compiler else self.kind.compiler

    def used(self, source: str | None, build: Build | None = "kernels", kernel: str = "") -> dict[str, str | None]:
        """The fields of ``Outcome`` that name the compiler of ``source``, where there is a choice of compilers.

        ``build`` is what it was compiled to. ``kernel`` is the port's name of the kernel, whose part may have been
        compiled alone.
        """
        if source is None or build is None:
            return {}
        labels = (source, source.rpartition(":")[0])  # without a line, or with one
        parts = [self._made_in_part.get((label, kernel)) for label in labels] if build == "kernels" else []
        wholes = [self._made.get((label, build)) for label in labels]
        found = next((one for one in (*parts, *wholes) if one is not None), None)
        return {} if found is None else {"compiler": found.compiler, "compiler_name": found.name}


TARGETS = {64: "gfx90a", 32: "gfx1100"}
"""By the size of a wave, for AMD's compiler: nothing that it takes is the port's fault."""


@dataclass(frozen=True)
class _CompilerVerdict:
    """The kernels that AMD's compiler makes of a source, or whether it makes a library of it, or why it was not asked
    or has not judged."""

    who: str
    kernels: frozenset[str] = frozenset()
    unasked: str | None = None
    library: bool = False


def _refuse_special_files(source: KernelSource, options: BuildOptions) -> None:
    """Raises ``ScanError`` where a compiler of ``source`` would wait for a FIFO, or read a device without end."""
    if not source.is_code_object:
        refuse_special_files(source.path, (source.root, *options.include_dirs), options.forced)


class SecondOpinion:
    """Asks AMD's compiler about sources that the host's compiler refuses, each source once.

    It compiles for ``arch``; without that, for a target with waves of ``wave`` lanes.
    """

    def __init__(self, options: BuildOptions, wave: int | None, arch: str | None = None) -> None:
        self._options = options
        self._target = target(arch or TARGETS.get(wave or 64, TARGETS[64]))
        self._known: dict[tuple[KernelSource, Build], _CompilerVerdict] = {}
        self._ask: Mapping[Build, Callable[[KernelSource], _CompilerVerdict]] = {
            "kernels": self._ask_for_code,
            "launchers": self._ask_for_library,
        }

    def on(self, source: KernelSource, kernel: str, error: str, build: Build) -> tuple[Status, str]:
        """The status and the message of ``kernel``, which the host's compiler refuses with ``error``."""
        if source.is_code_object or is_cuda(source, self._options):
            return "compile_error", error
        try:
            _refuse_special_files(source, self._options)
        except SourceError:
            return "compile_error", error  # AMD's compiler would wait for it too
        if (source, build) not in self._known:
            self._known[source, build] = self._ask[build](source)
        verdict = self._known[source, build]
        if verdict.library or kernel in verdict.kernels:
            why = f"the harness cannot compile this, AMD's compiler does ({verdict.who}): {error}"
            return "not_run", f"{INFRASTRUCTURE}{why}"
        if verdict.unasked is not None:
            return "compile_error", f"{error} (nobody checked whether AMD's compiler takes it: {verdict.unasked})"
        return "compile_error", error

    def _ask_for_code(self, source: KernelSource) -> _CompilerVerdict:
        try:
            toolchain = require_hipcc(self._target.name)
        except NoHipcc:
            return _CompilerVerdict("", unasked="none was found")
        who = f"{toolchain.name}, for {self._target.name}"
        try:
            compiled = compile_for(toolchain, source, self._target, self._options)
            # Of a kernel that is defined twice the first is in the code, and the second is broken.
            return _CompilerVerdict(who, frozenset(parse(compiled.code, source.label).kernels) - set(compiled.broken))
        except CompileFailure as failure:
            return _CompilerVerdict(who, unasked=lacked(toolchain, failure.log))
        except SourceError:
            return _CompilerVerdict(who)  # what nobody can read
        except (AmdError, InfrastructureError, OSError) as error:
            return _CompilerVerdict(who, unasked=str(error))

    def _ask_for_library(self, source: KernelSource) -> _CompilerVerdict:
        compiler = amd_library_compiler(self._target.name)
        if isinstance(compiler, str):
            return _CompilerVerdict("", unasked="none was found")
        folders = dict.fromkeys((source.root, source.path.parent))
        flags = [*(f"-I{folder}" for folder in folders), *self._options.compiler_flags()]
        try:
            with tempfile.TemporaryDirectory() as folder:
                compiler.compile(source.path, Path(folder) / "library", flags)
        except (CompileFailure, OSError):
            return _CompilerVerdict(compiler.name)  # it refuses the source too, or one thing more
        return _CompilerVerdict(f"{compiler.name}, for {self._target.name}", library=True)
