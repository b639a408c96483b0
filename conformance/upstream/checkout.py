"""A checkout of Candle: which of its kernel sources are loaded by name, and what they define."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.errors import UserError
from conformance.port.definitions.preprocess import CUDA_DEFINES
from conformance.port.definitions.scan import Definition, in_parallel, scan_file
from conformance.port.definitions.source_text import ScanError
from conformance.reading import read_bytes
from conformance.repository import Repository, RepositoryError
from conformance.upstream.rust import line_of, parse_file, text_of, walk

KERNEL_FOLDER = Path("candle-kernels/src")
LAUNCHERS = "ffi.rs"
"""The file next to the kernels that declares the launchers."""

# Below the first guard (5.3): what is defined only there, or a second time there, shows in a pass of its own.
_OLD_GPU = tuple("__CUDA_ARCH__=520" if define.startswith("__CUDA_ARCH__=") else define for define in CUDA_DEFINES)


class CheckoutError(UserError, ValueError):
    """A path is no Candle checkout. The message says what was expected where."""


@dataclass(frozen=True)
class ForeignFunction:
    """A foreign function that ffi.rs declares: its name, the line, and its parameters as pairs of name and type."""

    name: str
    line: int
    params: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        """The place of the declaration: ``ffi.rs:LINE``."""
        return f"{LAUNCHERS}:{self.line}"


@dataclass(frozen=True)
class Checkout:
    """What the kernel sources of a checkout define.

    ``modules`` has the number of lines of each module's source, ``kernels`` the definition of each kernel as a new GPU
    sees it, and ``alternatives`` the further definitions for older GPUs. ``other_sources`` are .cu files next to the
    modules, which Candle links and does not load by name; ``launchers`` are the functions of these that it declares.
    ``commit`` is ``None`` outside of git.
    """

    path: Path
    modules: dict[str, int]
    kernels: dict[str, Definition]
    alternatives: tuple[Definition, ...]
    other_sources: tuple[str, ...]
    commit: str | None
    launchers: Mapping[str, ForeignFunction] = field(default_factory=dict)


def read_checkout(path: Path, jobs: int = 2) -> Checkout:
    """Read the kernel sources of the checkout ``path``, with ``jobs`` preprocessors at a time.

    Raises ``CheckoutError``, ``RustError`` and ``ScanError``.
    """
    folder = kernel_folder(path)
    names = _modules(folder)
    sources = [folder / name for name in names]
    absent = next((source for source in sources if not source.is_file()), None)
    if absent is not None:
        raise CheckoutError(f"{folder / 'lib.rs'} names a module whose source {absent} does not exist")
    others = tuple(sorted(file.name for file in folder.glob("*.cu") if file.name not in names))
    kernels: dict[str, Definition] = {}
    for definition in _definitions(sources, CUDA_DEFINES, jobs):
        if definition.name in kernels:
            first = kernels[definition.name]
            raise ScanError(
                definition.file,
                definition.line,
                f"kernel {definition.name} is defined a second time (first at {first.file.name}:{first.line})",
            )
        kernels[definition.name] = definition
    alternatives = []
    for definition in _definitions(sources, _OLD_GPU, jobs):
        known = kernels.setdefault(definition.name, definition)
        if (known.file, known.line) != (definition.file, definition.line):
            alternatives.append(definition)
    lengths = {source.name: len(read_bytes(source).splitlines()) for source in sources}
    launchers = declared_launchers(folder)
    return Checkout(path, lengths, kernels, tuple(alternatives), others, _commit(path), launchers)


def kernel_folder(path: Path) -> Path:
    """The folder of kernel sources in the checkout ``path``. Raises ``CheckoutError`` where it is not there."""
    if not path.is_dir():
        raise CheckoutError(f"{path} is not a folder; give the root of a Candle checkout")
    folder = path / KERNEL_FOLDER
    if not folder.is_dir():
        raise CheckoutError(f"{path} holds no folder {KERNEL_FOLDER}; give the root of a Candle checkout")
    return folder


def declared_launchers(folder: Path) -> dict[str, ForeignFunction]:
    """The foreign functions that ffi.rs in ``folder`` declares, by name; none without that file. Raises
    ``RustError``."""
    file = folder / LAUNCHERS
    if not file.is_file():
        return {}
    functions: dict[str, ForeignFunction] = {}
    for node in walk(parse_file(file)):
        if node.type != "function_signature_item":
            continue
        name = text_of(node.child_by_field_name("name"))
        listed = node.child_by_field_name("parameters")
        params = [] if listed is None else [one for one in listed.named_children if one.type == "parameter"]
        pairs = ((text_of(one.child_by_field_name(part)) for part in ("pattern", "type")) for one in params)
        functions[name] = ForeignFunction(
            name, line_of(node), tuple((word, " ".join(kind.split())) for word, kind in pairs)
        )
    return functions


def _modules(folder: Path) -> list[str]:
    """The sources that lib.rs has an ``Id`` for, in its order."""
    library = folder / "lib.rs"
    for node in walk(parse_file(library)):
        if node.type == "enum_item" and text_of(node.child_by_field_name("name")) == "Id":
            body = node.child_by_field_name("body")
            variants = [] if body is None else [child for child in body.named_children if child.type == "enum_variant"]
            if not variants:
                raise CheckoutError(
                    f"{library}:{line_of(node)}: enum Id has no variants; expected one per kernel module"
                )
            names = [text_of(variant.child_by_field_name("name")) for variant in variants]
            return [re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() + ".cu" for name in names]
    raise CheckoutError(f"{library} has no enum Id, which lists the kernel modules since Candle 0.9")


def _definitions(sources: list[Path], defines: tuple[str, ...], jobs: int) -> list[Definition]:
    definitions = in_parallel(lambda source: scan_file(source, defines=defines).kernels, sources, jobs)
    # A template has no name of its own to ask for; a kernel without C linkage has another one.
    return [definition for kernels in definitions for definition in kernels if definition.extern_c]


def _commit(path: Path) -> str | None:
    """The commit of a checkout whose root is ``path``; a folder inside another repository has none of its own."""
    repository = Repository(path.absolute())
    if not (path / ".git").exists():
        return None
    try:
        return repository.commit()
    except RepositoryError:
        return None
