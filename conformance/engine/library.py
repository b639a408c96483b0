"""The kernels of a tree: which code object defines which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from conformance.engine.remote import Function, KernelRow, Lost
from conformance.engine.tables import Defined, Table, amd_table, host_table, reported_table
from conformance.outcome import INFRASTRUCTURE, Status
from conformance.port.code_objects import read_code_objects
from conformance.port.compiling.cache import Made
from conformance.port.compiling.logs import COMPILER_LOST
from conformance.port.compiling.partly import Broken
from conformance.port.declared.names import OWN_NAMES, Names
from conformance.port.definitions.errors import ScanError
from conformance.port.definitions.preprocess import CUDA_DEFINES, HIP_DEFINES
from conformance.port.definitions.scan import defined_kernels
from conformance.port.line_tables import LineTable, read_line_table, with_places
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource, SourceError, find_sources
from conformance.processes import InfrastructureError
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import CompileError, HipError, first_error
from conformance.spec.kernel import Kernel
from conformance.toolchains.targets import AmdError

_NO_REFUSALS = (COMPILER_LOST, "hipModuleLoad", "error: its code cannot be loaded")
"""How it begins of one that was compiled, or that no compiler has judged."""


class Loader(Protocol):
    """Where code objects are loaded: an executor."""

    def load(self, code: bytes, label: str) -> tuple[int, list[KernelRow] | None]: ...

    def function(self, module: int, name: str) -> Function | None: ...


@dataclass(frozen=True)
class Port:
    """What is loaded, and where: the sources under ``path`` with their ``options``, and ``names`` for kernels.

    ``loader`` is asked for whenever something is loaded, ``arch`` says what devices that load AMD code objects are, and
    ``begin`` gets what is looked into.
    """

    path: Path
    options: BuildOptions
    runtime: str
    loader: Callable[[], Loader]
    arch: Callable[[], str] = lambda: ""
    begin: Callable[[str], None] = lambda _: None
    names: Names = OWN_NAMES


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
    refused: KernelSource | None = None
    """The source that a compiler has refused, or this kernel of it."""
    with_places: Callable[[str], str] = str
    """A fault's message with lines of the source, where it names instructions by their address."""


