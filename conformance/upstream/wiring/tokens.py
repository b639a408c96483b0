"""Rust tokens, for macros: tree-sitter leaves the inside of a macro as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<token>
        b?r(?P<hashes>\#*)".*?"(?P=hashes)
      | b?"(?:[^"\\]|\\.)*"
      | b?'(?:[^'\\]|\\.[^']*)'
      | '[A-Za-z_]\w*
      | (?:r\#)?[A-Za-z_]\w*
      | [0-9](?:[0-9a-zA-Z_]|\.(?=[0-9]))*
      | ::|=>|->|\.\.=|\.\.\.|\.\.|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%^&|]=
      | .
      )
    """,
    re.VERBOSE | re.DOTALL,
)
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())


def tokens_of(text: str) -> list[str]:
    """The tokens of ``text`` without blanks and comments."""
    return [match["token"] for match in _TOKEN.finditer(text) if match["token"]]


def spans_of(text: str) -> list[tuple[str, int]]:
    """The tokens of ``text``, each with the position at which it begins."""
    return [(match["token"], match.start("token")) for match in _TOKEN.finditer(text) if match["token"]]


def behind(tokens: Sequence[str], position: int) -> int:
    """The position behind the bracket that closes the one at ``position`` (the end, where nothing closes it)."""
    depth = 0
    for index in range(position, len(tokens)):
        depth += (tokens[index] in OPENING) - (tokens[index] in CLOSING)
        if depth == 0:
            return index + 1
    return len(tokens)


def arguments_of(text: str) -> list[tuple[str, int]]:
    """The arguments of a macro, ``text`` being what is between its brackets: each with its position in ``text``."""
    spans = spans_of(text)
    words = [token for token, _ in spans]
    parts: list[tuple[str, int]] = []
    begin = position = 0
    while position <= len(words):
        if position == len(words) or words[position] == ",":
            if begin < position:
                last, at = spans[position - 1]
                parts.append((text[spans[begin][1] : at + len(last)], spans[begin][1]))
            begin = position + 1
            position += 1
        elif words[position] in OPENING:
            position = behind(words, position)
        elif words[position] == "|" and position == begin:  # a closure's parameters
            position = words.index("|", position + 1) + 1 if "|" in words[position + 1 :] else len(words)
        else:
            position += 1
    return parts
