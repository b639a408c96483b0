"""Adds to the specs the kernels that a port has and Candle has not, from the folders that its file names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.dtypes import DeclaredDType, declare
from conformance.own import OwnFolders
from conformance.reading import read_bytes
from conformance.spec import SpecError
from conformance.spec.entry import ENTRIES, OWN, ROWS, Entry
from conformance.spec.kernel import Kernel, Own
from conformance.spec.load import SpecModule, Specs

if TYPE_CHECKING:
    from conformance.spec.model import OwnSpecFile

_MOST_FILES = 1000
_MOST_BYTES = 64 << 20


def with_own(specs: Specs, folders: OwnFolders, trusted: bool) -> Specs:
    """``specs`` with the kernels of ``folders``; nothing of the port's Python is run for it. ``trusted`` says that it
    may be run later.

    From then on dtypes are Candle's and those of the port. Raises ``SpecError``, also for a name or a module that
    Candle has too, and for a module without a reference file.
    """
    paths = sorted(folders.specs.glob("*.yaml")) if folders.specs.is_dir() else []
    if not paths:
        raise SpecError(folders.file, None, f"[own] specs: no spec in {folders.specs}", "expected *.yaml files there")
    for what, folder in (("reference", folders.reference), ("families", folders.families)):
        if folder is not None and not folder.is_dir():
            raise SpecError(folders.file, None, f"[own] {what}: there is no folder {folder}", "make it, or correct it")
    _declare_dtypes(folders)
    digest = _digest(folders)
    taken = specs.entries
    modules = {name for entry in ENTRIES for name in specs.modules_of(entry)}
    kernels: dict[str, Kernel] = {}
    found: dict[Entry, dict[str, SpecModule]] = {entry: {} for entry in OWN}
    for path in paths:
        for kernel, module in _read(path, folders, taken, kernels, modules):
            reference = str(folders.reference / f"{module.name}.py")
            families = "" if folders.families is None else str(folders.families)
            kernels[kernel.name] = replace(kernel, own=Own(str(path), reference, families, digest, trusted))
            found[kernel.entry][module.name] = module
    parts: dict[str, Any] = {
        ROWS[entry].part: {name: kernel for name, kernel in kernels.items() if kernel.entry == entry} for entry in OWN
    }
    parts |= {ROWS[entry].modules: found[entry] for entry in OWN}
    return replace(specs, **parts, own_digest=digest)


def _declare_dtypes(folders: OwnFolders) -> None:
    """Have dtypes be Candle's and those that the port's file has, if there is one; raises ``SpecError``."""
    if folders.dtypes is None:
        declare(())
        return
    # Here, as a run without own kernels does without YAML and pydantic's models.
    from pydantic import ValidationError

    from conformance.spec.explain import explain
    from conformance.spec.model import DTypeFile
    from conformance.spec.nodes import read_document

    document = read_document(folders.dtypes)
    try:
        content = DTypeFile.model_validate(document.data)
    except ValidationError as cause:
        raise explain(document, cause, DTypeFile) from None
    try:
        declare([DeclaredDType(name, row.numpy, tuple(row.c), row.saturates) for name, row in content.dtypes.items()])
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        problem, _, remedy = problem.partition("; ")
        raise document.error(("dtypes", name), f"dtype {name!r}: {problem}", remedy) from None


def _read(
    path: Path, folders: OwnFolders, taken: dict[str, Kernel], kernels: dict[str, Kernel], modules: set[str]
) -> Iterator[tuple[Kernel, SpecModule]]:
    """The kernels of one file; see ``with_own``. ``kernels`` are those of the port's files before it."""
    # Here, as a run without own kernels does without YAML and pydantic's models.
    from pydantic import ValidationError

    from conformance.spec.expand import expand
    from conformance.spec.explain import explain
    from conformance.spec.model import OwnSpecFile
    from conformance.spec.nodes import read_document

    document = read_document(path)
    try:
        spec = OwnSpecFile.model_validate(document.data)
    except ValidationError as cause:
        raise explain(document, cause, OwnSpecFile) from None
    if spec.module != path.stem:
        raise document.error(("module",), f"module {spec.module!r} in {path.name}", f"call it {path.stem!r}")
    if not spec.module.isidentifier():
        raise document.error(("module",), f"{spec.module!r} is no name of a Python module", "use letters, digits and _")
    if spec.module in modules:
        remedy = "name the module, its file and its reference otherwise"
        raise document.error(("module",), f"{spec.module!r} is one of Candle's modules", remedy)
    reference = folders.reference / f"{spec.module}.py"
    if not reference.is_file():
        functions = ", ".join(dict.fromkeys(stanza.family for stanza in spec.families))
        remedy = f"add {_shown(reference, folders)} with a function for each family: {functions}"
        raise document.error(("module",), f"module {spec.module!r} has no reference", remedy)
    modules_by_entry = {
        entry: SpecModule(spec.module, spec.title, _shown(path, folders), len(document.lines), families)
        for entry, families in _families(spec).items()
    }
    for kernel, place in expand(document, spec, _shown(path, folders)):
        if kernel.name in taken:
            what = f"is one of Candle's {ROWS[taken[kernel.name].entry].plural}"
            remedy = "its spec judges it already: take it out here, or give the port's another name"
            raise document.error(place, f"{kernel.name} {what} ({taken[kernel.name].upstream})", remedy)
        if kernel.name in kernels:
            problem = f"kernel {kernel.name!r} is already defined at {kernels[kernel.name].upstream}"
            raise document.error(place, problem, "keep one of the two, or tell them apart in the name template")
        yield kernel, modules_by_entry[kernel.entry]


def _families(spec: OwnSpecFile) -> dict[Entry, tuple[str, ...]]:
    """The families of the file's kernels and of its launchers, in order, each once."""
    return {
        entry: tuple(dict.fromkeys(stanza.family for stanza in spec.families if stanza.own_entry == entry))
        for entry in OWN
    }


def _shown(path: Path, folders: OwnFolders) -> str:
    """``path`` as it lies next to the port's file, for records and errors."""
    return os.path.relpath(path, folders.file.parent)


def _digest(folders: OwnFolders) -> str:
    """16 hexadecimal digits over the names and contents of every file in the folders: a reference may read data, too.

    Raises ``SpecError`` for more than such folders have: one may have named a whole disk.
    """
    digest, count, size = hashlib.sha256(), 0, 0
    places = [(folder, _files(folder)) for folder in folders.folders]
    if folders.dtypes is not None:
        places.append((folders.dtypes.parent, iter([folders.dtypes])))
    for number, (folder, files) in enumerate(places):
        for file in files:
            try:
                content = read_bytes(file, _MOST_BYTES)
            except OSError as cause:
                problem = f"cannot be read ({cause.strerror})"
                raise SpecError(file, None, problem, "correct it, or take it out") from None
            count, size = count + 1, size + len(content)
            if count > _MOST_FILES or size > _MOST_BYTES:
                problem = f"[own]: {folder} has more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB"
                raise SpecError(folders.file, None, problem, "name a folder of its own")
            digest.update(f"{number}\0{file.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _files(folder: Path) -> Iterator[Path]:
    """The regular files of ``folder`` and the folders in it, what links lead to among them: each once.

    Without hidden ones and what Python compiles, which say nothing of a kernel and change by themselves.
    """
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        files = (Path(place) / name for name in sorted(names) if not name.startswith("."))
        yield from (file for file in files if file.is_file())
