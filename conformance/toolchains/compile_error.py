"""A source that a compiler refuses, whichever compiler it is, and the one line of its log that says why."""

from __future__ import annotations

import itertools
import re

_PLACED_ERROR = re.compile(r"(?P<place>(?P<file>[^\s:]+):\d+(?::\d+)?): (?P<what>(?:fatal )?error: .*)")
_REQUESTED = re.compile(r"(?P<place>[^\s:]+:\d+(?::\d+)?): note: .* requested here$")


class CompileError(RuntimeError):
    """A source does not compile. ``log`` is the text that the compiler wrote."""

    def __init__(self, name: str, log: str) -> None:
        self.name, self.log = name, log
        super().__init__(f"{name} does not compile: {first_error(log)}")


def first_error(log: str) -> str:
    """The first line of a compiler's log that says ``error``; where none does, the first line.

    An error in a header from elsewhere (with an absolute path) is given the line of the source that included it.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    at = next((at for at, line in enumerate(lines) if "error" in line.lower()), None)
    if at is None:
        return lines[0] if lines else "no message"
    error = _PLACED_ERROR.match(lines[at])
    if error is None or not error["file"].startswith("/"):
        return lines[at]
    later = itertools.takewhile(lambda line: not _PLACED_ERROR.match(line), lines[at + 1 :])
    places = (match["place"] for line in later if (match := _REQUESTED.match(line)))
    place = next((place for place in places if not place.startswith("/")), error["place"])
    return f"{place}: {error['what']}"
