"""What a compiler's error says and where, so that the same error in several files is reported once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.record import KernelResult
from conformance.report.causes.cause import Cause
from conformance.text import some

CAUSE = Cause("compile error", "", "Does not compile", "mend the line; no kernel that needs it compiles")

_LINES = 6
"""Lines of one error that are named."""
_SEVERAL_LINES = "mend the {:,} lines; no kernel that needs one of them compiles"
_SEVERAL_FILES = "mend what these files share, such as a header or an option, or else each of the {:,} lines"

_ADVICE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"invalid instruction mnemonic|^'mma\.h' file not found"),
        "only GPUs have this, not the host: judge it with --runtime cuda on an NVIDIA GPU, with isa or "
        "rocm for AMD GPUs",
    ),
    (
        re.compile(r"^'[^']+' file not found|: No such file or directory|cannot open source file"),
        "name the header's folder: -I FOLDER, or include_dirs in candle-parity.toml",
    ),
)
"""What to do about errors that are not the line's fault, by the compiler's words."""

_ASSERTED = re.compile(r"static assertion failed(?: due to requirement '[^']*')?: ")
_PLACE = re.compile(r"^(?P<file>[^\s:]+?)(?::(?P<line>\d+)(?::\d+)?:|\((?P<nvline>\d+)\):) (?P<text>.*)")
_SAYS_ERROR = re.compile(r"^(?:(?:fatal|catastrophic) )?error(?: #[\w-]+)?: ")
_NOTES = re.compile(
    r"(?: \((?:needed at [^()]*|in .*?, which it uses|defined (?:on|by) .*? without the others|nobody checked .*)\))+$"
)
"""What the harness adds to a compiler's words, of one kernel each."""
_POSITION = re.compile(r"[^\s:'\"()]+:\d+(?::\d+)?")


@dataclass(frozen=True)
class KernelCompileError:
    """The error of a kernel that does not compile: its ``text``, and its ``place`` for the compiler. That may be
    elsewhere than the kernel."""

    text: str
    place: str | None

    @property
    def key(self) -> str:
        """What equal errors have in common: the compiler's words, without positions in files."""
        return _POSITION.sub("", _NOTES.sub("", self.text))


def compile_error_of(row: KernelResult) -> KernelCompileError:
    """The error of the kernel of ``row``, which does not compile."""
    text = _ASSERTED.sub("", (row.message or "does not compile").splitlines()[0])
    place = _PLACE.match(text)
    if place is None:
        return KernelCompileError(text, None)
    return KernelCompileError(_SAYS_ERROR.sub("", place["text"]), f"{place['file']}:{place['line'] or place['nvline']}")


def shared(first: str, other: str) -> str:
    """The text for two errors with the same key, without what is only known of one kernel."""
    return first if first == other else _NOTES.sub("", first)


def where(places: Sequence[str]) -> str:
    """The lines of ``places`` if they are in one file: ``unary.hip:41, 43``, the first of many. "" for several files or
    none."""
    files = files_of(places)
    if len(files) != 1:
        return ""
    lines = sorted((place.rpartition(":")[2] for place in places), key=lambda line: (len(line), line))
    return f"{files[0]}:{some(lines, _LINES)}"


def advice(places: Sequence[str], text: str) -> str:
    """What to do about the error ``text`` at ``places``."""
    for known, remedy in _ADVICE:
        if known.search(text):
            return remedy
    if len(files_of(places)) > 1:
        return _SEVERAL_FILES.format(len(places))
    return _SEVERAL_LINES.format(len(places)) if len(places) > 1 else CAUSE.advice


def files_of(places: Sequence[str]) -> list[str]:
    """The files of ``places``, each once."""
    return list(dict.fromkeys(place.rpartition(":")[0] for place in places))
