"""The kernel files under a path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.port.definitions.source_text import MOST, ScanError, SourceError, read_source
from conformance.reading import MIB, kind_of, read_bytes, shortened

__all__ = ["CODE_OBJECT_SUFFIXES", "HEADER_SUFFIXES", "SOURCE_SUFFIXES", "KernelSource", "SourceError", "find_sources"]

SOURCE_SUFFIXES = (".hip", ".cu")
HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".inc", ".inl", *SOURCE_SUFFIXES)
CODE_OBJECT_SUFFIXES = (".hsaco", ".co")
MOST_CODE = 1024 * MIB
"""Bytes of the largest code object."""

_LIBRARIES = (".so", ".a")
_WANTED = (*SOURCE_SUFFIXES, *CODE_OBJECT_SUFFIXES)
_CODE_OBJECTS = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")


@dataclass(frozen=True)
class KernelSource:
    """A file to compile, or a code object to load as it is.

    ``root`` is the path that was given; for a single file, its folder. It is on the include path, and all headers in it
    are part of the cache key.
    """

    path: Path
    root: Path

    @property
    def is_code_object(self) -> bool:
        """Whether it is a ``.hsaco`` file, which is not compiled."""
        return self.path.suffix in CODE_OBJECT_SUFFIXES

    @property
    def label(self) -> str:
        """The file's name in reports, relative to the folder above the root: ``kernels/unary.hip``."""
        return f"{self.root.name}/{self.path.relative_to(self.root).as_posix()}"

    def label_of(self, file: str) -> str:
        """The name in reports of ``file``, this source or a header, in which a compiler says that a kernel is
        defined."""
        path = Path(os.path.normpath(file))
        if not path.is_absolute():
            # Compilers work in the folder above the root, and so name a header as labels do; else it is the source.
            return path.as_posix() if file.startswith(f"{self.root.name}/") else self.label
        return (
            f"{self.root.name}/{path.relative_to(self.root).as_posix()}"
            if path.is_relative_to(self.root)
            else path.name
        )

    def located(self, error: ScanError) -> tuple[str, str]:
        """The place of ``error`` (``FILE`` or ``FILE:LINE``, as reports name the file), and what is wrong."""
        file = self.label_of(os.path.abspath(error.path))
        return file if error.line is None else f"{file}:{error.line}", error.problem

    def labelled(self, log: str) -> str:
        """A compiler's ``log``, with the files below the root named as in reports."""
        return log.replace(f"{self.root}{os.sep}", f"{self.root.name}/")

    def text(self) -> str:
        """The text. Raises ``SourceError`` where it cannot be read or used, as ``read_source``."""
        return read_source(self.path)

    def code(self) -> bytes:
        """The bytes of a code object. Raises ``SourceError`` where it cannot be read or is no ELF file."""
        try:
            code = read_bytes(self.path, MOST_CODE)
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be read ({error.strerror})") from error
        if not code.startswith(_CODE_OBJECTS):
            raise SourceError(f"{self.path}: is not a code object (an ELF file or an offload bundle was expected)")
        return code

    def mentions(self, kernel: str, module: str) -> bool:
        """Whether ``kernel`` seems to be in this file: it is named after the kernel's ``module``, or contains the
        kernel's name."""
        if self.path.stem == module or self.is_code_object:
            return self.path.stem == module
        return re.search(rf"\b{re.escape(kernel)}\b", self.loose_text()) is not None

    def loose_text(self) -> str:
        """The text as far as it can be read, for searching. It raises nothing; ``text`` does."""
        try:
            return read_bytes(self.path, MOST).decode("utf-8", "replace")
        except OSError:
            return ""


def find_sources(path: Path) -> list[KernelSource]:
    """The kernel files at ``path``, sorted by path; ``path`` is one file, or a folder that is searched with its
    subfolders.

    A kernel file that cannot be read (a link to nothing, a FIFO) is in the list, and is reported for the kernels that
    should be in it. Raises ``SourceError`` where the path does not exist, is neither folder nor file, cannot be read,
    or has no kernel file.
    """
    kinds = ", ".join(_WANTED)
    try:
        exists = path.exists()
    except OSError as error:
        raise SourceError(f"kernels path {shortened(str(path))} cannot be read ({error.strerror})") from None
    if not exists:
        raise SourceError(f"kernels path {path} does not exist; give a folder or a file with one of {kinds}")
    kind = kind_of(path)
    if kind not in (None, "a folder"):
        raise SourceError(f"kernels path {path} is {kind}; give a folder or a file with one of {kinds}")
    if kind is None:
        if path.suffix not in _WANTED:
            raise SourceError(f"kernels path {path} is not a kernel file; expected one of {kinds}{_built(path)}")
        return _nameable([KernelSource(path.resolve(), path.resolve().parent)])
    root = path.resolve()
    try:
        files = sorted(_below(root))
    except OSError as error:
        where = error.filename or path
        raise SourceError(f"kernels path {path} cannot be read ({where}: {error.strerror})") from error
    if not files:
        raise SourceError(f"kernels path {path} holds no kernel file; expected one of {kinds}{_built(root)}")
    return _nameable([KernelSource(file, root) for file in files])


def _nameable(sources: list[KernelSource]) -> list[KernelSource]:
    """``sources``; raises ``SourceError`` for one that a line of a compiler's messages cannot name."""
    for source in sources:
        if len(str(source.path).splitlines()) > 1:
            raise SourceError(f"kernel file {str(source.path)!r} has a line break in its path; rename it")
    return sources


def _built(path: Path) -> str:
    """What to do about a library of kernels that is all that ``path`` is, or holds."""
    files = [path] if path.is_file() else [file for suffix in _LIBRARIES for file in path.rglob(f"*{suffix}")]
    library = next((file for file in files if file.suffix in _LIBRARIES), None)
    if library is None:
        return ""
    return f"; {library.name} is built already: give its sources, or its code objects (clang's --offload-device-only)"


def _below(root: Path) -> Iterator[Path]:
    """What has the name of a kernel file below ``root``, links to folders not followed; raises ``OSError``."""

    def failed(error: OSError) -> None:
        raise error

    for folder, _, names in os.walk(root, onerror=failed):
        for name in names:
            # .#name: the lock that an editor keeps while a file is open, a link to nothing.
            if os.path.splitext(name)[1] in _WANTED and not name.startswith(".#"):
                yield Path(folder, name)
