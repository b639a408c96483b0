"""Which compiler makes AMD code objects of a source: the runtime's hiprtc, or hipcc.

``hipcc`` stands for the compiler that ports written for it mean: ROCm's own clang (amdclang++ or hipcc), else a clang
with the AMDGPU target. hiprtc brings declarations of its own before the first line of a source, and refuses some that
hipcc takes.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from conformance.port.compiling.logs import COMPILER_LOST
from conformance.runtimes.hip.errors import first_error
from conformance.runtimes.rocm.hiprtc import HEADER_PACKAGES

if TYPE_CHECKING:
    from conformance.toolchains.amd import Toolchain


class NoHipcc(RuntimeError):
    """There is no hipcc, or what there is cannot compile for the target; the message says what was looked for."""


def require_hipcc(arch: str = "") -> Toolchain:
    """The compiler that ``hipcc`` means on this machine, for ``arch``; raises ``NoHipcc``."""
    # Imported when there is a need: it takes as long as the whole start of a process that compiles.
    from conformance.toolchains.amd import ENVIRONMENT, HIPCC_KINDS, find_toolchain
    from conformance.toolchains.errors import AmdError
    from conformance.toolchains.targets import target

    try:
        targets = [target(arch)] if arch else []
        found = find_toolchain(targets, None if os.environ.get(ENVIRONMENT) else HIPCC_KINDS)
    except (AmdError, OSError) as error:
        raise NoHipcc(str(error)) from None
    if found.minimal_headers:
        raise NoHipcc(f"{found.name} lacks HIP's headers; install {HEADER_PACKAGES}, or ROCm")
    return found


@lru_cache(maxsize=8)
def toolchain_for(arch: str) -> Toolchain | None:
    """As ``require_hipcc``, asked once per process; ``None`` where there is none."""
    try:
        return require_hipcc(arch)
    except NoHipcc:
        return None


def refused_by_hiprtc(log: str) -> str:
    """The log of a source that hiprtc refuses where nobody else can be asked, which its first line says."""
    if log.startswith(COMPILER_LOST):
        return log
    return f"{first_error(log)} (hiprtc; there is no hipcc to try)\n\n{log}"


def refused_by_both(hiprtc: str, hipcc: str, name: str) -> str:
    """The log of a source that both compilers refuse: the first error of each in the first line, then both logs.

    A log of a compiler that was lost stays recognisable as such.
    """
    if hipcc.startswith(COMPILER_LOST):
        return f"{hipcc} ({name}); hiprtc: {first_error(hiprtc)}\n\n{hiprtc}"
    head = f"hiprtc: {first_error(hiprtc)}; {name}: {first_error(hipcc)}"
    return f"{head}\n\nhiprtc:\n{hiprtc.rstrip()}\n\n{name}:\n{hipcc}"
