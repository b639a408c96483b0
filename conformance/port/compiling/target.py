"""What a source is compiled for and by whom, and what its compilation may take."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.port.compiling.diagnostics import COMPILER_LOST
from conformance.port.compiling.runtime_compiler import RuntimeCompiler
from conformance.toolchains.compile_error import first_error
from conformance.toolchains.headers import GET, HEADER_PACKAGES

if TYPE_CHECKING:
    from conformance.toolchains.amd import AmdToolchain


_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_SHARE = 0.75
WALL = 8
"""Seconds of wall time for a second of CPU time: another process may want the same cores."""


@dataclass(frozen=True)
class CompileTarget:
    """A runtime, and the architecture of a device, for which sources are compiled. No device is needed.

    ``identity`` is what a code object depends on besides source and options (``Device.compiler_identity``); cache keys
    contain it. ``wave`` is the wave size with which the runtime is opened. ``arch`` is the device's name (``gfx942``,
    ``sm_90``).
    """

    runtime: RuntimeCompiler
    wave: int | None
    arch: str
    identity: str

    def flags(self) -> tuple[str, ...]:
        """hiprtc's options for the architecture, for which it would otherwise ask a device."""
        return self.runtime.target_flags(self.arch)


@dataclass(frozen=True)
class CompileLimits:
    """What a compilation may take: ``seconds`` of CPU time for a source, and ``memory`` in bytes for each process."""

    seconds: float = 300.0
    memory: int = 8 << 30

    @property
    def wall(self) -> float:
        """The seconds after which a compiler is stopped that has not used up its CPU time, as it may be waiting for
        ever."""
        return WALL * self.seconds

    def bytes_here(self) -> int:
        """``memory``, or three quarters of what this machine or container has if that is less.

        A compiler that is refused memory says so; one that the system kills could have been killed for any reason.
        """
        here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        try:
            text = _CGROUP_LIMIT.read_text().strip()
        except OSError:
            text = ""
        if text.isdigit():
            here = min(here, int(text))
        return min(self.memory, int(here * _SHARE))


class NoHipcc(RuntimeError):
    """There is no hipcc, or it cannot compile for the target. The message says what was looked for."""


def require_hipcc(arch: str = "", alone: bool = False) -> AmdToolchain:
    """The compiler that ``hipcc`` stands for on this machine, for ``arch``. Raises ``NoHipcc``.

    With ``alone`` there is no hiprtc beside it. Then a compiler without HIP's headers will do, as it does for
    ``build``.
    """
    # Imported when there is a need: it takes as long as the whole start of a process that compiles.
    from conformance.toolchains.amd import ENVIRONMENT, HIPCC_KINDS, find_toolchain
    from conformance.toolchains.targets import AmdError, target

    try:
        targets = [target(arch)] if arch else []
        toolchain = find_toolchain(targets, None if alone or os.environ.get(ENVIRONMENT) else HIPCC_KINDS)
    except (AmdError, OSError) as error:
        raise NoHipcc(str(error)) from None
    if toolchain.minimal_headers and not alone:
        raise NoHipcc(
            f"{toolchain.name} lacks HIP's headers; install {HEADER_PACKAGES}, or ROCm, or let {GET} bring them"
        )
    return toolchain


@lru_cache(maxsize=8)
def toolchain_for(arch: str, alone: bool = False) -> AmdToolchain | None:
    """The compiler of ``require_hipcc``, looked for once per process; ``None`` where there is none."""
    try:
        return require_hipcc(arch, alone)
    except NoHipcc:
        return None


def refused_by_hiprtc(log: str) -> str:
    """The log for a source that hiprtc refuses where there is no other compiler; its first line says so."""
    if log.startswith(COMPILER_LOST):
        return log
    return f"{first_error(log)} (hiprtc; there is no hipcc to try)\n\n{log}"


def refused_by_both(hiprtc: str, hipcc: str, name: str) -> str:
    """The log for a source that both compilers refuse: the first error of each in the first line, then both logs.

    If a compiler was lost, that can still be told by the log.
    """
    if hipcc.startswith(COMPILER_LOST):
        return f"{hipcc} ({name}); hiprtc: {first_error(hiprtc)}\n\n{hiprtc}"
    head = f"hiprtc: {first_error(hiprtc)}; {name}: {first_error(hipcc)}"
    return f"{head}\n\nhiprtc:\n{hiprtc.rstrip()}\n\n{name}:\n{hipcc}"
