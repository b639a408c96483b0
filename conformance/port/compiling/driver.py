"""Compiling with hipcc, or another clang with the AMDGPU target, in the process that ``child`` is."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.port.compiling.diagnostics import ENDED_BY, without_copy
from conformance.port.compiling.reads import Reads
from conformance.toolchains.amd import AmdToolchain, CompileFailure
from conformance.toolchains.compile_error import CompileError, first_error
from conformance.toolchains.headers import NEWER, OF_ROCM, headers_of, hip_in, lacks_function
from conformance.toolchains.libraries import LibraryCompiler
from conformance.toolchains.targets import target

_KILLED = re.compile(r"unable to execute command: Killed")


def toolchain_of(fields: Mapping[str, Any]) -> AmdToolchain | LibraryCompiler:
    """The compiler that was sent as ``fields``."""
    if "is_clang" in fields:
        return LibraryCompiler(**{**fields, "command": tuple(fields["command"])})
    return AmdToolchain(**{**fields, "command": tuple(fields["command"]), "options": tuple(fields["options"])})


def compile_with(
    compiler: AmdToolchain | LibraryCompiler, text: str, label: str, flags: Sequence[str], arch: str, reads: Reads
) -> bytes:
    """The code object of ``text`` for ``arch``, or the shared library if ``compiler`` is a ``LibraryCompiler``.

    Messages call the text ``label``. ``reads`` receives the files that were read, also on failure. Raises
    ``CompileError``, ``AmdError`` for an ``arch`` that is not AMD's, and ``OSError``.
    """
    with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
        # A copy: what is compiled is what the cache's key was made of, whatever happens to the file meanwhile.
        copy, output = Path(folder, Path(label).name), Path(folder, "code")
        copy.write_bytes(text.encode())
        # Else the copy's path is in the code: in __FILE__, in line tables, and hashed in the name of a symbol.
        named = [f"-f{what}-prefix-map={copy}={label}" for what in ("macro", "debug")]
        named += ["-fdebug-compilation-dir=.", f"-cuid={hashlib.sha256(label.encode()).hexdigest()[:16]}"]
        named.append("-ferror-limit=0")  # every kernel that does not compile is to be found
        try:
            if isinstance(compiler, AmdToolchain):
                reads.add(compiler.compile(copy, target(arch), output, [*flags, *named]), (folder,))
            else:
                reads.listed = False
                compiler.compile(copy, output, [*flags, *(named if compiler.is_clang else ())])
        except CompileFailure as failure:
            reads.add(failure.files, (folder,))
            log = without_copy(failure.log or failure.first, copy, label)
            signal = -failure.code if failure.code < 0 else 9 if _KILLED.search(log) else 0
            raise CompileError(label, f"{log.rstrip()}\n{ENDED_BY}{signal}\n" if signal else log) from None
        return output.read_bytes()


_ABSENT = re.compile(r"fatal error: '([^']+)' file not found")


def lacked(toolchain: AmdToolchain | LibraryCompiler, log: str) -> str | None:
    """The header or function of a newer HIP for which a compilation with this ``log`` failed, in words; ``None`` for
    none."""
    error = first_error(log)
    return missing_header(toolchain, log) or (f"{error}; {NEWER}" if lacks_function(error) else None)


def missing_header(toolchain: AmdToolchain | LibraryCompiler, log: str) -> str | None:
    """The header of HIP that ``toolchain`` lacks and for which a compilation with this ``log`` failed, in words;
    ``None`` for none."""
    absent = _ABSENT.search(log)
    if absent is None or absent[1] not in OF_ROCM:
        return None
    return f"it includes <{absent[1]}>, which {_installation(toolchain)} does not have; {NEWER}"


def _installation(toolchain: AmdToolchain | LibraryCompiler) -> str:
    if isinstance(toolchain, AmdToolchain) and toolchain.minimal_headers:
        return "the minimal HIP header of candle-parity"
    folder = headers_of(toolchain.options if isinstance(toolchain, AmdToolchain) else toolchain.command)
    return f"the HIP of {toolchain.name}" if folder is None else hip_in(folder)
