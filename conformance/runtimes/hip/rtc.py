"""Compiling through hip-python's hiprtc (7.2 to 10): lean, for it is imported by every compiling process.

The runtime's libraries must be loaded before: ``conformance.runtimes.open_runtime`` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.toolchains.compile_error import CompileError


class RtcError(RuntimeError):
    """A call of hiprtc failed for a reason that is not the source's. It has the call, and the result's number and
    name."""

    def __init__(self, call: str, code: int, name: str) -> None:
        self.call, self.code, self.name = call, code, name
        super().__init__(f"{call} returned {name} ({code})")


def hiprtc_version() -> str:
    """The version that the loaded hiprtc reports, such as ``9.0``. Raises ``RuntimeError`` where hip-python is not
    installed."""
    return ".".join(str(number) for number in _hiprtc().hiprtcVersion()[1:])


def compile_source(source: str, name: str, options: Sequence[str]) -> bytes:
    """The code object of the text ``source``, which messages call ``name``, compiled with ``options``.

    Raises ``CompileError`` with the log, ``RtcError`` where hiprtc itself fails, and ``RuntimeError`` where hip-python
    is not installed.
    """
    rtc = _hiprtc()
    program = _checked("hiprtcCreateProgram", rtc.hiprtcCreateProgram(source.encode(), name.encode(), 0, None, None))
    try:
        encoded = [option.encode() for option in options]
        result = rtc.hiprtcCompileProgram(program, len(encoded), encoded or None)
        if int(result[0]):
            size = int(_checked("hiprtcGetProgramLogSize", rtc.hiprtcGetProgramLogSize(program)))
            log = bytearray(size)
            _checked("hiprtcGetProgramLog", rtc.hiprtcGetProgramLog(program, log))
            text = bytes(log).split(b"\0")[0].decode(errors="replace")
            raise CompileError(name, text or f"hiprtcCompileProgram returned {result[0]}")
        code = bytearray(int(_checked("hiprtcGetCodeSize", rtc.hiprtcGetCodeSize(program))))
        _checked("hiprtcGetCode", rtc.hiprtcGetCode(program, code))
        return bytes(code)
    finally:
        rtc.hiprtcDestroyProgram(program.createRef())


def _hiprtc() -> Any:
    try:
        from hip import hiprtc
    except ImportError as error:
        raise RuntimeError(
            f"hip-python cannot be imported ({error}); install it with: pip install hip-python"
        ) from error
    return hiprtc


def _checked(call: str, result: tuple[Any, ...]) -> Any:
    if int(result[0]):
        raise RtcError(call, int(result[0]), str(getattr(result[0], "name", result[0])))
    return result[1] if len(result) > 1 else None
