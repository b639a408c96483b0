"""What a condition that holds, or a pattern that fits, says of the variables in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from conformance.upstream.wiring.patterns import matches_patterns, within
from conformance.upstream.wiring.syntax import parse, text_of
from conformance.upstream.wiring.tokens import arguments_of
from conformance.upstream.wiring.values import Obj, Range, Str, Tup, Values, Variant, truth_of, union

if TYPE_CHECKING:
    from conformance.upstream.wiring.expressions import Evaluator

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def path_of(node: Node) -> str | None:
    """``self.slice`` for an expression that names a variable or a field of one, through references; else ``None``."""
    if node.type in ("identifier", "self"):
        return text_of(node)
    if node.type in ("reference_expression", "parenthesized_expression", "unary_expression"):
        inner = [child for child in node.named_children if child.type != "mutable_specifier"]
        return path_of(inner[-1]) if inner else None
    if node.type == "field_expression":
        value = node.child_by_field_name("value")
        base = None if value is None else path_of(value)
        return None if base is None else f"{base}.{text_of(node.child_by_field_name('field'))}"
    return None


class Narrowing:
    """Narrows the variables of an evaluator's frame."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def narrow(self, scrutinee: Node, taken: Values) -> None:
        """The variables that a pattern was held against are now what it took."""
        path = path_of(scrutinee)
        if path is not None:
            self.evaluator.frame.variables[path] = taken
        elif scrutinee.type == "tuple_expression":
            parts = [child for child in scrutinee.named_children if "comment" not in child.type]
            rows = [atom for atom in taken if isinstance(atom, Tup) and len(atom.items) == len(parts)]
            for position, part in enumerate(parts):
                if rows:
                    self.narrow(part, union([row.items[position] for row in rows]))

    def refine(self, condition: Node, truth: bool) -> bool:
        """Evaluates ``condition`` and narrows by its being ``truth``; false where it cannot be."""
        kind = condition.type
        if kind == "parenthesized_expression":
            return self.refine(condition.named_children[-1], truth)
        if kind == "unary_expression" and text_of(condition).startswith("!"):
            return self.refine(condition.named_children[-1], not truth)
        if kind == "let_condition":
            return self._let(condition, truth)
        if kind == "let_chain":
            return all([self.refine(child, True) for child in condition.named_children]) if truth else True
        if kind == "binary_expression":
            return self._binary(condition, truth)
        if kind == "macro_invocation" and text_of(condition.child_by_field_name("macro")) == "matches":
            return self._matches(condition, truth)
        return truth in truth_of(self.evaluator.value(condition))

    def _let(self, condition: Node, truth: bool) -> bool:
        pattern, value = condition.child_by_field_name("pattern"), condition.child_by_field_name("value")
        if pattern is None or value is None:
            return True
        given = self.evaluator.machine.expand(self.evaluator.value(value))
        bound: dict[str, Values] = {}
        taken, rest = self.evaluator.patterns.split(pattern, given, bound)
        if not truth:
            self.narrow(value, rest)
            return bool(rest) or not given
        self.narrow(value, taken)
        for name, known in bound.items():
            self.evaluator.frame.declare(name, known)
        return bool(taken)

    def _binary(self, condition: Node, truth: bool) -> bool:
        left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        operator = text_of(condition.child_by_field_name("operator"))
        if left is None or right is None:
            return True
        if operator == ("&&" if truth else "||"):
            return all([self.refine(left, truth), self.refine(right, truth)])
        values = self.evaluator.value(left), self.evaluator.value(right)
        if operator in ("&&", "||"):
            # One that cannot decide leaves it to the other.
            for value, other in zip(values, (right, left), strict=True):
                if truth_of(value) == {operator == "&&"}:
                    return self.refine(other, truth)
            return True
        if operator in _OPPOSITE:
            holding = operator if truth else _OPPOSITE[operator]
            first = self._compare(left, values[0], holding, values[1])
            return self._compare(right, values[1], _MIRRORED[holding], values[0]) and first
        return True

    def _compare(self, node: Node, values: Values, operator: str, other: Values) -> bool:
        """Narrows ``node`` by its comparison with one known number or variant."""
        path = path_of(node)
        if path is None or len(other) != 1:
            return True
        (known,) = other
        taken = values
        if isinstance(known, Range) and known.low is not None and known.low == known.high:
            taken = self._number(values, operator, known.low)
        elif isinstance(known, Variant):
            expanded = self.evaluator.machine.expand(values)
            mine = all(isinstance(atom, Variant) and atom.enum == known.enum for atom in expanded)
            if operator == "==":
                taken = frozenset({known}) if known in expanded or not mine else frozenset()
            elif operator == "!=" and mine:
                taken = expanded - {known}
        elif isinstance(known, Str) and known.known is not None:
            alike = {atom for atom in values if isinstance(atom, Str) and atom.known == known.known}
            if operator == "!=":
                taken = values - alike
            elif operator == "==":
                taken = frozenset(alike) | {a for a in values if not isinstance(a, Str) or a.known is None}
        self.evaluator.frame.variables[path] = taken
        return bool(taken) or not values

    def _number(self, values: Values, operator: str, number: int) -> Values:
        spans = frozenset(
            atom if isinstance(atom, Range) else Range(0 if _unsigned(atom) else None, None) for atom in values
        )
        if operator == "!=":
            return frozenset(
                Range(span.low + (span.low == number), span.high) if span.low is not None else span
                for span in spans
                if (span.low, span.high) != (number, number)
            )
        limits = {
            "==": Range(number, number),
            "<": Range(None, number - 1),
            "<=": Range(None, number),
            ">": Range(number + 1, None),
            ">=": Range(number, None),
        }
        return within(limits[operator], spans)

    def _matches(self, condition: Node, truth: bool) -> bool:
        tree = next((child for child in condition.named_children if child.type == "token_tree"), None)
        inside = text_of(tree)[1:-1]
        parts = arguments_of(inside)
        if not parts:
            return True
        subject, pattern = expression(parts[0][0]), matched(matches_patterns(inside))
        if subject is None or pattern is None:
            return True
        given = self.evaluator.machine.expand(self.evaluator.value(subject))
        taken, rest = self.evaluator.patterns.split(pattern, given, {})
        self.narrow(subject, taken if truth else rest)
        return bool(taken if truth else rest) or not given


def expression(text: str) -> Node | None:
    """``text`` as an expression; ``None`` where it is none."""
    root = parse(f"fn f() {{ ({text}) }}".encode())
    block = root.named_children[0].child_by_field_name("body") if root.named_children else None
    if root.has_error or block is None or not block.named_children:
        return None
    inner = block.named_children[-1]
    inner = inner.named_children[0] if inner.type == "expression_statement" else inner
    return inner.named_children[0] if inner.type == "parenthesized_expression" and inner.named_children else inner


def matched(text: str) -> Node | None:
    """``text`` as a pattern; ``None`` where it is none."""
    root = parse(f"fn f() {{ match x {{ {text} => {{}} }} }}".encode())
    if root.has_error:
        return None
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "match_pattern":
            return node
        waiting.extend(node.named_children)
    return None


def _unsigned(atom: object) -> bool:
    return isinstance(atom, Obj) and atom.type.name in ("usize", "u8", "u16", "u32", "u64")
