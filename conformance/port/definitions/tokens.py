"""Preprocessed C++ as tokens that know their file and line."""

from __future__ import annotations

import re
from typing import NamedTuple

# Strings first: a brace or a quote inside one is not a token. Directives are whole lines; the markers among them are
# `# LINE "FILE" FLAGS`, and the others (pragmas) have no part in a declaration.
_TOKEN = re.compile(
    r"""
      (?P<newline>\n)
    | (?P<directive>(?m:^)[ \t]*\#[^\n]*)
    | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<quoted>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)
    | (?P<sign>::|->|\[\[|\]\]|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
_MARKER = re.compile(r'\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?')


class Token(NamedTuple):
    """One token; ``line`` counts from 1 in ``file``, which is as the line markers give it."""

    text: str
    file: str
    line: int

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha() or self.text[0] in "_$"


def tokenize(text: str, file: str, counts_raw: bool = True) -> list[Token]:
    """The tokens of ``text``, which begins on line 1 of ``file``; places follow the line markers in it.

    ``counts_raw``: whether those markers count the newlines inside raw strings.
    """
    tokens: list[Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "newline":
            line += 1
        elif kind == "directive":
            marker = _MARKER.match(match[0])
            if marker is not None:
                # The marker names the line that follows its own.
                line = int(marker[1]) - 1
                file = marker[2].replace("\\\\", "\\").replace('\\"', '"') if marker[2] is not None else file
        else:
            tokens.append(Token(match[0], file, line))
            line += match[0].count("\n") if kind == "raw" and counts_raw else 0
    return tokens
