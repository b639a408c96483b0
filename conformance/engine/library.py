"""The kernels of a tree: which code object defines which, and with what parameters."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple, Protocol

from conformance.engine.compiler import Compiler
from conformance.engine.modes import Tree
from conformance.engine.protocol import KernelRow
from conformance.engine.remote_executor import Lost, RemoteFunction
from conformance.outcome import INFRASTRUCTURE
from conformance.port.bundles import CompressedBundle
from conformance.port.code_objects import code_for, read_code_objects
from conformance.port.compiling.diagnostics import COMPILER_LOST
from conformance.port.compiling.partly import Broken
from conformance.port.compiling.shards import Part
from conformance.port.declared.adapters import adapter_difference, adapter_of
from conformance.port.definitions.preprocess import CUDA_DEFINES, HIP_DEFINES
from conformance.port.definitions.scan import scan_source
from conformance.port.definitions.source_text import ScanError
from conformance.port.launchers import identifiers
from conformance.port.line_tables import LineTable, read_line_table, with_places
from conformance.port.options import BuildOptions
from conformance.port.signature import Given, arguments, compiled, difference
from conformance.port.sources import KernelSource, SourceError
from conformance.processes import InfrastructureError
from conformance.runtimes.cpu.table import host_kernels
from conformance.runtimes.hip.errors import HipError
from conformance.spec.entry import Build
from conformance.spec.kernel import Kernel
from conformance.status import Status
from conformance.toolchains.compile_error import CompileError, first_error
from conformance.toolchains.headers import NEWER, lacks_function
from conformance.toolchains.targets import AmdError, OtherDevice

_NO_REFUSALS = (COMPILER_LOST, "hipModuleLoad", "error: its code cannot be loaded")
"""How it begins of one that was compiled, or that no compiler has judged."""


class Loader(Protocol):
    """What loads code objects for a ``Library``: an executor, or this process in a timer."""

    def load(self, code: bytes, label: str, build: Build = "kernels") -> tuple[int, Sequence[KernelRow] | None]: ...

    def function(self, module: int, name: str) -> RemoteFunction | None: ...


class LostLoading(Exception):
    """The executor was lost while it loaded the code of ``source``: a static constructor crashed, exited or hung."""

    def __init__(self, source: str, lost: Lost) -> None:
        super().__init__(str(lost))
        self.source, self.lost = source, lost


Asked = tuple[str, str]
"""A kernel that a run judges: its module, and its name in the specs."""


class Piece(NamedTuple):
    """What becomes one code object: a source, by its label, or a part of it."""

    label: str
    part: Part | None = None


@dataclass(frozen=True)
class Found:
    """The function of a kernel, or the status and the message that say why there is none."""

    function: RemoteFunction | None
    status: Status
    source: str | None
    message: str | None
    refused: KernelSource | None = None
    """The source that a compiler has refused, or this kernel of it."""
    with_places: Callable[[str], str] = str
    """A fault's message with lines of the source, where it names instructions by their address."""
    code: str = ""
    """The SHA-256 of the code object that has the function."""


def not_compiled(place: str, why: str, source: KernelSource | None) -> Found:
    """The result for a kernel that does not compile because of ``why``. ``source`` is given if a compiler refused
    it."""
    if lacks_function(why):
        return Found(None, "not_run", place, f"{INFRASTRUCTURE}{why}; {NEWER}")
    return Found(None, "compile_error", place, why, source)


class Finder(ABC):
    """Finds the functions of one kind of entry: kernels, launchers or library calls.

    ``broken`` has the sources that do not compile or load, by label, with the first error. ``unavailable`` has those of
    which nothing is known because of the machine. ``deadly`` has those that an executor did not survive loading; they
    are not loaded again.
    """

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self.unavailable: dict[str, str] = {}
        self.deadly: dict[str, str] = {}
        self._given: dict[str, str] = {}

    @abstractmethod
    def find(self, kernel: Kernel) -> Found:
        """The function of ``kernel``, or why there is none. Raises ``HipError``, ``Lost`` and ``LostLoading``."""

    def begin(self, broken: Mapping[str, str], unavailable: Mapping[str, str]) -> None:
        """Begin an attempt to judge one kernel, and forget what the previous attempt learned.

        ``broken`` and ``unavailable`` are what is known since the run compiled its sources.
        """
        self._begin({}, {})

    def _begin(self, broken: Mapping[str, str], unavailable: Mapping[str, str]) -> None:
        self._given = {**broken, **self.deadly}
        self.broken, self.unavailable = dict(self._given), dict(unavailable)

    @property
    def has_broken(self) -> bool:
        """Whether a source did not compile or load in this attempt."""
        return self.broken != self._given

    @property
    def has_refused(self) -> bool:
        """Whether the device refused to load a code object in this attempt."""
        return False

    def keep_broken(self) -> None:
        """Keep what is broken for later attempts, because it was learned in an executor in which nothing else had
        run."""
        self.deadly.update(self.broken)

    def blame(self, label: str, why: str) -> None:
        """Note that loading source ``label`` cost an executor, because of ``why``."""
        self.deadly[label] = why

    def renewed(self) -> None:  # noqa: B027 (nothing to forget where nothing is loaded)
        """Note that there is another loader, which has loaded nothing yet."""

    def loaded(self) -> dict[str, bytes]:
        """The code objects that the loader holds, by their SHA-256."""
        return {}

    def code_of(self, digest: str) -> bytes:
        """The AMD code object with the SHA-256 ``digest`` in which a kernel was found; empty where there is none."""
        return b""


