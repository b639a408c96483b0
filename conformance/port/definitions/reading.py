"""The one place that reads a kernel source or header: the scanner, the compiler and the cache see the same text."""

from __future__ import annotations

import codecs
from pathlib import Path

from conformance.port.definitions.errors import ScanError
from conformance.reading import MIB, kind_of, read_bytes

MOST = 64 * MIB
"""Bytes of the largest source; Candle's own have 200 thousand at most."""

# What is not UTF-8 is taken for Latin-1, byte by byte: comments written in it are common, and no line changes.
_LATIN_1 = {0xDC00 + byte: chr(byte) for byte in range(0x80, 0x100)}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_source(path: Path) -> str:
    """The text of ``path``, its lines ended by newlines alone, without a byte order mark.

    Raises ``ScanError`` for what cannot be read, is not a regular file, is larger than ``MOST``, or holds a NUL byte,
    at which a compiler that takes the text as a C string stops.
    """
    try:
        data = read_bytes(path, MOST)
    except OSError as error:
        raise ScanError(path, None, f"cannot be read ({error.strerror})") from None
    if data.startswith(_UTF_16):
        raise ScanError(path, None, "is UTF-16 text, which compilers do not read; save it as UTF-8")
    position = data.find(b"\0")
    if position >= 0:
        line = data.count(b"\n", 0, position) + 1
        problem = f"a NUL byte at byte {position + 1} (line {line}); compilers end a source there, so take it out"
        raise ScanError(path, line, problem)
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").translate(_LATIN_1)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def refuse_special(path: Path, name: str, candidate: Path, text: str, position: int) -> None:
    """Raises ``ScanError`` where ``candidate``, which ``text`` of ``path`` includes as ``name`` at ``position``, is a
    FIFO or a device: a compiler would wait for it, or read for ever."""
    kind = kind_of(candidate)
    if kind is not None and kind != "a folder":
        line = text.count("\n", 0, position) + 1
        raise ScanError(path, line, f"includes {name}, which is {kind}; a header is a regular file")
