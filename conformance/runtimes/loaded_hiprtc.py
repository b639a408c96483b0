"""The hiprtc of a runtime, for a process that compiles and launches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.rtc import compile_source
from conformance.runtimes.kind import RuntimeKind
from conformance.toolchains.compile_error import CompileError


@dataclass(frozen=True)
class LoadedHiprtc:
    """The hiprtc of the runtime ``kind``, loaded into this process. ``own`` are the options that the runtime adds."""

    kind: RuntimeKind
    own: tuple[str, ...]

    def flags(self, of_source: Sequence[str]) -> tuple[str, ...]:
        """All options for a source, in the order that the compiler needs: those ``of_source`` and the runtime's own."""
        return self.kind.compile_flags(of_source, self.own)

    def compile(self, text: str, label: str, flags: Sequence[str]) -> bytes:
        """The code object of ``text``, which messages call ``label``.

        Raises ``CompileError`` with a log in which no temporary file is named, and ``RuntimeError`` (``RtcError``)
        where hiprtc itself fails.
        """
        try:
            return compile_source(text, label, flags)
        except CompileError as error:
            raise CompileError(error.name, self.kind.readable_log(error.log)) from None

    def missing_header(self, log: str, flags: Sequence[str]) -> str | None:
        """The header that this machine lacks, in words, if a compilation with ``flags`` failed with this ``log`` for
        that reason.

        ``None`` where the source is at fault.
        """
        return self.kind.missing_header(log, flags)


def open_hiprtc(runtime: str, wave: int | None) -> LoadedHiprtc:
    """Load the libraries of ``runtime`` for compiling only, for waves of ``wave`` lanes. No device is asked for.

    Raises ``NoRuntime``, and ``RuntimeError`` and ``OSError`` where they cannot be built or loaded.
    """
    kind = runtime_kind(runtime)
    return LoadedHiprtc(kind, kind.open_compiler(wave))
