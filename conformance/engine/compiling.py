"""From a source to its code object, for whoever loads it."""

from __future__ import annotations

from collections.abc import Callable

from conformance.build import BuildOptions, KernelSource
from conformance.build.cache import Made, made
from conformance.build.notices import take_warnings
from conformance.build.target import Limits, Target
from conformance.engine.tasks import Outcome, Ready, Setup
from conformance.processes import Supervisor


class Compiler:
    """Compiles the sources of one tree in child processes, through the cache.

    ``begin`` is told what is being compiled, for a compilation may take longer than a case; ``ready`` says what for.
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
        self._options = options
        self._supervisor = supervisor
        self._begin = begin
        self._ready = ready
        # AMD's hiprtc knows one dialect; ours reads -x as a compiler does.
        named = options.dialect != "auto" and setup.runtime != "rocm"
        self._extra = ("-x", options.dialect) if named else ()
        self._made: dict[str, Made] = {}

    def compiled(self, source: KernelSource) -> bytes:
        """The code object of ``source``; raises ``CompileError``, ``SourceError`` and ``InfrastructureError``."""
        self._begin(f"compiling {source.label}")
        ready = self._ready()
        target = Target(self._setup.runtime, self._setup.wave, ready.arch, ready.identity)
        limits = Limits(seconds=self._setup.compile_seconds)
        chosen = self._setup.compiler if self._setup.runtime == "rocm" else "hiprtc"
        found = made(source, target, self._supervisor, self._options, self._extra, limits, chosen)
        if self._setup.runtime == "rocm":
            self._made[source.label] = found
        return found.code

    def sign(self, outcome: Outcome) -> None:
        """Note in ``outcome`` which compiler its kernel went through, where there is more than one."""
        source = outcome.source or ""
        found = self._made.get(source) or self._made.get(source.rpartition(":")[0])  # with a line, or without
        if found is not None:
            outcome.compiler, outcome.compiler_name = found.compiler, found.name

    def told(self) -> list[str]:
        """What was found damaged or could not be kept since the last time."""
        return take_warnings()
