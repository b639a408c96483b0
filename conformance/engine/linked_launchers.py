"""The launchers of a tree: which source defines which host function, compiled with its kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import ClassVar

from conformance.engine.compiler import Compiler
from conformance.engine.library import Found, Loader, LostLoading, Piece, TreeLoader, not_compiled
from conformance.engine.modes import Tree
from conformance.engine.remote_executor import Lost, RemoteFunction
from conformance.outcome import INFRASTRUCTURE
from conformance.port.code_objects import embedded
from conformance.port.compiling.cache import Made
from conformance.port.definitions.scan import Definition
from conformance.port.definitions.source_text import ScanError
from conformance.port.launchers import difference, explained, full_text, host_functions, launchers_in, spells, stem
from conformance.port.sources import SourceError
from conformance.processes import InfrastructureError
from conformance.runtimes.hip.errors import UNSUPPORTED, HipError
from conformance.spec.entry import Build
from conformance.spec.kernel import Kernel
from conformance.toolchains.compile_error import CompileError, first_error


class Launchers(TreeLoader):
    """The launchers of a tree: host functions, compiled together with their kernels to shared libraries."""

    build: ClassVar[Build] = "launchers"
    loads_what_it_compiles: ClassVar[bool] = False

    def __init__(self, tree: Tree, compiler: Compiler, loader: Callable[[], Loader]) -> None:
        super().__init__(tree, compiler, loader)
        self._refused: set[str] = set()
        self._defined: dict[str, dict[str, Definition]] = {}
        self._unread: dict[str, str] = {}
        self._made: dict[str, Made] = {}

    def compile(self, label: str, first: int = 0, step: int = 1) -> None:
        """Compile source ``label``, host functions and kernels, into the cache. Nothing is loaded, and there are no
        parts.

        Raises ``CompileError``, ``HipError``, ``SourceError`` and ``InfrastructureError``.
        """
        if self._compiler.no_launchers() is None:
            self._made[label] = self._compiler.compiled(self._sources[label], self.build)

    def find(self, kernel: Kernel) -> Found:
        """The function of a launcher, or why there is none. Raises ``Lost`` and ``LostLoading``."""
        name = self.port_name(kernel)
        for label in self._spelling(name):
            definition = self._definitions(label).get(name)
            if definition is None:
                continue
            source = self._sources[label]
            place = f"{source.label_of(str(definition.file))}:{definition.line}"
            differs = difference(kernel, definition)
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
                return not_compiled(place, self.broken[label], refused)
            function = self._function(label, name)
            if function is None:
                lacks = self._made[label].broken.get(name)
                if lacks is not None:
                    return not_compiled(place, lacks.why, source)
                return Found(None, "compile_error", place, "the compiled source does not export it")
            with_places = partial(self._with_places, Piece(label))
            return Found(
                function, "pass", place, None, None, with_places, self._digest(Piece(label), self._made[label].code)
            )
        for label, why in self._unread.items():
            if spells(self._sources[label], name):
                return Found(None, "compile_error", label, why)
        for label in self._spelling(name):
            source, options = self._sources[label], self._compiler.options
            if (one := host_functions(source, options, extern_c=False).get(name)) and label not in self._unread:
                place = f"{source.label_of(str(one.file))}:{one.line}"
                return Found(None, "missing", None, f'{place} defines it without extern "C": its symbol is mangled')
        return Found(None, "missing", None, None)

    def _spelling(self, name: str) -> list[str]:
        """The sources that may define launcher ``name``, and others that begin as it does."""
        beginning = stem(name).encode()
        return [label for label, text in self._texts.items() if beginning in text]

    @cached_property
    def _texts(self) -> dict[str, bytes]:
        """The text of each source with its headers, by label."""
        return {label: full_text(source, self._compiler.options) for label, source in self._sources.items()}

    def _definitions(self, label: str) -> dict[str, Definition]:
        if label not in self._defined:
            try:
                self._defined[label] = launchers_in(self._sources[label], self._compiler.options)
            except ScanError as error:
                self._defined[label], self._unread[label] = {}, ": ".join(self._sources[label].located(error))
        return self._defined[label]

    def _load(self, label: str) -> None:
        if Piece(label) in self._modules or label in self.broken or label in self.unavailable:
            return
        source = self._sources[label]
        try:
            if label not in self._made:
                self._made[label] = self._compiler.compiled(source, self.build)
            code = self._made[label].code
            self._modules[Piece(label)], _ = self._loader().load(code, source.label, self.build)
        except Lost as lost:
            raise LostLoading(label, lost) from None
        except CompileError as error:
            self._lack(label, first_error(source.labelled(error.log)))
            if label in self.broken:
                self._refused.add(label)
        except HipError as error:
            if error.code in UNSUPPORTED:
                self.unavailable[label] = str(error)
            else:
                self._lack(label, str(error))
        except SourceError as error:
            self.broken[label] = str(error)
        except InfrastructureError as error:
            self.unavailable[label] = f"{INFRASTRUCTURE}{error}"

    def _lack(self, label: str, why: str) -> None:
        """Remember that the library of source ``label`` was not linked or loaded."""
        found = explained(why, self._sources[label], self._sources.values(), self._compiler.options)
        (self.broken if found.of_the_port else self.unavailable)[label] = found.why

    def _code_of(self, piece: Piece) -> bytes:
        return embedded(self._made[piece.label].code, self._compiler.arch, piece.label)

    def _loaded_code(self, piece: Piece) -> bytes:
        return self._made[piece.label].code

    def _function(self, label: str, name: str) -> RemoteFunction | None:
        piece = Piece(label)
        if (piece, name) not in self._functions:
            self._functions[piece, name] = self._loader().function(self._modules[piece], name)
        return self._functions[piece, name]
