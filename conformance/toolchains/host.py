"""Finding a C++ compiler: one the user names, an installed one, or the one that comes from PyPI."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from conformance.toolchains.search import first_line, on_path, output_of, zig

OLDEST_CLANG = 16
OLDEST_GCC = 12
ENVIRONMENT = "CANDLE_PARITY_CXX"


class NoCompiler(RuntimeError):
    """There is no usable C++ compiler. The message says what was tried and what to install."""


@dataclass(frozen=True)
class HostToolchain:
    """A C++ compiler for the host: its command, its ``kind`` (``clang``, ``zig`` or ``gcc``), and its version.

    ``linker`` is empty where the compiler finds the linker on the PATH itself.
    """

    kind: str
    compiler: tuple[str, ...]
    linker: tuple[str, ...]
    identity: str


def find_toolchain(*, links_standard_library: bool) -> HostToolchain:
    """The compiler to use; raises ``NoCompiler``.

    Kernels are compiled with clang, zig's clang or g++, in that order: HIP is clang's dialect. Our own libraries link
    the C++ standard library, which zig first has to build (about a minute, once), so for them g++ goes before zig.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        return _named(tuple(shlex.split(named)))
    order: tuple[Callable[[], Iterator[HostToolchain]], ...] = (
        (_clangs, _gccs, _zig) if links_standard_library else (_clangs, _zig, _gccs)
    )
    for candidates in order:
        for toolchain in candidates():
            return toolchain
    raise NoCompiler(
        f"no C++ compiler was found (clang++ {OLDEST_CLANG} or newer, g++ {OLDEST_GCC} or newer, or the Python package "
        f"ziglang); install one (pip install ziglang needs no root), or name one in {ENVIRONMENT}"
    )


def wants_zig() -> bool:
    """Whether the extra ``zig`` is needed: no compiler is named, and there is no clang, or no linker for it.

    g++ alone is not enough, because it rounds and converts less like a GPU does.
    """
    if os.environ.get(ENVIRONMENT):
        return False
    return next(_clangs(), None) is None or not (shutil.which("ld.lld") or shutil.which("ld"))


def _named(command: tuple[str, ...]) -> HostToolchain:
    identity = _version(command)
    if identity is None:
        raise NoCompiler(
            f"{ENVIRONMENT}={shlex.join(command)}: this compiler cannot be run; give a C++ compiler's command"
        )
    kind = "zig" if "zig" in shlex.join(command) else "clang" if "clang" in identity else "gcc"
    linker = zig("ld.lld") if kind == "zig" else ()
    return HostToolchain(kind, command, linker, " ".join((identity, *command[1:])))


def _installed(name: str, kind: str, oldest: int) -> Iterator[HostToolchain]:
    for path in on_path(name, oldest):
        identity = _version((path,))
        if identity and _major(identity) >= oldest:
            linker = () if shutil.which("ld.lld") or shutil.which("ld") else zig("ld.lld")
            yield HostToolchain(kind, (path,), linker, identity)


_clangs = partial(_installed, "clang++", "clang", OLDEST_CLANG)
_gccs = partial(_installed, "g++", "gcc", OLDEST_GCC)


def _zig() -> Iterator[HostToolchain]:
    command = zig("c++")
    identity = _version(command) if command else None
    if identity:
        yield HostToolchain("zig", command, zig("ld.lld"), f"zig {identity}")


def _major(identity: str) -> int:
    match = re.search(r"(\d+)\.\d+", identity)
    return int(match[1]) if match else 0


@lru_cache
def _version(command: tuple[str, ...]) -> str | None:
    """The first line of ``WORDS --version``, or ``None`` when the command cannot be run."""
    return first_line(output_of((*command, "--version"))) or None