class Library:
    """The kernels of ``port``, compiled with ``compiled`` and loaded on demand.

    ``broken`` holds the sources that do not compile or load, by index, with the first error, ``unavailable`` those of
    which nothing is known for a reason of the machine's; ``refused`` are those that the device did not load. Raises
    ``SourceError`` when the path cannot be used.
    """

    def __init__(self, port: Port, compiled: Callable[[KernelSource], Made]) -> None:
        self.sources = find_sources(port.path)
        self.broken: dict[int, str] = {}
        self.unavailable: dict[int, str] = {}
        self.refused: set[int] = set()
        self._port = port
        self._kind = runtime_kind(port.runtime)
        self._compiled = compiled
        self._code: dict[int, bytes] = {}
        self._lines: dict[int, LineTable] = {}
        self._lacks: dict[int, Mapping[str, Broken]] = {}
        self._names: dict[int, frozenset[str] | None] = {}
        self._modules: dict[int, int] = {}
        self._tables: dict[int, Table | None] = {}
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
        name = self.port_name(kernel)
        broken: Found | None = None
        for index in sorted(range(len(self.sources)), key=lambda i: self.sources[i].path.stem != kernel.module):
            source = self.sources[index]
            if index in self.broken or index in self.unavailable:
                continue
            if source.path.stem != kernel.module and not self._may_define(index, name):
                continue
            if not self._loaded(index):
                continue
            lacking = self._lacks[index].get(name)
            if lacking is not None:
                broken = broken or Found(None, "compile_error", lacking.place, lacking.why, self.sources[index])
                continue
            defined, label = self._defined(index, name)
            difference = None if defined is None else defined.difference(kernel)
            if difference is not None:
                return Found(None, "signature", label, difference)
            function = self._function(index, name)
            if function is not None:
                most = None if defined is None else defined.most_threads
                function = replace(function, most_threads=most)
                return Found(function, "pass", label, None, with_places=partial(self._with_places, index))
        for index, why in self.unavailable.items():
            if self._would_define(index, name, kernel.module):
                return Found(None, "not_run", self.sources[index].label, f"{INFRASTRUCTURE}{why}")
        for index, why in self.broken.items():
            if self._would_define(index, name, kernel.module):
                refused = None if index in self.refused or why.startswith(_NO_REFUSALS) else self.sources[index]
                return Found(None, "compile_error", self.sources[index].label, why, refused)
        own = name != kernel.name
        said = f"no source defines {name}, which is what candle-parity.toml calls it" if own else None
        return broken or Found(None, "missing", None, said)

    def port_name(self, kernel: Kernel) -> str:
        """What the port calls ``kernel``."""
        return self._port.names.port(kernel.name)

    def _table(self, index: int) -> LineTable:
        if index not in self._lines:
            self._lines[index] = read_line_table(self._code[index])
        return self._lines[index]

    def _with_places(self, index: int, message: str) -> str:
        """``message`` of a fault in code of source ``index``, with lines where that code has line tables."""
        amd = self._kind.code == "amd"
        return with_places(message, lambda: self._table(index), self.sources[index]) if amd else message

    def _function(self, index: int, name: str) -> Function | None:
        """Kernel ``name`` of the loaded source ``index``; none that its table of kernels lacks, whoever says so."""
        table = self._tables[index]
        if table is not None and name not in table:
            return None
        if (index, name) not in self._functions:
            try:
                self._functions[index, name] = self._port.loader().function(self._modules[index], name)
            except HipError as error:
                self._refuse(index, error)
                return None
        return self._functions[index, name]

    def _defined(self, index: int, name: str) -> tuple[Defined | None, str]:
        """What the table of source ``index`` says of kernel ``name``, and where that is defined."""
        source = self.sources[index]
        defined = (self._tables[index] or {}).get(name)
        if defined is None or defined.line is None:
            return defined, source.label
        return defined, f"{source.label if defined.file is None else source.label_of(defined.file)}:{defined.line}"

    def _refuse(self, index: int, error: HipError) -> None:
        self.broken[index] = str(error)
        self.refused.add(index)

    def _would_define(self, index: int, name: str, module: str) -> bool:
        """Whether the broken source ``index`` is where kernel ``name`` was meant to be."""
        names = self._defined_names(index)
        return self.sources[index].mentions(name, module) if names is None else name in names

    def _may_define(self, index: int, name: str) -> bool:
        """Whether source ``index`` must be compiled to know if it defines ``name``."""
        names = self._defined_names(index)
        return index in self._modules or names is None or name in names

    def _defined_names(self, index: int) -> frozenset[str] | None:
        if self.broken.get(index, "").startswith(COMPILER_LOST):
            return None  # what the compiler does not come to an end with, the preprocessor may not either
        if index not in self._names:
            self._port.begin(f"compiling {self.sources[index].label}")
            self._names[index] = defined_names(self.sources[index], self._port.options)
        return self._names[index]

    def _loaded(self, index: int) -> bool:
        """Whether source ``index`` is loaded, now or before; if not, it is known as broken or unavailable."""
        if index in self.broken or index in self.unavailable:
            return False
        try:
            self._load(index)
        except CompileError as error:
            self.broken[index] = first_error(self.sources[index].labelled(error.log))
        except HipError as error:
            self._refuse(index, error)
        except SourceError as error:
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
            found = self._compiled(source)
            code, self._lacks[index] = found.code, found.broken
            if source.is_code_object and self._kind.code == "host":
                _refuse_foreign(source, self._kind.name)
            if self._kind.code == "amd":
                self._tables[index], code = amd_table(source, code, self._port.arch())
            self._code[index] = code
        try:
            self._modules[index], rows = self._port.loader().load(self._code[index], source.label)
        except Lost as lost:
            raise LostLoading(index, lost) from None
        if index not in self._tables:
            own = host_table(source, self._code[index]) if self._kind.code == "host" else None
            self._tables[index] = reported_table(rows) if own is None and rows is not None else own


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
            for definition in defined_kernels(
                source.path,
                folders,
                (*defines, *options.defines),
                options.forced,
                options.undefines,
                options.std,
            )
        )
    except (AmdError, ScanError):
        return None


def _refuse_foreign(source: KernelSource, runtime: str) -> None:
    """Raises ``InfrastructureError`` for a code object that only an AMD GPU can run."""
    try:
        targets = ", ".join(code.target for code in read_code_objects(source.path))
    except AmdError:
        return  # none of AMD's, or damaged: the runtime says what it is
    raise InfrastructureError(
        f"{source.label}: is for an AMD GPU ({targets}), the {runtime} runtime runs host code; give the sources, or "
        "interpret it with --runtime isa"
    )


def first_to_compile(sources: Sequence[KernelSource], modules: set[str]) -> list[int]:
    """Which sources to compile before anything runs: those named after ``modules``; all where one has no file."""
    named = [index for index, source in enumerate(sources) if source.path.stem in modules]
    covered = {sources[index].path.stem for index in named} >= modules
    return named if covered else list(range(len(sources)))
