"""The kernel files under a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SOURCE_SUFFIXES = (".hip", ".cu")
HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".inc", ".inl", *SOURCE_SUFFIXES)
CODE_OBJECT_SUFFIXES = (".hsaco", ".co")
_CODE_OBJECTS = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")


class SourceError(ValueError):
    """A kernels path that cannot be used; the message says what was expected."""


@dataclass(frozen=True)
class KernelSource:
    """One file to compile, or one code object to load as it is.

    ``root`` is the path that was given (its folder, for a single file): on the include path, and part of the cache key
    with every header in it.
    """

    path: Path
    root: Path

    @property
    def is_code_object(self) -> bool:
        return self.path.suffix in CODE_OBJECT_SUFFIXES

    @property
    def is_cuda(self) -> bool:
        """Whether the file is CUDA's, as the cpu runtime sees it: a .cu file that names no HIP header."""
        if self.path.suffix != ".cu":
            return False
        return re.search(r'#[ \t]*include[ \t]*[<"]hip/', self.path.read_text(errors="replace")) is None

    @property
    def label(self) -> str:
        """How reports name the file: relative to the root's parent, ``kernels/unary.hip``."""
        return f"{self.root.name}/{self.path.relative_to(self.root).as_posix()}"

    def text(self) -> str:
        """The source text; raises ``SourceError`` when it cannot be read."""
        try:
            return self.path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"{self.path}: cannot be read as text ({error})") from error

    def code(self) -> bytes:
        """The bytes of a code object; raises ``SourceError`` when it cannot be read or is no ELF file."""
        try:
            code = self.path.read_bytes()
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be read ({error.strerror})") from error
        if not code.startswith(_CODE_OBJECTS):
            raise SourceError(f"{self.path}: is no code object (an ELF file or an offload bundle was expected)")
        return code

    def mentions(self, kernel: str, module: str) -> bool:
        """Whether this file looks like where ``kernel`` would be: named after its module, or spelling its name out."""
        if self.path.stem == module or self.is_code_object:
            return self.path.stem == module
        return re.search(rf"\b{re.escape(kernel)}\b", self.path.read_text(errors="replace")) is not None


def find_sources(path: Path) -> list[KernelSource]:
    """The kernel files at ``path``, a folder (searched through) or one file, sorted by path.

    Raises ``SourceError`` when the path does not exist, cannot be read, or holds no kernel file.
    """
    wanted = (*SOURCE_SUFFIXES, *CODE_OBJECT_SUFFIXES)
    kinds = ", ".join(wanted)
    if not path.exists():
        raise SourceError(f"kernels path {path} does not exist; give a folder or a file with one of {kinds}")
    if path.is_file():
        if path.suffix not in wanted:
            raise SourceError(f"kernels path {path} is no kernel file; expected one of {kinds}")
        return [KernelSource(path.resolve(), path.resolve().parent)]
    root = path.resolve()
    try:
        files = sorted(file for file in root.rglob("*") if file.suffix in wanted and file.is_file())
    except OSError as error:
        raise SourceError(f"kernels path {path} cannot be read ({error.strerror})") from error
    if not files:
        raise SourceError(f"kernels path {path} holds no kernel file; expected one of {kinds}")
    return [KernelSource(file, root) for file in files]
