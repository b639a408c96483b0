"""Lines on a screen: broken at blanks, coloured and linked as the screen has it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.text import Screen

_HANGING = 2
"""Columns by which further lines of one that was broken are indented deeper."""

COMMANDS = ("candle-parity run ", "candle-parity replay ")
"""What begins a command, which is copied from the screen and so never broken, as are lines of a compiler's log."""

LOGGED = "  | "


def wrapped(text: Text, width: int) -> list[Text]:
    """``text`` in lines of at most ``width`` columns, broken at blanks. A word that is longer stays whole.

    A line that begins with one of ``COMMANDS`` or ``LOGGED`` is not broken.
    """
    plain = text.plain
    start = len(plain) - len(plain.lstrip())
    if text.cell_len <= width or plain.startswith(COMMANDS, start) or plain.startswith(LOGGED):
        return [text]
    deeper = start + _HANGING if start else 0
    first, *rest = text.divide(_breaks(plain, start, width, deeper))
    lines = [first, *(Text(" " * deeper).append_text(line) for line in rest)]
    for line in lines:
        line.rstrip()
    return lines


def _breaks(plain: str, start: int, width: int, deeper: int) -> list[int]:
    """Where the words of ``plain`` stand that begin another line; further lines are ``deeper`` columns shorter."""
    found: list[int] = []
    for word in re.finditer(r"\S+", plain):
        begin = found[-1] if found else 0
        length = cell_len(plain[begin : word.end()]) + (deeper if found else 0)
        if length > width and word.start() > max(begin, start):
            found.append(word.start())
    return found


def rendered(parts: Iterable[Text | Table], screen: Screen) -> str:
    """``parts`` as text for ``screen``. Variables of the environment (``FORCE_COLOR``, ``COLUMNS``) do not matter."""
    console = _console(screen.width, screen.colour)
    with console.capture() as capture:
        for part in parts:
            if isinstance(part, Table):
                console.print(part)
            elif screen.links:
                console.print(part, soft_wrap=True)
            else:
                console.print(_without_links(part), soft_wrap=True)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _without_links(text: Text) -> Text:
    plain = text.copy()
    plain.spans = [span for span in text.spans if isinstance(span.style, str) or span.style.link is None]
    return plain


def _console(width: int, colour: bool = False) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        _environ={},
    )
