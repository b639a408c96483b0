"""A small language of integers for launch geometry, ``ceildiv(nrows_x, 128) * 2``; Python evaluates nothing of it.

Numbers, names, ``+``, ``-``, ``*``, ``//``, parentheses, ``ceildiv(a, b)``, ``min(a, b, ...)`` and ``max(a, b, ...)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.reading import shortened

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|[-+*(),]))", re.ASCII)
_LONGEST, _DEEPEST, _LARGEST = 500, 50, 1 << 62

Value = Callable[[Mapping[str, int]], int]


@dataclass(frozen=True)
class Expression:
    """A text and what it comes to; ``value`` raises ``ValueError`` for an unknown name, a division by 0 and a number
    that is too large."""

    text: str
    value: Value


def parse(text: str) -> Expression:
    """The expression that ``text`` is; raises ``ValueError`` saying what it is not."""
    if len(text) > _LONGEST:
        raise ValueError(f"{shortened(text)!r} is longer than {_LONGEST} characters")
    parser = _Parser(text)
    value = parser.sum(0)
    if parser.token:
        raise ValueError(f"{text!r}: {parser.token!r} is not expected there")
    return Expression(text, value)


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise ValueError("a division by 0")
    return a // b


_FUNCTIONS: dict[str, Callable[..., int]] = {"ceildiv": lambda a, b: -_divided(-a, b), "min": min, "max": max}
_SUMS: dict[str, Callable[[int, int], int]] = {"+": lambda a, b: a + b, "-": lambda a, b: a - b}
_PRODUCTS: dict[str, Callable[[int, int], int]] = {"*": lambda a, b: a * b, "//": _divided}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.token = ""
        self._next()

    def _next(self) -> str:
        """The token that was met last; the one after it becomes ``token``, empty at the end."""
        last = self.token
        if not self._text[self._at :].strip():
            self.token = ""
            return last
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ValueError(f"{self._text!r}: {self._text[self._at :].strip()[0]!r} is not allowed")
        self.token, self._at = match[0].strip(), match.end()
        return last

    def sum(self, depth: int) -> Value:
        return self._chain(_SUMS, lambda: self._chain(_PRODUCTS, lambda: self._operand(depth + 1)))

    def _chain(self, operators: Mapping[str, Callable[[int, int], int]], operand: Callable[[], Value]) -> Value:
        value = operand()
        while self.token in operators:
            value = _applied(operators[self._next()], value, operand())
        return value

    def _operand(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise ValueError(f"{shortened(self._text)!r} is nested too deep")
        token = self._next()
        if token == "-":
            return _applied(_SUMS["-"], lambda _: 0, self._operand(depth + 1))
        if token == "(":
            value = self.sum(depth)
            self._expect(")")
            return value
        if token.isdigit():
            number = int(token) if len(token) < 20 else _LARGEST
            return _applied(lambda a: a, lambda _: number)
        if self.token == "(" and token in _FUNCTIONS:
            return self._call(token, depth)
        if re.fullmatch(r"[A-Za-z_]\w*", token):
            return lambda names: _named(names, token)
        raise ValueError(
            f"{self._text!r}: a number or a name is expected {f'before {token!r}' if token else 'at its end'}"
        )

    def _call(self, function: str, depth: int) -> Value:
        self._next()
        given = [self.sum(depth)]
        while self.token == ",":
            self._next()
            given.append(self.sum(depth))
        self._expect(")")
        if function == "ceildiv" and len(given) != 2:
            raise ValueError(f"{self._text!r}: ceildiv takes two numbers, not {len(given)}")
        return _applied(_FUNCTIONS[function], *given) if len(given) > 1 else given[0]

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ValueError(f"{self._text!r}: {token!r} is missing")


def _named(names: Mapping[str, int], name: str) -> int:
    if name not in names:
        raise ValueError(f"{name!r} is not known; there are {', '.join(sorted(names))}")
    return names[name]


def _applied(function: Callable[..., int], *operands: Value) -> Value:
    def value(names: Mapping[str, int]) -> int:
        result = function(*(operand(names) for operand in operands))
        if abs(result) >= _LARGEST:
            raise ValueError("a number that is too large")
        return result

    return value
