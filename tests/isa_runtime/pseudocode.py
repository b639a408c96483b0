"""Pseudocode of AMD's ISA documents, as tinygrad has it: assignments of integers, evaluated for one lane.

What has floats, loops, branches or memory is none of it: ``Unreadable``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NUMBER = re.compile(r"\b(?:\d+')?(0x[0-9a-fA-F]+|\d+)U?L?L?\b")
_CAST = re.compile(r"\b(\d+)'([IUB])\(")
_BITS = re.compile(r"\b(S\d|tmp)(?:\.([uib])(\d+))?\s*\[\s*([^\[\]:]+?)\s*:\s*([^\[\]:]+?)\s*\](?:\.[uib]\d+)?")
_VALUE = re.compile(r"\b(S\d|tmp|D0)\.([uib])(\d+)\b")
_ASSIGNMENT = re.compile(r"^(D0|tmp)\.([uib])(\d+) = (.*)$", re.DOTALL)


Evaluate = Callable[[list[int]], tuple[int, int]]
"""From the operands' bits to the result's bits and their number."""


class Unreadable(Exception):
    """Pseudocode of more than this evaluates."""


def typed(value: int, kind: str, bits: int) -> int:
    """``value`` in an integer type."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind == "i" and value >> (bits - 1) else value


def _chosen(text: str) -> str:
    """``a ? b : c`` outside of parentheses as Python has it; those in parentheses first."""
    while inner := re.search(r"\(([^()]*\?[^()]*)\)", text):
        text = f"{text[: inner.start()]}\x01{_chosen(inner[1])}\x02{text[inner.end() :]}"
    if "?" in text:
        condition, _, rest = text.partition("?")
        yes, _, no = rest.partition(" : ")
        text = f"\x01({yes}) if ({condition}) else ({_chosen(no)})\x02"
    return text.replace("\x01", "(").replace("\x02", ")")


def _expression(text: str) -> str:
    text = _NUMBER.sub(r"\1", _CAST.sub(lambda m: f"cast_{m[2].lower()}{m[1]}(", text))
    text = _BITS.sub(r"bits('\1', \4, \5)", text)
    text = _VALUE.sub(r"value('\1', '\2', \3)", text)
    return re.sub(r"!(?!=)", " not ", _chosen(text).replace("&&", " and ").replace("||", " or "))


def function(code: str) -> Evaluate:
    """What ``code`` computes; raises ``Unreadable``, at once or when it is called."""
    steps = []
    code = re.sub(r"//.*", "", code).replace("D0.u64[laneId]", "D0.u64").replace("<>", "!=")
    for statement in filter(None, (part.strip() for part in re.split(r";\s*", code))):
        found = _ASSIGNMENT.match(statement)
        if found is None:
            raise Unreadable(statement)
        try:
            steps.append((found[1], found[2], int(found[3]), compile(_expression(found[4]), statement, "eval")))
        except SyntaxError:
            raise Unreadable(statement) from None

    def evaluate(operands: list[int]) -> tuple[int, int]:
        known = {f"S{place}": operand for place, operand in enumerate(operands)} | {"tmp": 0, "D0": 0}
        names: dict[str, object] = {
            "value": lambda name, kind, bits: typed(known[name], kind, bits),
            "bits": lambda name, high, low: known[name] >> low & ((1 << (high - low + 1)) - 1),
            "signext_from_bit": lambda value, bits: typed(value, "i", bits) if bits else 0,
            "__builtins__": {},
        }
        for kind in "iub":
            for bits in (8, 16, 24, 32, 64):
                names |= {f"v_min_{kind}{bits}": min, f"v_max_{kind}{bits}": max}
                names[f"cast_{kind}{bits}"] = lambda value, kind=kind, bits=bits: typed(value, kind, bits)
        width = 0
        for name, kind, width, expression in steps:
            try:
                known[name] = typed(int(eval(expression, names)), kind, width) & ((1 << width) - 1)
            except (NameError, TypeError, KeyError, ValueError) as error:
                raise Unreadable(str(error)) from None
        return known["D0"], width

    return evaluate
