"""Reads ``specs/*.yaml`` into ``Kernel`` rows, and finds kernels by pattern."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, fields
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgpack

from conformance.cache import ObjectFolder
from conformance.files import PACKAGE, cache_folder, spec_folder
from conformance.reading import MIB, read_bytes, shortened
from conformance.spec import SelectionError, SpecError
from conformance.spec.entry import ENTRIES, ROWS, Entry
from conformance.spec.kernel import Fix, Kernel, Parameter, Tolerance, Undefined
from conformance.text import did_you_mean


def specs_digest(paths: Iterable[Path]) -> str:
    """16 hexadecimal digits over the names and bytes of the spec files ``paths``. Raises ``OSError``."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        digest.update(f"{path.name}\0{hashlib.sha256(read_bytes(path)).hexdigest()}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


UPSTREAM_REPOSITORY = "huggingface/candle"
UPSTREAM_COMMIT = "2a13b0f3ff62f7e67013597f2996f764c5735e21"
SPEC_FOLDER = spec_folder()
_FIELDS = tuple(one.name for one in fields(Kernel))
_LONGEST = 200
_MOST_KEPT = 16 * MIB

_Found = tuple[Sequence[Kernel], Mapping[Entry, Sequence["SpecModule"]]]


@dataclass(frozen=True)
class SpecModule:
    """One spec file: the module's name, what it does, its upstream file with its line count, its families in order."""

    name: str
    title: str
    source: str
    source_lines: int
    families: tuple[str, ...]


@dataclass(frozen=True)
class Specs:
    """All kernels by name and all modules by name, both in the order of the spec files.

    ``launchers`` and ``launcher_modules`` are the same of the linked host functions, ``libraries`` and
    ``library_modules`` of the calls of libraries: each is counted apart. So are ``own`` and ``own_modules``, the
    kernels that a port has and Candle has not (``conformance.spec.own``), and likewise ``own_launchers``.

    ``digest`` is over the names and bytes of the files. ``given`` is their folder where they are not the harness's own.
    """

    kernels: dict[str, Kernel]
    modules: dict[str, SpecModule]
    upstream_repository: str = UPSTREAM_REPOSITORY
    upstream_commit: str = UPSTREAM_COMMIT
    digest: str = ""
    given: Path | None = None
    launchers: dict[str, Kernel] = field(default_factory=dict)
    launcher_modules: dict[str, SpecModule] = field(default_factory=dict)
    libraries: dict[str, Kernel] = field(default_factory=dict)
    library_modules: dict[str, SpecModule] = field(default_factory=dict)
    own: dict[str, Kernel] = field(default_factory=dict)
    own_modules: dict[str, SpecModule] = field(default_factory=dict)
    own_launchers: dict[str, Kernel] = field(default_factory=dict)
    own_launcher_modules: dict[str, SpecModule] = field(default_factory=dict)
    own_digest: str | None = None

    def entry(self, name: str) -> Kernel:
        """The kernel, launcher, library call or own kernel ``name``; raises ``KeyError`` where there is none."""
        for part in map(self.of, ENTRIES):
            if name in part:
                return part[name]
        raise KeyError(name)

    @property
    def entries(self) -> dict[str, Kernel]:
        """Every kernel, launcher, library call and own kernel, by name."""
        return {name: kernel for entry in ENTRIES for name, kernel in self.of(entry).items()}

    @property
    def loaded_by_name(self) -> dict[str, Kernel]:
        """Candle's kernels and the port's own, by name: what a code object has under that name."""
        return {**self.kernels, **self.own}

    @property
    def linked_by_name(self) -> dict[str, Kernel]:
        """Candle's launchers and the port's own, by name: the host functions that a port's sources may define."""
        return {**self.launchers, **self.own_launchers}

    @property
    def of_port(self) -> dict[str, Kernel]:
        """What the port has and Candle has not, by name: own kernels, then own launchers."""
        return {**self.own, **self.own_launchers}

    def of(self, entry: Entry) -> dict[str, Kernel]:
        """The kernels, launchers, library calls or own kernels, by name, in the order of the spec files."""
        part: dict[str, Kernel] = getattr(self, ROWS[entry].part)
        return part

    def modules_of(self, entry: Entry) -> dict[str, SpecModule]:
        """The modules of the kernels, launchers, library calls or own kernels, by name."""
        modules: dict[str, SpecModule] = getattr(self, ROWS[entry].modules)
        return modules

    def select(
        self, patterns: Sequence[str] = (), module: str | Sequence[str] | None = None, launchers: bool = False
    ) -> list[Kernel]:
        """The kernels that match any of the glob ``patterns`` (all without one) and belong to ``module``, or to one of
        several, when given, and the port's own behind them; with ``launchers`` those and the calls of libraries too.

        They come in spec order, each once. Raises ``SelectionError`` for a module that does not exist and for a
        pattern that matches nothing (within the modules), with the nearest names.
        """
        modules = [module] if isinstance(module, str) else list(module or ())
        known = [*dict.fromkeys((*self.modules, *self.own_modules, *self.own_launcher_modules))]
        known += [*self.launcher_modules, *self.library_modules] if launchers else []
        entries = {**self.loaded_by_name, **self.own_launchers}
        entries |= {**self.launchers, **self.libraries} if launchers else {}
        for name in modules:
            if name not in known:
                raise SelectionError(
                    f"no module is called {shortened(name)!r}{did_you_mean(name, known)}; the modules are "
                    f"{', '.join(known)}"
                )
        names = [name for name, kernel in entries.items() if not modules or kernel.module in modules]
        chosen: set[str] = set()
        for pattern in patterns or ("*",):
            # A longer one matches nothing, and takes long to say so.
            found = [] if len(pattern) > _LONGEST else [name for name in names if fnmatchcase(name, pattern)]
            if not found:
                raise SelectionError(_nothing(pattern, modules, names))
            chosen.update(found)
        return [entries[name] for name in names if name in chosen]


