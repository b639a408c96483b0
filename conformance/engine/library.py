"""The kernels of a tree: which code object defines which."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conformance.build import KernelSource, compiled, find_sources
from conformance.compare.signature import CompiledParameter, signature_difference
from conformance.device import Device, Function, Module
from conformance.engine.tasks import Status
from conformance.spec.kernel import Kernel


@dataclass(frozen=True)
class Found:
    """A kernel's function, or the status and message that say why there is none."""

    function: Function | None
    status: Status
    source: str | None
    message: str | None


class Library:
    """The sources under one path, compiled and loaded on demand.

    Raises ``SourceError`` when the path cannot be used.
    """

    def __init__(self, path: Path, device: Device) -> None:
        self.sources = find_sources(path)
        self._device = device
        self._modules: dict[int, Module] = {}
        self._broken: dict[int, str] = {}
        self._defined: dict[str, tuple[Module, KernelSource, str, tuple[CompiledParameter, ...]]] = {}

    def compile(self, index: int) -> None:
        """Compile source ``index`` into the cache; raises ``CompileError``, ``HipError`` or ``SourceError``."""
        self._load(index)

    def find(self, kernel: Kernel, broken: dict[int, str]) -> Found:
        """The function of ``kernel``; ``broken`` holds the sources not to try, with the reason."""
        self._broken = broken
        for index, source in enumerate(self.sources):
            if index in broken:
                continue
            module = self._load(index)
            function = self._device.function(module, kernel.name)
            if function is None:
                continue
            label, parameters = self._definition(module, source, kernel.name)
            difference = signature_difference(kernel, parameters)
            if difference is not None:
                return Found(None, "signature", label, difference)
            return Found(function, "pass", label, None)
        for index, why in broken.items():
            if self.sources[index].mentions(kernel.name, kernel.module):
                return Found(None, "compile_error", self.sources[index].label, why)
        return Found(None, "missing", None, None)

    def _load(self, index: int) -> Module:
        module = self._modules.get(index)
        if module is None:
            source = self.sources[index]
            code = compiled(source, self._device)
            module = self._modules[index] = self._device.load(code, source.label)
            for row in self._device.runtime.module_kernels(int(module.handle)) or ():
                parameters = tuple(CompiledParameter(p["type"], p["size"]) for p in row["params"])
                self._defined[f"{index}:{row['name']}"] = (module, source, f"{source.label}:{row['line']}", parameters)
        return module

    def _definition(
        self, module: Module, source: KernelSource, name: str
    ) -> tuple[str, tuple[CompiledParameter, ...] | None]:
        """Where the kernel is defined and with what parameters, as far as the runtime can tell."""
        row = self._defined.get(f"{self.sources.index(source)}:{name}")
        return (row[2], row[3]) if row else (source.label, None)
