"""Compilers that make a shared library of one source: its host functions, with the code of its kernels for a GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.processes.bounded import run_bounded
from conformance.toolchains.amd import SECONDS, CompileFailure

_OF_HOST = re.compile(
    r"unable to execute command: Executable.*|(?:unable to find library|cannot find) -l\w.*"
    r"|(?:cannot open|cannot find) crt\w+\.o.*"
    r"|fatal error: '(?:c(?:math|stdint|stddef|stdlib|string|assert|limits)|algorithm|type_traits|utility|string"
    r"|stdlib\.h|stdint\.h)' file not found"
)
"""What a compiler says where it has no linker, or no C++ library of the host's."""


@dataclass(frozen=True)
class LibraryCompiler:
    """``command`` are all words of the compiler's but the source's own, the source and ``-o``.

    ``identity`` changes with anything that can change its code; ``name`` says what it is, for reports. ``is_clang``
    says that it takes the options by which clang names files.
    """

    command: tuple[str, ...]
    name: str
    identity: str
    is_clang: bool = True

    def compile(self, source: Path, output: Path, options: Sequence[str] = ()) -> None:
        """Write the library of ``source`` to ``output``; raises ``CompileFailure``."""
        done = run_bounded([*self.command, *options, "-o", str(output), str(source)], SECONDS)
        if done.code is None:
            raise CompileFailure(f"{source.name}: the compiler took longer than {SECONDS} s", "")
        if done.code:
            raise CompileFailure(f"the compiler ended with {done.code}", f"{done.err}{done.out}", done.code)


def lacked_of_host(log: str) -> str | None:
    """What of the host's a compilation with this ``log`` failed for, in words; ``None`` where it is the source's."""
    found = _OF_HOST.search(log)
    if found is None:
        return None
    return (
        "its host code needs a linker and the C++ library of the host, and one of them is missing "
        f"({found[0].strip()}); install g++ and lld"
    )