def _nothing(pattern: str, modules: Sequence[str], names: Iterable[str]) -> str:
    where = f" in module {' or '.join(modules)}" if modules else ""
    near = did_you_mean(pattern[:_LONGEST].strip("*"), names, most=5, cutoff=0.5)
    return (
        f"pattern {shortened(pattern, _LONGEST)!r} matches no kernel{where}"
        f"{near or '; `candle-parity list` prints every name'}"
    )


def load_specs(folder: Path | None = None) -> Specs:
    """Every ``*.yaml`` of ``folder`` (default: the shipped specs), read or as it is kept; raises ``SpecError``."""
    folder = SPEC_FOLDER if folder is None else folder
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    if not paths:
        raise SpecError(folder, None, "no spec found", "give a folder that holds *.yaml files")
    kernels, of = _kept(paths) or _parsed(paths)
    parts: dict[str, Any] = {row.part: {} for row in ROWS.values()}
    for kernel in kernels:
        parts[ROWS[kernel.entry].part][kernel.name] = kernel
    parts |= {ROWS[entry].modules: {module.name: module for module in found} for entry, found in of.items()}
    digest = specs_digest(paths)
    own = folder.resolve() == SPEC_FOLDER or digest == specs_digest(SPEC_FOLDER.glob("*.yaml"))
    return Specs(**parts, digest=digest, given=None if own else folder)


def _kept(paths: Sequence[Path]) -> _Found | None:
    """What the cache folder has of these files, by the digests of them and of what parses them; else it is put there,
    where there is nothing wrong with them."""
    own = (*PACKAGE.glob("spec/*.py"), PACKAGE / "dtypes.py")
    try:
        key = f"{specs_digest(paths)}-{specs_digest(own)}"
    except OSError:
        return None
    folder = cache_folder() / "specs"
    with suppress(KeyError):
        return _unpacked(folder, key)
    found = _parsed(paths)
    rows = [astuple(kernel) for kernel in found[0]]
    modules = {entry: [astuple(module) for module in every] for entry, every in found[1].items()}
    content = msgpack.packb((rows, modules), unicode_errors="surrogatepass")
    objects = _objects(folder)
    with objects.turn(key, 0.0) as ours:
        if ours and key.startswith(specs_digest(paths)):  # they are what was parsed
            objects.keep(key, content)
    return found


def _objects(folder: Path) -> ObjectFolder:
    return ObjectFolder(folder, "parsed", _MOST_KEPT)


@lru_cache(maxsize=1)
def _unpacked(folder: Path, key: str) -> _Found:
    """What is kept in ``folder`` under ``key``, read once in a process; raises ``KeyError`` if nothing is there."""
    content = _objects(folder).read(key)
    if content is None:
        raise KeyError(key)
    rows, modules = msgpack.unpackb(content, use_list=False, unicode_errors="surrogatepass")
    return list(map(_kernel, rows)), {entry: [SpecModule(*row) for row in found] for entry, found in modules.items()}


def _kernel(row: tuple[Any, ...]) -> Kernel:
    values = dict(zip(_FIELDS, row, strict=True))
    values["params"] = tuple(Parameter(*each) for each in values["params"])
    values["tolerance"] = Tolerance(*values["tolerance"])
    values["fix"] = values["fix"] and Fix(*values["fix"])
    values["undefined"] = tuple(Undefined(*each) for each in values["undefined"])
    return Kernel(**values)


def _parsed(paths: Sequence[Path]) -> _Found:
    """What the files say; raises ``SpecError``."""
    # Here, for what is kept does without YAML and pydantic.
    from pydantic import ValidationError

    from conformance.spec.expand import expand
    from conformance.spec.explain import explain
    from conformance.spec.model import SpecFile
    from conformance.spec.nodes import read_document

    kernels: list[Kernel] = []
    modules: dict[Entry, list[SpecModule]] = {entry: [] for entry in ENTRIES}
    places: dict[str, str] = {}
    for path in paths:
        document = read_document(path)
        try:
            spec = SpecFile.model_validate(document.data)
        except ValidationError as cause:
            raise explain(document, cause) from None
        if spec.module != path.stem:
            raise document.error(("module",), f"module {spec.module!r} in {path.name}", f"call it {path.stem!r}")
        for entry, found in modules.items():
            families = tuple(dict.fromkeys(stanza.family for stanza in spec.families if stanza.entry == entry))
            if families:
                found.append(SpecModule(spec.module, spec.title, spec.source, spec.source_lines, families))
        for kernel, location in expand(document, spec):
            if kernel.name in places:
                raise document.error(
                    location,
                    f"kernel {kernel.name!r} is already defined at {places[kernel.name]}",
                    "keep one of the two, or tell them apart in the name template",
                )
            kernels.append(kernel)
            places[kernel.name] = f"{path}:{document.line(location)}"
    return kernels, modules
