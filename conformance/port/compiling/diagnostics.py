"""What a compiler's log says is wrong, and where: clang's, g++'s and NVRTC's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

COMPILER_LOST = "the compiler "
"""How the log begins of a source that took its compiler down, or beyond a limit."""

ENDED_BY = "the compiler was ended by signal "
"""How the last line of a log shows that a compiler did not end by itself; the cpu runtime's hiprtc writes it, too."""


def without_copy(log: str, copy: Path, label: str) -> str:
    """A compiler's ``log`` with ``label`` in place of the path of the ``copy`` that was compiled, and without its
    folder."""
    return log.replace(str(copy), label).replace(f"{copy.parent}/", "")


_ERROR = re.compile(
    r"^(?P<file>[^\s:(][^:\n(]*)(?::(?P<line>\d+)(?::\d+)?:|\((?P<nvline>\d+)\):) "
    r"(?P<fatal>(?:fatal|catastrophic) )?error(?: #[\w-]+)?: (?P<what>.*)$"
)
_OTHER_ERROR = re.compile(r"^(?:<[^>]+>:[\d:]+ |[\w.+-]+: )?(?:fatal )?error: (?P<what>.*)$")
# clang: FILE:LINE:COL: note: in instantiation of ... requested here; g++: in expansion of macro.
_NEEDED = re.compile(
    r"^(?P<file>[^\s:(][^:\n(]*):(?P<line>\d+)(?::\d+)?: note: "
    r"(?:.* requested here|in expansion of macro .*|.* required here)$"
)
# g++, before the error: FILE:LINE:COL:   required from here
_BEFORE = re.compile(r"^(?P<file>[^\s:(][^:\n(]*):(?P<line>\d+)(?::\d+)?:\s+(?:recursively )?required (?:from|by) .*$")
# NVRTC, after it: ... at line 12 of "FILE", or of the same file.
_AT_LINE = re.compile(r'\bat line (?P<line>\d+)(?: of "?(?P<file>[^"\n]+?)"?)?$')
# clang's driver, g++ and LLVM, of an option: no file and no line goes before it.
_REFUSED = re.compile(
    r"^(?:[\w.+/-]+: )?(?:fatal )?error: (?P<what>un(?:supported|known|recognized) (?:argument|option|command.line).*)$"
    r"|^.*\(LLVM option parsing\): (?P<llvm>Unknown command line argument '[^']*')",
    re.MULTILINE,
)
_TOO_MANY = "too many errors emitted"
_BRACKET = re.compile(r"error: expected '[^']+'$")
_UNKNOWN = re.compile(r"error: (?:use of undeclared identifier|unknown type name) '")


def refused_option(log: str) -> str | None:
    """A sentence about the option that the compiler with this ``log`` does not know; ``None`` where there is none."""
    refusal = _REFUSED.search(log)
    if refusal is None:
        return None
    what = (refusal["what"] or refusal["llvm"]).rstrip(".")
    return f"the compiler refuses an option ({what}), which says nothing of the port; install or name another compiler"


class ErrorPlace(NamedTuple):
    """A line of a file, which is spelled as the compiler spells it."""

    file: str
    line: int


@dataclass(frozen=True)
class Diagnostic:
    """An error of a compiler: its ``text`` and its ``places``.

    The first place is that of the error. The instantiations of templates that led there follow, the outermost last.
    ``stops`` says that the compiler looked at nothing after it.
    """

    text: str
    places: tuple[ErrorPlace, ...]
    stops: bool = False


def diagnostics(log: str) -> list[Diagnostic]:
    """The errors in a compiler's ``log``, in order. ``places`` is empty where an error has none."""
    errors: list[Diagnostic] = []
    before: list[ErrorPlace] = []
    for line in map(str.rstrip, log.splitlines()):
        if match := _ERROR.match(line):
            place = ErrorPlace(match["file"], int(match["line"] or match["nvline"]))
            if _TOO_MANY not in line:
                errors.append(Diagnostic(line, (place, *before), match["fatal"] is not None))
            before = []
        elif match := _NEEDED.match(line):
            _add(errors, ErrorPlace(match["file"], int(match["line"])))
        elif match := _BEFORE.match(line):
            before.append(ErrorPlace(match["file"], int(match["line"])))
        elif _OTHER_ERROR.match(line) and _TOO_MANY not in line:
            errors.append(Diagnostic(line, ()))
        elif (match := _AT_LINE.search(line)) and errors and errors[-1].places:
            _add(errors, ErrorPlace(match["file"] or errors[-1].places[0].file, int(match["line"])))
    return _names_first(errors)


def _names_first(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """``diagnostics`` with an unknown name before the bracket that clang misses on its line: a launch with a cast to an
    unknown type gives both, the bracket first."""
    for at, (one, then) in enumerate(pairwise(tuple(diagnostics))):
        same = bool(one.places) and one.places[:1] == then.places[:1]
        if same and _BRACKET.search(one.text) and _UNKNOWN.search(then.text):
            diagnostics[at], diagnostics[at + 1] = then, one
    return diagnostics


def _add(diagnostics: list[Diagnostic], place: ErrorPlace) -> None:
    if diagnostics and diagnostics[-1].places:
        last = diagnostics[-1]
        diagnostics[-1] = Diagnostic(last.text, (*last.places, place), last.stops)
