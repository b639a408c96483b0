"""Makes any text safe to put into a terminal, Markdown, HTML and XML: one function for each place; and what a terminal
is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

# What XML 1.0 forbids, and the terminal would act upon: control characters but tab and newline, surrogates, the two
# non-characters; and the characters that end a line or turn the direction of text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# What CI services act upon in a log: GitHub on ##[name] anywhere and on ::name at the start of a line, blanks before it
# aside; Azure on ##vso[, TeamCity on ##teamcity[. GitLab's section markers need a carriage return, which is hidden.
_HASHES = re.compile(r"##(?=\w*\[)")
_COLONS = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
# A line may be broken at a blank; other names are left as they are, for C++ writes ::name too.
_COMMANDS = re.compile(
    r"(?<=\s):(?=:(?:add-mask|add-matcher|remove-matcher|add-path|set-env|set-output|save-state|stop-commands|debug|"
    r"notice|warning|error|group|endgroup|echo|internal-[\w-]+)\b)",
    re.IGNORECASE,
)
_LONGEST_WORD = 200
_TICKS = re.compile("`+")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$]|(?<=:)//|^[-+](?=\s|$)|^[-=]+$|(?<=^\d)[.)](?=\s|$))")


@dataclass(frozen=True)
class Screen:
    """Where a table is printed.

    ``width`` is in columns. Without ``colour`` no escape codes are written. With ``links`` the names of files are links
    (OSC 8).
    """

    width: int
    colour: bool = False
    links: bool = False

    @property
    def narrow(self) -> bool:
        """Whether there is no room for the percentages of modules, because the last column would become unreadable."""
        return self.width < 100


NARROWEST = 40
"""Columns of a screen: in fewer no table can be read, and a narrower terminal breaks the lines itself."""

LOG = Screen(1000)
"""What is not a terminal: no table is cut off, and no text is broken."""


def visible(text: str) -> str:
    """``text`` with every character that cannot be shown as an escape such as ``\\x1b``.

    The first character of what a CI service would take for a command (``::error``) is escaped too. So text from
    elsewhere can neither control a terminal nor a CI.
    """
    if text.isascii() and text.isprintable() and "##" not in text and "::" not in text:
        return text  # nearly every text, at a fifth of what the four searches cost
    shown = _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))
    return _COMMANDS.sub(r"\\x3a", _COLONS.sub(r"\1\\x3a", _HASHES.sub(r"#\\x23", shown)))


def quoted(text: str, mark: str = "  | ") -> str:
    """``text`` from a compiler, a kernel or a port, made visible, with ``mark`` before each line: none looks like one
    of ours."""
    return "\n".join(f"{mark}{line}".rstrip() for line in visible(text).split("\n"))


def continued(text: str, mark: str = "  | ") -> str:
    """``text``, made visible, to be written after words of ours: ``mark`` begins every line but the first."""
    first, *rest = visible(text).split("\n")
    return "\n".join([first, *(f"{mark}{line}" for line in rest)])


def one_line(text: str) -> str:
    """``text`` made visible and on one line: every run of white space becomes a blank."""
    return " ".join(visible(text).split())


def shortened(text: str, length: int) -> str:
    """``text`` cut to at most ``length`` characters. The last of them is an ellipsis if something was cut off."""
    return text if len(text) <= length else text[: length - 1] + "…"


def counted(count: int, what: str) -> str:
    """A count with its noun: ``1 cause``, ``2 causes``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def some(items: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` of ``items``, and how many there are more: ``a, b and 3 more``."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return between.join(items[:most]) + more


def plain(text: str) -> str:
    """``text`` on one line with Markdown's signs escaped, for a paragraph or a table cell: no markup, HTML or link."""
    return _MARKUP.sub(lambda match: "".join(f"\\{sign}" for sign in match[0]), one_line(text))


def link(text: str, address: str) -> str:
    """A Markdown link to ``address``, an http address of ours with parts from elsewhere in its path."""
    return f"[{plain(text)}]({url(address)})"


def url(address: str) -> str:
    """``address`` with every character encoded that could end the address in Markdown or HTML."""
    return quote(address, safe="/:#?=%", errors="backslashreplace")


def html(text: str) -> str:
    """``text`` for an element or a quoted attribute of HTML."""
    return escape(visible(text))


def code(text: str) -> str:
    """``text`` as a code span on one line, for a table cell too."""
    line = one_line(text)
    if "\\|" in line:
        return plain(line)  # renderers differ in whether a backslash before a pipe ends the cell
    longest = max((len(ticks) for ticks in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    # A pipe ends a table cell even inside a code span, unless escaped.
    return f"{ticks}{pad}{line}{pad}{ticks}".replace("|", "\\|")


def fence(text: str, language: str = "") -> list[str]:
    """``text`` as the lines of a fenced block that nothing inside can end."""
    body = visible(text).rstrip("\n").split("\n")
    longest = max((len(ticks) for line in body for ticks in _TICKS.findall(line)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}{language}", *body, ticks]


def did_you_mean(word: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """``; did you mean uexp_f32?`` where ``known`` has names near ``word`` in any case; else nothing."""
    import difflib  # what nearly every process does without

    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word[:_LONGEST_WORD].lower(), list(names), n=most, cutoff=cutoff)
    return f"; did you mean {', '.join(names[name] for name in near)}?" if near else ""
