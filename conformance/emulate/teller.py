"""The program that an emulated GPU asks for places: lines of kernels, and the program's calls that launched them.

It is run once for each different fault, by ``libexec/tell`` of an installation: the runtime's message, a file with the
kernel's code object, and the program's calls as ``FILE+0xOFFSET``, the innermost first. It prints the message with
``at saxpy.hip:12 (0x1970)`` for ``at 0x1970``, and with the place of the launch, as far as they are known.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.port.line_tables import LineTable, read_line_table

_ADDRESS = re.compile(r"\bat 0x(?P<address>[0-9a-f]+)\b")
_STUB = "__device_stub__"
"""What clang calls the host's functions for kernels."""
_SYMBOLIZERS = ("addr2line", "llvm-addr2line", "llvm-addr2line-19")
_SECONDS = 20.0
"""A program with all its debug information can be large."""
_NOT_OF_PROGRAMS = re.compile(r"/include/hip/|/amd_detail/|/rustc/|/registry/src/")
"""Files that programs call HIP through."""


def with_lines(message: str, table: LineTable) -> str:
    """``message`` with the line of each instruction that it names and ``table`` has."""

    def placed(found: re.Match[str]) -> str:
        place = table.own(int(found["address"], 16))
        return found[0] if place is None else f"at {_short(place[0])}:{place[1]} (0x{found['address']})"

    return _ADDRESS.sub(placed, message)


def launched_at(calls: Iterable[str]) -> str:
    """Where the innermost of ``calls`` is that is the program's own: ``at saxpy.hip:30 in main``; without debug
    information ``in main``, and "" where not even that is known."""
    for call in calls:
        file, _, offset = call.rpartition("+")
        for function, place in _frames(file, offset):
            if not function.startswith(_STUB) and not _NOT_OF_PROGRAMS.search(place):
                return f"at {_short(place)} in {function}" if place else f"in {function}"
    return ""


def _short(place: str) -> str:
    """``place`` as seen from the program's folder."""
    return place.removeprefix(f"{Path.cwd()}/")


def _frames(file: str, offset: str) -> list[tuple[str, str]]:
    """Function and place of the code at ``offset`` of ``file``, then of those that it was inlined into; the place is
    "" without debug information, and there are none without symbols."""
    symbolizer = next(filter(None, map(shutil.which, _SYMBOLIZERS)), None)
    if symbolizer is None:
        return []
    try:
        done = subprocess.run(
            [symbolizer, "-Cfi", "-e", file, offset], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return []
    lines = done.stdout.splitlines()
    return [
        (function, "" if place.startswith("?") or place.endswith((":0", ":?")) else place.partition(" (")[0])
        for function, place in zip(lines[::2], lines[1::2], strict=False)
        if not function.startswith("?")
    ]


def main(words: Sequence[str]) -> int:
    message, code, *calls = words
    text = with_lines(message, read_line_table(Path(code).read_bytes()))
    place = launched_at(calls)
    print(f"{text}; launched {place}" if place else text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
