"""The launchers of a tree: which source defines which host function, compiled with its kernels."""

from __future__ import annotations

from functools import partial

from conformance.engine.compiler import Compiler
from conformance.engine.library import Found, LostLoading, Port
from conformance.engine.remote_executor import Function, Lost
from conformance.outcome import INFRASTRUCTURE
from conformance.port.code_objects import embedded
from conformance.port.compiling.cache import Made
from conformance.port.definitions.scan import Definition
from conformance.port.definitions.source_text import ScanError
from conformance.port.launchers import difference, explained, launchers_in, mangled_in, may_define, spells, stem
from conformance.port.line_tables import LineTable, read_line_table, with_places
from conformance.port.sources import SourceError
from conformance.processes import InfrastructureError
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import NOT_SUPPORTED, CompileError, HipError, first_error
from conformance.spec.kernel import Kernel
from conformance.toolchains.targets import AmdError


class Launchers:
    """The host functions of ``port``, compiled with their kernels by ``compiler`` and loaded on demand.

    ``broken`` and ``unavailable`` are by the label of a source, as in ``Library``.
    """

    def __init__(self, port: Port, compiler: Compiler) -> None:
        self.broken: dict[str, str] = {}
        self.unavailable: dict[str, str] = {}
        self._sources = {source.label: source for source in port.sources}
        self._port = port
        self._compiler = compiler
        self._refused: set[str] = set()
        self._candidates: dict[str, list[str]] = {}
        self._defined: dict[str, dict[str, Definition]] = {}
        self._unread: dict[str, str] = {}
        self._made: dict[str, Made] = {}
        self._lines: dict[str, LineTable] = {}
        self._is_amd = runtime_kind(port.runtime).code == "amd"
        self._modules: dict[str, int] = {}
        self._functions: dict[tuple[str, str], Function | None] = {}

    def renewed(self) -> None:
        """The loader is another one: nothing is loaded there yet."""
        self._modules.clear()
        self._functions.clear()

    def compile(self, label: str) -> None:
        """Compile source ``label`` into the cache, host functions and kernels.

        Raises ``CompileError``, ``HipError``, ``SourceError`` and ``InfrastructureError``.
        """
        if self._compiler.no_launchers() is None:
            self._made[label] = self._compiler.compiled(self._sources[label], launchers=True)

    def find(self, launcher: Kernel) -> Found:
        """The function of ``launcher``, or why there is none. Raises ``Lost`` and ``LostLoading``."""
        name = self._port.names.port(launcher.name)
        for label in self._spelling(name):
            definition = self._definitions(label).get(name)
            if definition is None:
                continue
            source = self._sources[label]
            place = f"{source.label_of(str(definition.file))}:{definition.line}"
            differs = difference(launcher, definition)
            if differs is not None:
                return Found(None, "signature", place, differs)
            lacking = self._compiler.no_launchers()
            if lacking is not None:
                return Found(None, "not_run", place, lacking)
            self._load(label)
            if label in self.unavailable:
                return Found(None, "not_run", place, self.unavailable[label])
            refused = source if label in self._refused else None
            if label in self.broken:
                return Found(None, "compile_error", place, self.broken[label], refused)
            function = self._function(label, name)
            if function is None:
                lacks = self._made[label].broken.get(name)
                if lacks is not None:
                    return Found(None, "compile_error", place, lacks.why, source)
                return Found(None, "compile_error", place, "the compiled source does not export it")
            return Found(function, "pass", place, None, with_places=partial(self._with_places, label))
        for label, why in self._unread.items():
            if spells(self._sources[label], name):
                return Found(None, "compile_error", label, why)
        for label in self._spelling(name):
            source, options = self._sources[label], self._port.options
            if (one := mangled_in(source, options).get(name)) and label not in self._unread:
                place = f"{source.label_of(str(one.file))}:{one.line}"
                return Found(None, "missing", None, f'{place} defines it without extern "C": its symbol is mangled')
        return Found(None, "missing", None, None)

    def _spelling(self, name: str) -> list[str]:
        """The sources that may define launcher ``name``, and others that begin as it does."""
        if stem(name) not in self._candidates:
            self._candidates[stem(name)] = [
                label for label, source in self._sources.items() if may_define(source, [name], self._port.options)
            ]
        return self._candidates[stem(name)]

    def _definitions(self, label: str) -> dict[str, Definition]:
        if label not in self._defined:
            try:
                self._defined[label] = launchers_in(self._sources[label], self._port.options)
            except ScanError as error:
                self._defined[label], self._unread[label] = {}, ": ".join(self._sources[label].told(error))
        return self._defined[label]

    def _load(self, label: str) -> None:
        if label in self._modules or label in self.broken or label in self.unavailable:
            return
        source = self._sources[label]
        try:
            if label not in self._made:
                self._made[label] = self._compiler.compiled(source, launchers=True)
            code = self._made[label].code
            self._modules[label], _ = self._port.loader().load(code, source.label, launchers=True)
        except Lost as lost:
            raise LostLoading(label, lost) from None
        except CompileError as error:
            self._lack(label, first_error(source.labelled(error.log)))
            if label in self.broken:
                self._refused.add(label)
        except HipError as error:
            if error.code == NOT_SUPPORTED:
                self.unavailable[label] = str(error)
            else:
                self._lack(label, str(error))
        except SourceError as error:
            self.broken[label] = str(error)
        except InfrastructureError as error:
            self.unavailable[label] = f"{INFRASTRUCTURE}{error}"

    def _lack(self, label: str, why: str) -> None:
        """Remember that the library of source ``label`` was not linked or loaded."""
        found = explained(why, self._sources[label], self._port.sources, self._port.options)
        (self.broken if found.of_the_port else self.unavailable)[label] = found.why

    def _with_places(self, label: str, message: str) -> str:
        """``message`` of a fault in a kernel of source ``label``, with lines where its code has line tables."""
        source = self._sources[label]

        def table() -> LineTable:
            if label not in self._lines:
                try:
                    code = embedded(self._made[label].code, self._port.arch(), source.label)
                    self._lines[label] = read_line_table(code)
                except AmdError:
                    self._lines[label] = LineTable()
            return self._lines[label]

        return with_places(message, table, source) if self._is_amd else message

    def _function(self, label: str, name: str) -> Function | None:
        if (label, name) not in self._functions:
            self._functions[label, name] = self._port.loader().function(self._modules[label], name, launcher=True)
        return self._functions[label, name]