class TreeLoader(Finder):
    """What kernels and launchers have in common: the sources of ``tree`` are compiled to ``build``, and loaded on
    demand.

    ``loader`` is called for the current loader whenever something is to be loaded.
    """

    build: ClassVar[Build]

    loads_what_it_compiles: ClassVar[bool]
    """Whether ``compile`` loads the code too, which shows what else is wrong with it."""

    def __init__(self, tree: Tree, compiler: Compiler, loader: Callable[[], Loader]) -> None:
        super().__init__()
        self._sources = {source.label: source for source in tree.sources}
        self._names = tree.declared.names
        self._compiler = compiler
        self._loader = loader
        self._lines: dict[Piece, LineTable] = {}
        self._modules: dict[Piece, int] = {}
        self._functions: dict[tuple[Piece, str], RemoteFunction | None] = {}
        self._digests: dict[Piece, str] = {}

    @abstractmethod
    def compile(self, label: str, first: int = 0, step: int = 1) -> None:
        """Compile source ``label``; if it is compiled in parts, every ``step``-th of them from number ``first`` on.

        Raises ``CompileError``, ``HipError``, ``SourceError``, ``InfrastructureError`` and ``LostLoading``.
        """

    def renewed(self) -> None:
        self._modules.clear()
        self._functions.clear()

    def port_name(self, kernel: Kernel) -> str:
        """The port's name of ``kernel``, whose name in the specs is Candle's."""
        return self._names.port(kernel.name)

    @abstractmethod
    def _code_of(self, piece: Piece) -> bytes:
        """The code object of the kernels of ``piece``; raises ``AmdError`` where none can be read."""

    def _digest(self, piece: Piece, code: bytes) -> str:
        if piece not in self._digests:
            self._digests[piece] = hashlib.sha256(code).hexdigest()
        return self._digests[piece]

    def loaded(self) -> dict[str, bytes]:
        codes = [(piece, self._loaded_code(piece)) for piece in self._modules]
        return {self._digest(piece, code): code for piece, code in codes}

    @abstractmethod
    def _loaded_code(self, piece: Piece) -> bytes:
        """What was loaded of ``piece``."""

    def _table(self, piece: Piece) -> LineTable:
        if piece not in self._lines:
            try:
                self._lines[piece] = read_line_table(self._code_of(piece))
            except AmdError:
                self._lines[piece] = LineTable()
        return self._lines[piece]

    def _with_places(self, piece: Piece, message: str) -> str:
        """``message`` of a fault in code of ``piece``, with lines where that code has line tables."""
        is_amd = self._compiler.kind.code == "amd"
        return with_places(message, lambda: self._table(piece), self._sources[piece.label]) if is_amd else message


