"""Pseudocode of AMD's ISA documents, as tinygrad has it: its words, its values, and what goes on in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.documents.functions import bits_of, converted, typed

Env = dict[str, Any]
"""Variables, by name."""
Node = Callable[[Env], Any]
"""A part of a program."""
Setter = Callable[[Env, Any], None]
_TOKEN = re.compile(
    r"\s*(?:(?P<cast>\d+'(?:BF|[IUBF])(?=\())|(?P<type>\d+'(?:BF|[IUBF])\b)|(?P<width>\d+'(?=[0-9]))|(?P<hex>0x[0-9a-fA-F]+)[UL]*"
    r"|(?P<float>\d+\.\d+F?)|(?P<int>\d+)[UL]*|(?P<member>\.[A-Za-z]\w*)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|\+\+|[-+*/%&|^~!<>=?:;,.(){}\[\]]))"
)


class Unreadable(Exception):
    """Pseudocode of more than this evaluates."""


class Break(Exception):
    """A loop ends."""


class Return(Exception):
    """A function has its result, in the variable ``return``."""


class Tokens:
    """The words of a text, from the first to the last."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"//.*", "", text)
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise Unreadable(text[at : at + 20])
            self.tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            at = found.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def next(self) -> tuple[str, str]:
        if self.at == len(self.tokens):
            raise Unreadable("it ends too soon")
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, text: str) -> None:
        found = self.next()[1]
        if found != text:
            raise Unreadable(f"{found} where {text} should be")

    def take(self, text: str) -> bool:
        if self.peek() == text:
            self.at += 1
            return True
        return False


def raising(error: type[Exception]) -> Node:
    def run(env: Env) -> Any:
        raise error

    return run


def looked_up(env: Env, name: str) -> Any:
    if name not in env:
        raise Unreadable(name)
    return env[name]


def member_of(value: Any, member: str) -> Any:
    kind, width = member.rstrip("0123456789"), int(re.sub(r"\D", "", member) or 0)
    if kind not in ("u", "i", "b", "f", "bf"):
        raise Unreadable(member)
    if kind == "f" and isinstance(value, np.float64) and not np.isfinite(value):
        return converted(kind, width, value)  # INF.f32, NAN.f32
    return typed(bits_of(value), kind, width)


def bits_as(member: str, value: Any) -> int:
    kind, width = member.rstrip("0123456789"), int(re.sub(r"\D", "", member) or 0)
    if kind not in ("u", "i", "b", "f", "bf"):
        raise Unreadable(member)
    value = bits_of(value) if kind in ("b", "bf") else converted(kind, width, value)
    return bits_of(value) & (1 << width) - 1


def getter(base: Node, parts: list[Any]) -> Node:
    def get(env: Env) -> Any:
        value = base(env)
        for part in parts:
            if isinstance(part, str):
                value = value[part] if isinstance(value, dict) else member_of(value, part)
                continue
            high, low = (node and int(node(env)) for node in part)
            if isinstance(value, list):
                value = value[high]
            elif low is None:
                value = bits_of(value) >> high & 1
            elif high < low:  # from the highest bit to the lowest: reversed
                text = f"{bits_of(value) >> high & (1 << low - high + 1) - 1:0{low - high + 1}b}"
                value = int(text[::-1], 2)
            else:
                value = bits_of(value) >> low & (1 << high - low + 1) - 1
        return value

    return get if parts else base
