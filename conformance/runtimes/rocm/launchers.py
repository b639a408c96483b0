"""How launchers become shared libraries for AMD targets: by hipcc, ROCm's clang, or another with HIP's headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.runtimes.kind import LauncherBuild

if TYPE_CHECKING:
    from conformance.toolchains.libraries import LibraryCompiler


def _compiler(arch: str) -> LibraryCompiler | str:
    # Imported when there is a need: it takes as long as the start of a process.
    from conformance.toolchains.libraries import amd_library_compiler

    return amd_library_compiler(arch)


BUILD = LauncherBuild(compiler=_compiler)