class Library(TreeLoader):
    """The kernels of a tree.

    ``asked`` are the kernels that the run judges, each a module and a name of the specs. A source with several of them
    is compiled in parts, each to a code object of its own. Without ``asked`` every source is compiled as a whole. A
    part only counts for what is found in it: if it has an error or lacks a kernel, the whole source decides.

    ``refused`` are the sources whose code objects the device did not load.
    """

    build: ClassVar[Build] = "kernels"
    loads_what_it_compiles: ClassVar[bool] = True

    def __init__(
        self, tree: Tree, compiler: Compiler, loader: Callable[[], Loader], asked: Collection[Asked] = ()
    ) -> None:
        super().__init__(tree, compiler, loader)
        self.refused: set[str] = set()
        self._adapters = tree.declared.adapter
        self._asked = frozenset(self._names.port(name) for _, name in asked)
        self._of_module: dict[str, set[str]] = {}
        for module, name in asked:
            self._of_module.setdefault(module, set()).add(self._names.port(name))
        self._parts: dict[str, tuple[Part, ...] | None] = {}
        self._useless: set[Piece] = set()
        self._not_loaded: set[str] = set()
        self._code: dict[Piece, bytes] = {}
        self._lacks: dict[str, Mapping[str, Broken]] = {}
        self._may_have: dict[str, frozenset[str] | None] = {}
        self._tables: dict[Piece, Table | None] = {}

    def compile(self, label: str, first: int = 0, step: int = 1) -> None:
        """Compile source ``label`` into the cache and load it.

        If it is compiled in parts, that is every ``step``-th part from number ``first`` on, and the whole source if one
        of these is of no use. Raises ``CompileError``, ``HipError``, ``SourceError``, ``InfrastructureError`` and
        ``LostLoading``.
        """
        parts = self._parts_of(label)
        mine = [Piece(label, part) for part in (parts or ())[first::step]]
        useful = [self._loads(piece) for piece in mine]
        if not all(useful) or (not parts and first == 0):
            self._load(Piece(label))

    def read_ahead(self, first: int, step: int) -> Iterator[None]:
        """Find the parts of every ``step``-th source that has kernels to judge, from number ``first`` on, one source at
        a time. Those with most kernels come first. Nothing is compiled."""
        wanted = [source for source in self._sources.values() if source.path.stem in self._of_module]
        for source in sorted(wanted, key=lambda source: -len(self._of_module[source.path.stem]))[first::step]:
            self._parts_of(source.label)
            yield

    def begin(self, broken: Mapping[str, str], unavailable: Mapping[str, str]) -> None:
        self._begin(broken, unavailable)
        self.refused.clear()

    @property
    def has_refused(self) -> bool:
        return bool(self.refused)

    def blame(self, label: str, why: str) -> None:
        super().blame(label, why)
        self._not_loaded.add(label)  # nor any part of it

    def code_of(self, digest: str) -> bytes:
        piece = next((piece for piece, known in self._digests.items() if known == digest), None)
        return b"" if piece is None else self._loaded_code(piece)

    def kernels(self, label: str) -> tuple[str, ...]:
        """The kernels of source ``label`` that were found in one of its code objects."""
        return tuple(name for piece, table in self._tables.items() if piece.label == label for name in table or ())

    def find(self, kernel: Kernel) -> Found:
        """The function of ``kernel``, or why there is none. Raises ``Lost`` and ``LostLoading``.

        A file named after the kernel's module is looked into first; another is compiled only when the kernel is not
        there and the other seems to define it.
        """
        name = self.port_name(kernel)
        broken: Found | None = None
        for label, source in sorted(self._sources.items(), key=lambda item: item[1].path.stem != kernel.module):
            if source.path.stem != kernel.module and not self._may_define(label, name):
                continue
            part = self._part_with(label, name)
            found = None if part is None else self._found_in(part, name, kernel)
            if found is not None:
                return found
            if part is not None:
                self._compiler.lacks(label, name)
                if self._is_decided_by(part, name):
                    continue
            if not self._loaded(label):
                continue
            lacking = self._lacks[label].get(name)
            if lacking is not None:
                broken = broken or not_compiled(lacking.place, lacking.why, source)
                continue
            found = self._found_in(Piece(label), name, kernel)
            if found is not None:
                return found
        for label, why in self.unavailable.items():
            if self._would_define(label, name, kernel.module):
                return Found(None, "not_run", label, f"{INFRASTRUCTURE}{why}")
        for label, why in self.broken.items():
            if self._would_define(label, name, kernel.module):
                refused = None if label in self.refused or why.startswith(_NO_REFUSALS) else self._sources[label]
                return Found(None, "compile_error", label, why, refused)
        return broken or Found(None, "missing", None, self._why_missing(kernel, name))

    def _found_in(self, piece: Piece, name: str, kernel: Kernel) -> Found | None:
        """What is found of ``kernel``, by its ``name`` in the port, in the loaded ``piece``."""
        defined, place = self._defined(piece, name)
        adapter = adapter_of(self._adapters, kernel.name)
        if defined is None:
            difference = None
        elif adapter is None:
            difference = defined.difference(kernel)
        else:
            difference = None if defined.given is None else adapter_difference(adapter, kernel, defined.given)
        if difference is not None:
            return Found(None, "signature", place, difference)
        function = self._function(piece, name)
        if function is None:
            return None
        function = replace(function, most_threads=None if defined is None else defined.most_threads)
        with_places = partial(self._with_places, piece)
        return Found(function, "pass", place, None, None, with_places, self._digest(piece, self._code[piece]))

    def _parts_of(self, label: str) -> tuple[Part, ...] | None:
        if label not in self._parts:
            source = self._sources[label]
            self._parts[label] = self._compiler.parts(source, self._asked, self._of_module.get(source.path.stem, ()))
        return self._parts[label]

    def _part_with(self, label: str, name: str) -> Piece | None:
        """The part of source ``label`` that has kernel ``name``, loaded; ``None`` where the whole is to be asked.

        It is asked for even where the whole source is known not to compile. Other parts are compiled at the same time,
        and which of them is first must not decide over this kernel.
        """
        part = next((part for part in self._parts_of(label) or () if name in part.asked), None)
        return Piece(label, part) if part is not None and self._loads(Piece(label, part)) else None

    def _is_decided_by(self, piece: Piece, name: str) -> bool:
        """Whether the source does not define kernel ``name``: its whole text has been compiled for it."""
        table = self._tables[piece]
        return piece.part is not None and piece.part.whole and table is not None and name not in table

    def _loads(self, piece: Piece) -> bool:
        """Whether a part is loaded, now or before. Raises ``LostLoading``."""
        if piece in self._useless or piece.label in self._not_loaded:
            return False
        try:
            return self._load(piece)
        except (HipError, SourceError, InfrastructureError):  # what that is worth, the whole source shows
            self._useless.add(piece)
            return False

    def _why_missing(self, kernel: Kernel, name: str) -> str | None:
        """What is known of a kernel that no source defines."""
        spelling = [label for label, names in self._identifiers.items() if name in names]
        if spelling:
            target = "; --arch GFX sees what is there for that target" if self._compiler.kind.on_host else ""
            return f"{spelling[0]} mentions the name, but defines no such kernel in this build: look at its #if{target}"
        declared = f"no source defines {name}, the port's name for it in candle-parity.toml"
        return None if name == kernel.name else declared

    @cached_property
    def _identifiers(self) -> dict[str, frozenset[str]]:
        """The identifiers of each source that is text, by label."""
        return {label: identifiers(source) for label, source in self._sources.items() if not source.is_code_object}

    def _code_of(self, piece: Piece) -> bytes:
        return self._code[piece]

    def _loaded_code(self, piece: Piece) -> bytes:
        return self._code[piece]

    def _function(self, piece: Piece, name: str) -> RemoteFunction | None:
        """Kernel ``name`` of the loaded ``piece``; none that its table of kernels lacks, whoever says so."""
        table = self._tables[piece]
        if table is not None and name not in table:
            return None
        if (piece, name) not in self._functions:
            try:
                self._functions[piece, name] = self._loader().function(self._modules[piece], name)
            except HipError as error:
                if piece.part is None:
                    self._refuse(piece.label, error)
                else:
                    self._useless.add(piece)
                return None
        return self._functions[piece, name]

    def _defined(self, piece: Piece, name: str) -> tuple[Defined | None, str]:
        """What the table of ``piece`` says of kernel ``name``, and where that is defined."""
        source = self._sources[piece.label]
        defined = (self._tables[piece] or {}).get(name)
        if defined is None or defined.line is None:
            return defined, source.label
        return defined, f"{source.label if defined.file is None else source.label_of(defined.file)}:{defined.line}"

    def _refuse(self, label: str, error: HipError) -> None:
        self.broken[label] = str(error)
        self.refused.add(label)

    def _would_define(self, label: str, name: str, module: str) -> bool:
        """Whether the broken source ``label`` is where kernel ``name`` was meant to be."""
        names = self._defined_names(label)
        return self._sources[label].mentions(name, module) if names is None else name in names

    def _may_define(self, label: str, name: str) -> bool:
        """Whether source ``label`` must be compiled to know if it defines ``name``."""
        names = self._defined_names(label)
        return Piece(label) in self._modules or names is None or name in names

    def _defined_names(self, label: str) -> frozenset[str] | None:
        if any(why.startswith(COMPILER_LOST) for why in (self.broken.get(label, ""), self.unavailable.get(label, ""))):
            return None  # what the compiler does not come to an end with, the preprocessor may not either
        if label not in self._may_have:
            self._compiler.begin(f"compiling {label}")
            self._may_have[label] = defined_names(self._sources[label], self._compiler.options)
        return self._may_have[label]

    def _loaded(self, label: str) -> bool:
        """Whether source ``label`` is loaded, now or before; if not, it is known as broken or unavailable."""
        if label in self.broken or label in self.unavailable:
            return False
        try:
            self._load(Piece(label))
        except CompileError as error:
            why = first_error(self._sources[label].labelled(error.log))
            if lacks_function(why):
                self.unavailable[label] = f"{why}; {NEWER}"
            else:
                self.broken[label] = why
        except HipError as error:
            self._refuse(label, error)
        except SourceError as error:
            self.broken[label] = str(error)
        except InfrastructureError as error:
            self.unavailable[label] = str(error)
        else:
            return True
        return False

    def _load(self, piece: Piece) -> bool:
        """Compile and load ``piece``; whether it is loaded: a part that does not compile is not."""
        if piece in self._modules:
            return True
        source = self._sources[piece.label]
        if piece not in self._code:
            part = piece.part
            found = self._compiler.compiled(source) if part is None else self._compiler.compiled_part(source, part)
            if found is None:
                self._useless.add(piece)
                return False
            code = found.code
            if part is None:
                self._lacks[piece.label] = found.broken
            if source.is_code_object and self._compiler.kind.code == "host":
                _refuse_foreign(source, self._compiler.kind.name)
            if self._compiler.kind.code == "amd":
                self._tables[piece], code = amd_table(source, code, self._compiler.arch)
            self._code[piece] = code
        try:
            self._modules[piece], rows = self._loader().load(self._code[piece], source.label, self.build)
        except Lost as lost:
            raise LostLoading(piece.label, lost) from None
        if piece not in self._tables:
            own = host_table(source, self._code[piece]) if self._compiler.kind.code == "host" else None
            self._tables[piece] = reported_table(rows) if own is None and rows is not None else own
        return True


