"""The kernels of a tree: which code object defines which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.amd import AmdError, read_code_objects
from conformance.build import BuildOptions, KernelSource, SourceError, Target, compiled, find_sources
from conformance.compare.signature import CompiledParameter, signature_difference
from conformance.device import CompileError, Device, Function, HipError, Module
from conformance.device.hip import first_error
from conformance.engine.tasks import Status
from conformance.processes import Supervisor
from conformance.sources import CUDA_DEFINES, HIP_DEFINES, ScanError, defined_kernels
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class Found:
    """A kernel's function, or the status and message that say why there is none."""

    function: Function | None
    status: Status
    source: str | None
    message: str | None


class Library:
    """The sources under one path, compiled with ``options`` and loaded on demand.

    ``said`` is told what is being compiled, for a compilation may take longer than a case. Raises ``SourceError`` when
    the path cannot be used.
    """

    def __init__(
        self, path: Path, device: Device, options: BuildOptions, said: Callable[[str], None] = lambda _: None
    ) -> None:
        self.sources = find_sources(path)
        self._device = device
        self._target = Target(device.runtime.name, device.wave, device.arch, device.compiler_identity())
        self._supervisor = Supervisor()
        self._options = options
        self._said = said
        # AMD's hiprtc knows one dialect; ours reads -x as a compiler does.
        named = options.dialect != "auto" and device.runtime.name != "rocm"
        self._extra = ("-x", options.dialect) if named else ()
        self._names: dict[int, frozenset[str] | None] = {}
        self._modules: dict[int, Module] = {}
        self._broken: dict[int, str] = {}
        self._defined: dict[tuple[int, str], tuple[str, tuple[CompiledParameter, ...]]] = {}

    def compile(self, index: int) -> None:
        """Compile source ``index`` into the cache; raises ``CompileError``, ``HipError`` or ``SourceError``."""
        self._load(index)

    def find(self, kernel: Kernel, broken: dict[int, str]) -> Found:
        """The function of ``kernel``; ``broken`` holds the sources not to try, with the reason.

        A file named after the kernel's module is looked into first; another is compiled only when the kernel is not
        there and the other seems to define it.
        """
        self._broken.update(broken)
        for index in sorted(range(len(self.sources)), key=lambda i: self.sources[i].path.stem != kernel.module):
            source = self.sources[index]
            if source.path.stem != kernel.module and not self._may_define(index, kernel.name):
                continue
            module = self._loaded(index)
            function = self._device.function(module, kernel.name) if module is not None else None
            if function is None:
                continue
            label, parameters = self._defined.get((index, kernel.name), (source.label, None))
            difference = signature_difference(kernel, parameters)
            if difference is not None:
                return Found(None, "signature", label, difference)
            return Found(function, "pass", label, None)
        for index, why in self._broken.items():
            if self._would_define(index, kernel):
                return Found(None, "compile_error", self.sources[index].label, why)
        return Found(None, "missing", None, None)

    def _would_define(self, index: int, kernel: Kernel) -> bool:
        """Whether the broken source ``index`` is where ``kernel`` was meant to be."""
        names = self._defined_names(index)
        return self.sources[index].mentions(kernel.name, kernel.module) if names is None else kernel.name in names

    def _may_define(self, index: int, name: str) -> bool:
        """Whether source ``index`` must be compiled to know if it defines ``name``."""
        names = self._defined_names(index)
        return index in self._modules or names is None or name in names

    def _defined_names(self, index: int) -> frozenset[str] | None:
        if index not in self._names:
            self._names[index] = defined_names(self.sources[index], self._options)
        return self._names[index]

    def _loaded(self, index: int) -> Module | None:
        """The module of source ``index``, or ``None`` when it is broken."""
        if index in self._broken:
            return None
        try:
            return self._load(index)
        except CompileError as error:
            self._broken[index] = first_error(error.log)
        except (HipError, SourceError) as error:
            self._broken[index] = str(error)
        return None

    def _load(self, index: int) -> Module:
        module = self._modules.get(index)
        if module is None:
            source = self.sources[index]
            self._said(f"compiling {source.label}")
            code = compiled(source, self._target, self._supervisor, self._options, self._extra)
            if source.is_code_object and self._device.runtime.name == "cpu":
                _refuse_foreign(source)
            module = self._modules[index] = self._device.load(code, source.label)
            for row in self._device.runtime.module_kernels(int(module.handle)) or ():
                parameters = tuple(CompiledParameter(p["type"], p["size"]) for p in row["params"])
                where = source.label if row["line"] is None else f"{source.label}:{row['line']}"
                self._defined[index, row["name"]] = (where, parameters)
        return module


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


def _place(source: KernelSource, row: Mapping[str, Any]) -> str:
    """Where a kernel of ``source`` is defined: ``kernels/unary.hip:12``, or the header of the tree that defines it."""
    file = Path(row["file"])
    inside = file.is_absolute() and file.is_relative_to(source.root)
    label = f"{source.root.name}/{file.relative_to(source.root).as_posix()}" if inside else source.label
    return f"{label}:{row['line']}"


def first_to_compile(sources: Sequence[KernelSource], modules: set[str]) -> list[int]:
    """Which sources to compile before anything runs: those named after ``modules``; all where one has no file."""
    named = [index for index, source in enumerate(sources) if source.path.stem in modules]
    covered = {sources[index].path.stem for index in named} >= modules
    return named if covered else list(range(len(sources)))
