"""Expressions of the pseudocode: operators, casts, parts of values, calls."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.isa_runtime.documents.functions import FUNCTIONS, bits_of, converted, typed
from tests.isa_runtime.documents.tokens import Env, Node, Tokens, Unreadable, getter, looked_up

_BINARY = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
"""From those that bind least to those that bind most."""
_ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<>": lambda a, b: a < b or a > b,  # of NaN false
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
_ON_BITS: dict[str, Callable[[int, int], int]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "%": operator.mod,
}


def applied(sign: str, a: Any, b: Any) -> Any:
    if sign in _ON_BITS:
        return _ON_BITS[sign](int(a), int(b))
    return _ON_NUMBERS[sign](a, b)


def _binary(sign: str, left: Node, right: Node) -> Node:
    if sign == "&&":
        return lambda env: bool(left(env)) and bool(right(env))
    if sign == "||":
        return lambda env: bool(left(env)) or bool(right(env))
    return lambda env: applied(sign, left(env), right(env))


class Expressions(Tokens):
    """Reads expressions; each method stands for a part of the grammar."""

    def index(self) -> tuple[Node, Node | None]:
        self.skip("[")
        high = self.expression()
        low = self.expression() if self.take(":") else None
        self.skip("]")
        return high, low

    def suffixes(self) -> Iterator[Any]:
        """Members and indices behind a value."""
        while True:
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "member":
                yield self.next()[1][1:]
            elif self.peek() == "[":
                yield self.index()
            else:
                return

    def expression(self, level: int = -1) -> Node:
        if level == -1:
            test = self.expression(0)
            if not self.take("?"):
                return test
            yes = self.expression()
            self.skip(":")
            no = self.expression()
            return lambda env: yes(env) if test(env) else no(env)
        if level == len(_BINARY):
            return self.unary()
        left = self.expression(level + 1)
        while self.peek() in _BINARY[level]:
            left = _binary(self.next()[1], left, self.expression(level + 1))
        return left

    def unary(self) -> Node:
        if self.peek() in ("-", "~", "!", "+"):
            sign, value = self.next()[1], self.unary()
            return {
                "-": lambda env: -value(env),
                "~": lambda env: ~int(value(env)),
                "!": lambda env: not value(env),
                "+": value,
            }[sign]
        value = self.value()
        return getter(value, list(self.suffixes()))

    def value(self) -> Node:
        kind, text = self.next()
        if kind == "cast":
            width, _, letter = text.partition("'")
            self.skip("(")
            is_bits = letter == "F" and self.tokens[self.at][0] == "hex"
            inner = self.expression()
            self.skip(")")
            if is_bits:
                return lambda env: typed(inner(env), "f", int(width))
            return lambda env: converted(letter.lower(), int(width), inner(env))
        if kind == "width":
            return self.value()
        if kind in ("hex", "int"):
            number = int(text, 0)
            return lambda env: number
        if kind == "float":
            real = np.float32(text[:-1]) if text.endswith("F") else np.float64(text)
            return lambda env: real
        if text == "(":
            inner = self.expression()
            self.skip(")")
            return inner
        if text == "{":
            return self.concatenation()
        if kind != "word":
            raise Unreadable(text)
        if self.take("("):
            return self.call(text)
        return lambda env: looked_up(env, text)

    def concatenation(self) -> Node:
        """Values with a width, the first above the others."""
        parts = []
        while not self.take("}"):
            start = self.at
            value = self.unary()
            text = "".join(token for _, token in self.tokens[start : self.at])
            field, member = re.search(r"\[(\d+):(\d+)\]$", text), re.search(r"^(\d+)'|\.[a-z]+(\d+)$", text)
            if field:
                width = int(field[1]) - int(field[2]) + 1
            elif member:
                width = int(member[1] or member[2])
            else:
                raise Unreadable(f"a part of unknown width, {text}")
            parts.append((value, width))
            self.take(",")

        def join(env: Env) -> int:
            joined = 0
            for value, width in parts:
                joined = joined << width | bits_of(value(env)) & (1 << width) - 1
            return joined

        return join

    def call(self, name: str) -> Node:
        given = []
        while not self.take(")"):
            given.append(self.expression())
            self.take(",")

        def run(env: Env) -> Any:
            known = env.get(name) or FUNCTIONS.get(name) or env["instruction"](name)
            if name in ("f32_to_f16", "f64_to_f32"):
                return known(*(part(env) for part in given), env.get("ROUND_MODE", 0))
            return known(*(part(env) for part in given))

        return run