def defined_names(source: KernelSource, options: BuildOptions) -> frozenset[str] | None:
    """The kernels that a source defines, whether or not it compiles; ``None`` where that cannot be found out.

    Without an option for the dialect, those of both dialects: only the compiler finds out which one the headers make
    it.
    """
    try:
        if source.is_code_object:
            return frozenset(name for code in read_code_objects(source.path) for name in code.kernels)
        chosen = {"hip": (HIP_DEFINES,), "cuda": (CUDA_DEFINES,)}.get(options.dialect, (HIP_DEFINES, CUDA_DEFINES))
        return frozenset(
            definition.name
            for defines in (chosen if source.path.suffix == ".cu" else chosen[:1])
            for definition in scan_source(source, options, defines).kernels
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


@dataclass(frozen=True)
class Defined:
    """A kernel of a code object.

    ``difference`` says how its parameters differ from the spec's; ``None`` where they do not. ``line`` is the line of
    its definition in ``file``, a header's path or the source's label. ``most_threads`` is the largest block that it was
    compiled for. Both are ``None`` where the code object does not say.
    """

    difference: Callable[[Kernel], str | None]
    line: int | None = None
    file: str | None = None
    most_threads: int | None = None
    given: tuple[Given, ...] | None = None
    """Its parameters; ``None`` where they are not known."""


Table = Mapping[str, Defined]


def amd_table(source: KernelSource, code: bytes, arch: str) -> tuple[Table, bytes]:
    """The kernels of ``code`` for a device of ``arch``, and the bytes of the code object that has them.

    Out of an offload bundle these are the bytes of one entry: what is loaded is what was read. Raises ``SourceError``.
    Raises ``InfrastructureError`` for code that cannot be read here or is for other devices, which is no kernel's
    fault.
    """
    try:
        chosen, own = code_for(code, arch, source.label)
    except (CompressedBundle, OtherDevice) as error:
        raise InfrastructureError(str(error)) from None
    except AmdError as error:
        raise SourceError(str(error)) from None
    return {
        name: Defined(
            partial(difference, given=arguments(kernel)),
            most_threads=kernel.max_workgroup or None,
            given=tuple(arguments(kernel)),
        )
        for name, kernel in chosen.kernels.items()
    }, own


def host_table(source: KernelSource, code: bytes) -> Table:
    """The kernels in code for the host, with their types as they are written in the source. Raises ``SourceError``."""
    try:
        kernels = host_kernels(code)
    except ValueError as error:
        raise SourceError(f"{source.label}: {error}") from None
    return {
        kernel.name: _defined([compiled(type, size) for type, size in kernel.params], kernel.line, kernel.file)
        for kernel in kernels
    }


def reported_table(rows: Sequence[KernelRow]) -> Table:
    """The kernels that a runtime reports as ``rows``."""
    return {row.name: _defined([compiled(one.type, one.size) for one in row.params], row.line) for row in rows}


def _defined(given: Sequence[Given], line: int | None, file: str | None = None) -> Defined:
    return Defined(partial(difference, given=given), line, file, given=tuple(given))
