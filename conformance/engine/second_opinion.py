"""What AMD's compiler says of a HIP source that the host cannot compile: nothing is the port's fault that it takes.

It is asked for those sources alone, without a GPU, for a target with waves of the size that kernels run in.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from conformance.outcome import INFRASTRUCTURE, Status
from conformance.port.amd_cache import compile_for
from conformance.port.code_objects import parse
from conformance.port.compiling.choice import NoHipcc, require_hipcc
from conformance.port.installation import lacked
from conformance.port.options import BuildOptions, is_cuda
from conformance.port.sources import KernelSource, SourceError
from conformance.processes import InfrastructureError
from conformance.toolchains.amd import CompileFailure
from conformance.toolchains.libraries import amd_library_compiler
from conformance.toolchains.targets import AmdError, target

TARGETS = {64: "gfx90a", 32: "gfx1100"}
"""By the size of a wave."""


@dataclass(frozen=True)
class _Said:
    """The kernels that AMD's compiler makes of a source, or whether it makes a library of it, or why it was not asked
    or has not judged, in words."""

    who: str
    kernels: frozenset[str] = frozenset()
    unasked: str | None = None
    library: bool = False


class SecondOpinion:
    """Asks AMD's compiler about sources of one tree, each once, for ``arch``, else for a target with waves of the size
    ``wave``."""

    def __init__(self, options: BuildOptions, wave: int | None, arch: str | None = None) -> None:
        self._options = options
        self._target = target(arch or TARGETS.get(wave or 64, TARGETS[64]))
        self._known: dict[tuple[KernelSource, bool], _Said] = {}

    def on(self, source: KernelSource, kernel: str, error: str, launcher: bool = False) -> tuple[Status, str]:
        """The status and message of a kernel, or a launcher, that the host does not compile, by ``error``."""
        if source.is_code_object or is_cuda(source, self._options):
            return "compile_error", error
        if (source, launcher) not in self._known:
            self._known[source, launcher] = self._ask_for_library(source) if launcher else self._ask(source)
        said = self._known[source, launcher]
        if said.library or kernel in said.kernels:
            why = f"the harness cannot compile this, AMD's compiler does ({said.who}): {error}"
            return "not_run", f"{INFRASTRUCTURE}{why}"
        if said.unasked is not None:
            return "compile_error", f"{error} (nobody checked whether AMD's compiler takes it: {said.unasked})"
        return "compile_error", error

    def _ask(self, source: KernelSource) -> _Said:
        try:
            toolchain = require_hipcc(self._target.name)
        except NoHipcc:
            return _Said("", unasked="none was found")
        who = f"{toolchain.name}, for {self._target.name}"
        try:
            code = compile_for(toolchain, source, self._target, self._options).code
            return _Said(who, frozenset(parse(code, source.label).kernels))
        except CompileFailure as failure:
            return _Said(who, unasked=lacked(toolchain, failure.log))
        except SourceError:
            return _Said(who)  # what nobody can read
        except (AmdError, InfrastructureError, OSError) as error:
            return _Said(who, unasked=str(error))

    def _ask_for_library(self, source: KernelSource) -> _Said:
        compiler = amd_library_compiler(self._target.name)
        if isinstance(compiler, str):
            return _Said("", unasked="none was found")
        folders = dict.fromkeys((source.root, source.path.parent))
        words = [*(f"-I{folder}" for folder in folders), *self._options.compiler_flags()]
        try:
            with tempfile.TemporaryDirectory() as folder:
                compiler.compile(source.path, Path(folder) / "library", words)
        except (CompileFailure, OSError):
            return _Said(compiler.name)  # it refuses the source too, or one thing more
        return _Said(f"{compiler.name}, for {self._target.name}", library=True)
