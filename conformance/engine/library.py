"""The kernels of a tree: which code object defines which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from conformance.amd import AmdError, read_code_objects
from conformance.build import BuildOptions, KernelSource, SourceError, find_sources
from conformance.compare.signature import CompiledParameter, signature_difference
from conformance.device.errors import CompileError, HipError, first_error
from conformance.engine.remote import CompiledParameterRow, Function, KernelRow, Lost
from conformance.engine.tasks import Status
from conformance.processes import InfrastructureError
from conformance.record.model import INFRASTRUCTURE
from conformance.runtimes.cpu.table import host_kernels
from conformance.sources import CUDA_DEFINES, HIP_DEFINES, ScanError, defined_kernels
from conformance.spec.kernel import Kernel

COMPILER_LOST = "the compiler "
"""How the log begins of a source that took its compiler down, or beyond a limit."""


class Loader(Protocol):
    """Where code objects are loaded: an executor."""

    def load(self, code: bytes, label: str) -> tuple[int, list[KernelRow] | None]: ...

    def function(self, module: int, name: str) -> Function | None: ...


class LostLoading(Exception):
    """Loading the code of source ``index`` cost the executor: a static constructor crashes, exits or does not end."""

    def __init__(self, index: int, lost: Lost) -> None:
        super().__init__(str(lost))
        self.index, self.lost = index, lost


@dataclass(frozen=True)
class Found:
    """A kernel's function, or the status and message that say why there is none."""

    function: Function | None
    status: Status
    source: str | None
    message: str | None


