"""From a source to its code object, for whoever loads it, and the answer to a request for that."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from conformance.engine.tasks import Compile, Compiled, Ready, Setup
from conformance.notices import take_warnings
from conformance.port.compiling.cache import Made, made
from conformance.port.compiling.in_child import MissingHeaders
from conformance.port.compiling.target import Limits, Target
from conformance.port.options import BuildOptions, is_cuda
from conformance.port.sources import KernelSource, SourceError
from conformance.processes import InfrastructureError, Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import CompileError, HipError
from conformance.toolchains.targets import macros, target

NOT_HERE = "linked launchers cannot be called on the {runtime} runtime yet; --runtime cpu calls them"


def compile_answer(request: Compile, load: Callable[[int], str | None]) -> Compiled:
    """The answer to ``request``. ``load`` compiles and loads a source; it returns or raises what is wrong with it."""
    started = time.perf_counter()
    error: str | None = None
    infrastructure: str | None = None
    try:
        error = load(request.source)
    except CompileError as refused:
        error = refused.log
    except (HipError, SourceError) as refused:
        error = str(refused)
    except InfrastructureError as failed:
        infrastructure = str(failed)
    seconds = time.perf_counter() - started
    return Compiled(request.source, seconds, error, request.tree, infrastructure, tuple(take_warnings()))


def seen_by(setup: Setup, options: BuildOptions) -> BuildOptions:
    """``options`` with the macros of the AMD GPU that the setup names."""
    if setup.arch is None:
        return options
    return replace(
        options, defines=(*macros(setup.arch, setup.wave or target(setup.arch).default_wave), *options.defines)
    )


class Compiler:
    """Compiles the sources of one tree in child processes, through the cache.

    ``begin`` gets what is being compiled, for a compilation may take longer than a case; ``ready`` says what for.
    """

    def __init__(
        self,
        setup: Setup,
        options: BuildOptions,
        supervisor: Supervisor,
        begin: Callable[[str], None],
        ready: Callable[[], Ready],
    ) -> None:
        self._setup = setup
        self._options = seen_by(setup, options)
        self._supervisor = supervisor
        self._begin = begin
        self._ready = ready
        self._made: dict[tuple[str, bool], Made] = {}
        self._refused: dict[tuple[str, bool], CompileError | MissingHeaders] = {}

    def compiled(self, source: KernelSource, launchers: bool = False) -> Made:
        """The code object of ``source``, and what does not compile of it; with ``launchers``, its host functions too.

        A refusal is remembered: each kernel that the source may define asks again. Raises ``CompileError``,
        ``SourceError`` and ``InfrastructureError``.
        """
        key = (source.label, launchers)
        refusal = self._refused.get(key)
        if refusal is not None:
            raise refusal.with_traceback(None)
        try:
            return self._compiled(source, launchers)
        except (CompileError, MissingHeaders) as error:
            self._refused[key] = error
            raise

    def no_launchers(self) -> str | None:
        """Why no launcher can be compiled here, and what to do; ``None`` where they can."""
        build = runtime_kind(self._setup.runtime).launchers
        if build is None:
            return NOT_HERE.format(runtime=self._setup.runtime)
        found = None if build.compiler is None else build.compiler(self._ready().arch)
        return found if isinstance(found, str) else None

    def _compiled(self, source: KernelSource, launchers: bool) -> Made:
        self._begin(f"compiling {source.label}")
        ready = self._ready()
        kind = runtime_kind(self._setup.runtime)
        made_for = Target(self._setup.runtime, self._setup.wave, ready.arch, ready.identity)
        dialect = self._options.dialect
        if kind.code == "opaque" and source.path.suffix == ".cu" and not is_cuda(source, self._options):
            dialect = "hip"  # its compiler goes by the suffix
        extra: tuple[str, ...] = ("-x", dialect) if dialect != "auto" and kind.takes_dialect else ()
        build = kind.launchers if launchers else None
        extra += () if build is None else build.words
        library = None if build is None or build.compiler is None else build.compiler(ready.arch)
        assert not isinstance(library, str), library  # ``no_launchers`` has been asked
        limits = Limits(seconds=self._setup.compile_seconds)
        chosen = self._setup.compiler if kind.chooses_compiler else kind.compiler
        found = made(source, made_for, self._supervisor, self._options, extra, limits, chosen, library, launchers)
        if kind.code == "amd":
            self._made[source.label, launchers] = found
        return found

    def used(self, source: str | None, launchers: bool = False) -> dict[str, str | None]:
        """Which compiler ``source`` went through, where there is more than one, as fields of ``Outcome``."""
        names = (source or "", (source or "").rpartition(":")[0])  # with a line, or without
        found = next((self._made[name, launchers] for name in names if (name, launchers) in self._made), None)
        return {} if found is None else {"compiler": found.compiler, "compiler_name": found.name}
