"""What a source is compiled for, and what its compilation may take."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from conformance.runtimes import runtime_kind

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_SHARE = 0.75


@dataclass(frozen=True)
class Target:
    """A runtime and a device's architecture.

    ``identity`` is what, besides source and options, decides the code object (``Device.compiler_identity``): it goes
    into the cache key. ``wave`` is for opening the runtime, and ``arch`` is the device's own name (``gfx942``,
    ``sm_90``), so that compiling needs no device.
    """

    runtime: str
    wave: int | None
    arch: str
    identity: str

    def words(self) -> tuple[str, ...]:
        """hiprtc's options for the architecture, for which it would otherwise ask a device."""
        return runtime_kind(self.runtime).target_words(self.arch)


@dataclass(frozen=True)
class Limits:
    """``seconds`` for a source, and ``memory`` in bytes for each process that compiles it."""

    seconds: float = 300.0
    memory: int = 8 << 30

    def bytes_here(self) -> int:
        """``memory``, or three quarters of what this machine (or container) has where that is less: a compiler that is
        refused memory says so, one that is killed for it could have been killed for anything."""
        here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        try:
            text = _CGROUP_LIMIT.read_text().strip()
        except OSError:
            text = ""
        if text.isdigit():
            here = min(here, int(text))
        return min(self.memory, int(here * _SHARE))
