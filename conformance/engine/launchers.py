"""The launchers of a tree: which source defines which host function, compiled with its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from conformance.engine.compiling import Compiler
from conformance.engine.library import Found, LostLoading, Port
from conformance.engine.remote import Function, KernelRow, Lost
from conformance.outcome import INFRASTRUCTURE
from conformance.port.code_objects import embedded
from conformance.port.compiling.cache import Made
from conformance.port.definitions.errors import ScanError
from conformance.port.definitions.kernels import Definition
from conformance.port.launchers import difference, launchers_in, mangled_in, may_define, spells
from conformance.port.line_tables import LineTable, read_line_table, with_places
from conformance.port.sources import SourceError, find_sources
from conformance.port.unlinked import explained
from conformance.processes import InfrastructureError
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import NOT_SUPPORTED, CompileError, HipError, first_error
from conformance.spec.kernel import Kernel
from conformance.toolchains.targets import AmdError


class Loader(Protocol):
    """Where compiled sources are loaded and host functions are found: an executor, or this process."""

    def load(self, code: bytes, label: str, launchers: bool = False) -> tuple[int, list[KernelRow] | None]: ...

    def launcher(self, module: int, name: str) -> Function | None: ...


class Launchers:
    """The host functions of ``port`` among those called ``wanted``, compiled with their kernels by ``compiler`` and
    loaded where ``loader`` says.

    ``broken`` and ``unavailable`` are by the index of a source, as in ``Library``.
    """

    def __init__(self, port: Port, compiler: Compiler, loader: Callable[[], Loader], wanted: Sequence[str]) -> None:
        self.broken: dict[int, str] = {}
        self.unavailable: dict[int, str] = {}
        self._sources = find_sources(port.path)
        self._port = port
        self._compiler = compiler
        self._loader = loader
        self._wanted = wanted
        self._refused: set[int] = set()
        self._candidates: list[int] | None = None
        self._defined: dict[int, dict[str, Definition]] = {}
        self._unread: dict[int, str] = {}
        self._made: dict[int, Made] = {}
        self._lines: dict[int, LineTable] = {}
        self._is_amd = runtime_kind(port.runtime).code == "amd"
        self._modules: dict[int, int] = {}
        self._functions: dict[tuple[int, str], Function | None] = {}

    def renewed(self) -> None:
        """The loader is another one: nothing is loaded there yet."""
        self._modules.clear()
        self._functions.clear()

    def compile(self, index: int) -> None:
        """Compile source ``index`` into the cache, host functions and kernels.

        Raises ``CompileError``, ``HipError``, ``SourceError`` and ``InfrastructureError``.
        """
        if self._compiler.no_launchers() is None:
            self._made[index] = self._compiler.compiled(self._sources[index], launchers=True)

    def find(self, launcher: Kernel) -> Found:
        """The function of ``launcher``, or why there is none. Raises ``Lost`` and ``LostLoading``."""
        name = self._port.names.port(launcher.name)
        for index in self._spelling():
            definition = self._definitions(index).get(name)
            if definition is None:
                continue
            source = self._sources[index]
            place = f"{source.label_of(str(definition.file))}:{definition.line}"
            differs = difference(launcher, definition)
            if differs is not None:
                return Found(None, "signature", place, differs)
            lacking = self._compiler.no_launchers()
            if lacking is not None:
                return Found(None, "not_run", place, lacking)
            self._load(index)
            if index in self.unavailable:
                return Found(None, "not_run", place, self.unavailable[index])
            refused = source if index in self._refused else None
            if index in self.broken:
                return Found(None, "compile_error", place, self.broken[index], refused)
            function = self._function(index, name)
            if function is None:
                lacks = self._made[index].broken.get(name)
                if lacks is not None:
                    return Found(None, "compile_error", place, lacks.why, source)
                return Found(None, "compile_error", place, "the compiled source does not export it")
            return Found(function, "pass", place, None, with_places=partial(self._with_places, index))
        for index, why in self._unread.items():
            if spells(self._sources[index], name):
                return Found(None, "compile_error", self._sources[index].label, why)
        for index in self._spelling():
            source, options = self._sources[index], self._port.options
            if (one := mangled_in(source, options).get(name)) and index not in self._unread:
                place = f"{source.label_of(str(one.file))}:{one.line}"
                return Found(None, "missing", None, f'{place} defines it without extern "C": its symbol is mangled')
        return Found(None, "missing", None, None)

    def _spelling(self) -> list[int]:
        """The sources that may define one of the launchers at all."""
        if self._candidates is None:
            names = [self._port.names.port(name) for name in self._wanted]
            self._candidates = [
                index for index, source in enumerate(self._sources) if may_define(source, names, self._port.options)
            ]
        return self._candidates

    def _definitions(self, index: int) -> dict[str, Definition]:
        if index not in self._defined:
            try:
                self._defined[index] = launchers_in(self._sources[index], self._port.options)
            except ScanError as error:
                self._defined[index], self._unread[index] = {}, ": ".join(self._sources[index].told(error))
        return self._defined[index]

    def _load(self, index: int) -> None:
        if index in self._modules or index in self.broken or index in self.unavailable:
            return
        source = self._sources[index]
        try:
            if index not in self._made:
                self._made[index] = self._compiler.compiled(source, launchers=True)
            code = self._made[index].code
            self._modules[index], _ = self._loader().load(code, source.label, launchers=True)
        except Lost as lost:
            raise LostLoading(index, lost) from None
        except CompileError as error:
            self._lack(index, first_error(source.labelled(error.log)))
            if index in self.broken:
                self._refused.add(index)
        except HipError as error:
            if error.code == NOT_SUPPORTED:
                self.unavailable[index] = str(error)
            else:
                self._lack(index, str(error))
        except SourceError as error:
            self.broken[index] = str(error)
        except InfrastructureError as error:
            self.unavailable[index] = f"{INFRASTRUCTURE}{error}"

    def _lack(self, index: int, why: str) -> None:
        """Remember that the library of source ``index`` was not linked or loaded."""
        found = explained(why, self._sources[index], self._sources, self._port.options)
        (self.broken if found.of_the_port else self.unavailable)[index] = found.why

    def _with_places(self, index: int, message: str) -> str:
        """``message`` of a fault in a kernel of source ``index``, with lines where its code has line tables."""
        source = self._sources[index]

        def table() -> LineTable:
            if index not in self._lines:
                try:
                    code = embedded(self._made[index].code, self._port.arch(), source.label)
                    self._lines[index] = read_line_table(code)
                except AmdError:
                    self._lines[index] = LineTable()
            return self._lines[index]

        return with_places(message, table, source) if self._is_amd else message

    def _function(self, index: int, name: str) -> Function | None:
        if (index, name) not in self._functions:
            self._functions[index, name] = self._loader().launcher(self._modules[index], name)
        return self._functions[index, name]