class Library:
    """The sources under one path, compiled with ``compiled`` and loaded on demand where ``loader`` says.

    ``broken`` holds the sources that do not compile or load, by index, with the first error, ``unavailable`` those of
    which nothing is known for a reason of the machine's. ``begin`` is told what is looked into.
    Raises ``SourceError`` when the path cannot be used.
    """

    def __init__(
        self,
        path: Path,
        options: BuildOptions,
        runtime: str,
        compiled: Callable[[KernelSource], bytes],
        loader: Callable[[], Loader],
        begin: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.sources = find_sources(path)
        self.broken: dict[int, str] = {}
        self.unavailable: dict[int, str] = {}
        self._options = options
        self._runtime = runtime
        self._compiled = compiled
        self._loader = loader
        self._begin = begin
        self._code: dict[int, bytes] = {}
        self._names: dict[int, frozenset[str] | None] = {}
        self._modules: dict[int, int] = {}
        self._tables: dict[int, list[KernelRow] | None] = {}
        self._functions: dict[tuple[int, str], Function | None] = {}

    def renewed(self) -> None:
        """The loader is another one: nothing is loaded there yet."""
        self._modules.clear()
        self._functions.clear()

    def compile(self, index: int) -> None:
        """Compile source ``index`` into the cache and load it.

        Raises ``CompileError``, ``HipError``, ``SourceError``, ``InfrastructureError`` and ``LostLoading``.
        """
        self._load(index)

    def find(self, kernel: Kernel) -> Found:
        """The function of ``kernel``, or why there is none. Raises ``Lost`` and ``LostLoading``.

        A file named after the kernel's module is looked into first; another is compiled only when the kernel is not
        there and the other seems to define it.
        """
        for index in sorted(range(len(self.sources)), key=lambda i: self.sources[i].path.stem != kernel.module):
            source = self.sources[index]
            if index in self.broken or index in self.unavailable:
                continue
            if source.path.stem != kernel.module and not self._may_define(index, kernel.name):
                continue
            if not self._loaded(index):
                continue
            function = self._function(index, kernel.name)
            if function is None:
                continue
            label, parameters = self._defined(index, kernel.name)
            difference = signature_difference(kernel, parameters)
            if difference is not None:
                return Found(None, "signature", label, difference)
            return Found(function, "pass", label, None)
        for index, why in self.unavailable.items():
            if self._would_define(index, kernel):
                return Found(None, "not_run", self.sources[index].label, f"{INFRASTRUCTURE}{why}")
        for index, why in self.broken.items():
            if self._would_define(index, kernel):
                return Found(None, "compile_error", self.sources[index].label, why)
        return Found(None, "missing", None, None)

    def _function(self, index: int, name: str) -> Function | None:
        """Kernel ``name`` of the loaded source ``index``; none that its table of kernels lacks, whoever says so."""
        table = self._tables[index]
        if table is not None and all(row.name != name for row in table):
            return None
        if (index, name) not in self._functions:
            self._functions[index, name] = self._loader().function(self._modules[index], name)
        return self._functions[index, name]

    def _defined(self, index: int, name: str) -> tuple[str, tuple[CompiledParameter, ...] | None]:
        """Where source ``index`` defines kernel ``name``, and its parameters where the runtime can tell them."""
        label = self.sources[index].label
        row = next((row for row in self._tables[index] or () if row.name == name), None)
        if row is None:
            return label, None
        where = label if row.line is None else f"{label}:{row.line}"
        return where, tuple(CompiledParameter(parameter.type, parameter.size) for parameter in row.params)

    def _would_define(self, index: int, kernel: Kernel) -> bool:
        """Whether the broken source ``index`` is where ``kernel`` was meant to be."""
        names = self._defined_names(index)
        return self.sources[index].mentions(kernel.name, kernel.module) if names is None else kernel.name in names

    def _may_define(self, index: int, name: str) -> bool:
        """Whether source ``index`` must be compiled to know if it defines ``name``."""
        names = self._defined_names(index)
        return index in self._modules or names is None or name in names

    def _defined_names(self, index: int) -> frozenset[str] | None:
        if self.broken.get(index, "").startswith(COMPILER_LOST):
            return None  # what the compiler does not come to an end with, the preprocessor may not either
        if index not in self._names:
            self._begin(f"compiling {self.sources[index].label}")
            self._names[index] = defined_names(self.sources[index], self._options)
        return self._names[index]

    def _loaded(self, index: int) -> bool:
        """Whether source ``index`` is loaded, now or before; if not, it is known as broken or unavailable."""
        if index in self.broken or index in self.unavailable:
            return False
        try:
            self._load(index)
        except CompileError as error:
            self.broken[index] = first_error(error.log)
        except (HipError, SourceError) as error:
            self.broken[index] = str(error)
        except InfrastructureError as error:
            self.unavailable[index] = str(error)
        else:
            return True
        return False

    def _load(self, index: int) -> None:
        if index in self._modules:
            return
        source = self.sources[index]
        if index not in self._code:
            code = self._compiled(source)
            if source.is_code_object and self._runtime == "cpu":
                _refuse_foreign(source)
            self._code[index] = code
        try:
            self._modules[index], told = self._loader().load(self._code[index], source.label)
        except Lost as lost:
            raise LostLoading(index, lost) from None
        if index not in self._tables:
            self._tables[index] = _own_table(source, self._code[index]) if self._runtime == "cpu" else told


def _own_table(source: KernelSource, code: bytes) -> list[KernelRow]:
    """The kernels of host code as its bytes say, whatever the code itself would answer; raises ``SourceError``."""
    try:
        kernels = host_kernels(code)
    except ValueError as error:
        raise SourceError(f"{source.label}: {error}") from None
    return [
        KernelRow(
            name=kernel.name,
            line=kernel.line,
            file=kernel.file,
            params=[CompiledParameterRow(type=words, size=size) for words, size in kernel.params],
        )
        for kernel in kernels
    ]


def defined_names(source: KernelSource, options: BuildOptions) -> frozenset[str] | None:
    """The kernels that a source defines, whether it compiles or not; ``None`` where not even that can be told.

    In both dialects, where the options name none: which of the two the headers make it is for the compiler to find.
    """
    try:
        if source.is_code_object:
            return frozenset(name for code in read_code_objects(source.path) for name in code.kernels)
        folders = (source.path.parent, *options.include_dirs, source.root)
        chosen = {"hip": (HIP_DEFINES,), "cuda": (CUDA_DEFINES,)}.get(options.dialect, (HIP_DEFINES, CUDA_DEFINES))
        return frozenset(
            definition.name
            for defines in (chosen if source.path.suffix == ".cu" else chosen[:1])
            for definition in defined_kernels(source.path, folders, (*defines, *options.defines), options.forced)
        )
    except (AmdError, ScanError):
        return None


def _refuse_foreign(source: KernelSource) -> None:
    """Raises ``SourceError`` for a code object that only an AMD GPU can run."""
    try:
        targets = ", ".join(code.target for code in read_code_objects(source.path))
    except AmdError:
        return  # none of AMD's, or damaged: the runtime says what it is
    raise SourceError(
        f"{source.label}: is for an AMD GPU ({targets}), the cpu runtime runs host code; give the sources, or run it "
        "on that GPU"
    )


def first_to_compile(sources: Sequence[KernelSource], modules: set[str]) -> list[int]:
    """Which sources to compile before anything runs: those named after ``modules``; all where one has no file."""
    named = [index for index, source in enumerate(sources) if source.path.stem in modules]
    covered = {sources[index].path.stem for index in named} >= modules
    return named if covered else list(range(len(sources)))
