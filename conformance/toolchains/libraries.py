"""Compilers that make a shared library of one source: its host functions, with the code of its kernels for a GPU."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conformance.processes import InfrastructureError
from conformance.processes.supervisor import run_bounded
from conformance.toolchains.amd import ENVIRONMENT, HIPCC_KINDS, SECONDS, CompileFailure, find_toolchain
from conformance.toolchains.headers import GET, headers_of, with_releases
from conformance.toolchains.targets import AmdError, target

_OF_HOST = re.compile(
    r"unable to execute command: Executable.*|invalid linker name in argument.*"
    r"|(?:unable to find library|cannot find) -l\w.*|(?:cannot open|cannot find) crt\w+\.o.*"
    r"|fatal error: '(?:c(?:math|stdint|stddef|stdlib|string|assert|limits)|algorithm|type_traits|utility|string"
    r"|stdlib\.h|stdint\.h)' file not found"
)
"""What a compiler says where it has no linker, or no C++ library of the host's."""


@dataclass(frozen=True)
class LibraryCompiler:
    """A compiler that makes a shared library of a source with host functions and kernels.

    ``command`` are its words and options, to which the source's options, the source and ``-o`` are added. ``identity``
    changes with everything that can change the code it makes. ``name`` is for reports. ``is_clang`` says that it takes
    clang's options for how files are named.
    """

    command: tuple[str, ...]
    name: str
    identity: str
    is_clang: bool = True

    def compile(self, source: Path, output: Path, options: Sequence[str] = ()) -> None:
        """Write the shared library of ``source`` to ``output``. Raises ``CompileFailure``.

        It cannot say which files it read: the compiler runs for the host and for the GPU, and lists the files of one of
        the two.
        """
        done = run_bounded([*self.command, *options, "-o", str(output), str(source)], SECONDS)
        if done.code is None:
            raise InfrastructureError(f"{source.name}: the compiler was stopped after {SECONDS} s")
        if done.code:
            log = with_releases(f"{done.err}{done.out}", headers_of(self.command))
            raise CompileFailure(f"the compiler ended with {done.code}", log, done.code)


@cache
def amd_library_compiler(arch: str) -> LibraryCompiler | str:
    """The compiler of libraries with code for the AMD GPU ``arch``; if there is none, a sentence that says what to
    install.

    A library is not linked with libamdhip64, because it has to use the one of the process that loads it.
    """
    try:
        wanted = target(arch)
        toolchain = find_toolchain([wanted], None if os.environ.get(ENVIRONMENT) else HIPCC_KINDS)
    except (AmdError, OSError) as error:
        return f"linked launchers are compiled by hipcc or another clang with HIP's headers: {error}"
    if toolchain.minimal_headers:
        return (
            f"linked launchers need HIP's own headers, which {toolchain.name} lacks; install ROCm, or on Debian and "
            f"Ubuntu the package libamdhip64-dev, or let {GET} bring them"
        )
    flags = ("-x", "hip", f"--offload-arch={wanted.name}", *toolchain.options, "-O3", "-std=c++17", *_AS_LIBRARY)
    return LibraryCompiler((*toolchain.command, *flags), toolchain.name, toolchain.identity)


_AS_LIBRARY = ("-shared", "-fPIC", "-fuse-ld=lld", "-Wl,-Bsymbolic", "-no-hip-rt")


def lacked_of_host(log: str) -> str | None:
    """What of the host was missing for a compilation with this ``log``, in words; ``None`` where the source is at
    fault."""
    lacking = _OF_HOST.search(log)
    if lacking is None:
        return None
    return (
        "its host code needs a linker and the C++ library of the host, and one of them is missing "
        f"({lacking[0].strip()}); install g++ and lld"
    )
