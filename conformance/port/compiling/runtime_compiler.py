"""What compiling asks of the runtime that its code is for: one interface, which comes in with the ``CompileTarget``.

``conformance.runtimes.kind.RuntimeKind`` has these attributes. No runtime is imported or named here: a port's sources
are compiled the same way whatever loads them.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, cast


class RuntimeCompiler(Protocol):
    """A runtime, as far as it decides how sources become code objects. ``RuntimeKind`` explains the attributes."""

    @property
    def name(self) -> str: ...

    @property
    def compiler(self) -> Literal["hiprtc", "hipcc"]: ...

    @property
    def chooses_wave(self) -> bool: ...

    @property
    def in_a_folder(self) -> bool: ...

    @property
    def hipcc_flags(self) -> tuple[str, ...]: ...

    @property
    def code(self) -> Literal["host", "amd", "opaque"]: ...

    @property
    def target_flags(self) -> Callable[[str], tuple[str, ...]]: ...

    @property
    def hiprtc(self) -> str:
        """``MODULE:FUNCTION`` that a compiling process imports (``OpenHiprtc``)."""


class Hiprtc(Protocol):
    """A runtime's hiprtc, loaded into this process."""

    def flags(self, of_source: Sequence[str]) -> tuple[str, ...]:
        """All options: those that a source brings, and the runtime's own."""

    def compile(self, text: str, label: str, flags: Sequence[str]) -> bytes:
        """The code object of ``text``, which messages call ``label``.

        Raises ``CompileError`` with a log that names no temporary file, and ``RuntimeError`` where hiprtc itself fails.
        """

    def missing_header(self, log: str, flags: Sequence[str]) -> str | None:
        """The header that the machine lacks, in words, if a compilation with ``flags`` failed with this ``log`` for
        that reason; ``None`` where the source is at fault."""


OpenHiprtc = Callable[[str, int | None], Hiprtc]
"""Loads the hiprtc of the runtime with this name, for this size of waves, without asking for a device. Raises
``RuntimeError`` and ``OSError`` where its libraries cannot be built or loaded."""


def open_hiprtc(place: str, runtime: str, wave: int | None) -> Hiprtc:
    """Call the function that ``place`` names (``MODULE:FUNCTION``, an ``OpenHiprtc``), and raise as it does."""
    return cast(OpenHiprtc, pkgutil.resolve_name(place))(runtime, wave)
