"""Patterns of ``match``, ``let`` and ``if let``: which values they take, and what they bind."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from conformance.upstream.wiring.index import Index
from conformance.upstream.wiring.items import Type, Unit
from conformance.upstream.wiring.syntax import text_of
from conformance.upstream.wiring.tokens import behind, tokens_of
from conformance.upstream.wiring.values import (
    ERROR,
    NEVER,
    NONE,
    UNKNOWN,
    Known,
    Obj,
    Range,
    Str,
    Tup,
    Values,
    Variant,
    union,
)

_TRANSPARENT = ("Some", "Ok")
_WRAPPERS = ("reference_pattern", "ref_pattern", "mut_pattern", "match_pattern", "captured_pattern")


class Patterns:
    """Patterns as seen from one text: its aliases say which enum a path means.

    ``partial`` is set by a pattern that may not take all of what ``take`` answers.
    """

    def __init__(
        self, index: Index, unit: Unit, expand: Callable[[Values], Values], self_type: Type | None = None
    ) -> None:
        self.index = index
        self.unit = unit
        self.self_type = self_type
        self.partial = False
        self.expand = expand

    def take(self, pattern: Node, values: Values, bound: dict[str, Values]) -> Values:
        """The part of ``values`` that ``pattern`` takes; its variables come into ``bound``."""
        kind = pattern.type
        inner = [child for child in pattern.named_children if child.type not in ("mutable_specifier", "line_comment")]
        if kind == "identifier":
            name = text_of(pattern)
            variant = self.variant((name,))
            if variant is not None:
                return self._only(variant, values)
            if name == "None":
                return NONE
            bound[name] = values
            return values
        if kind in _WRAPPERS and inner:
            if kind == "captured_pattern":
                taken = self.take(inner[1], values, bound) if len(inner) > 1 else values
                bound[text_of(inner[0])] = taken
                return taken
            return self.take(inner[0], values, bound)
        if kind == "or_pattern":
            return union([self.take(child, values, bound) for child in inner])
        if kind == "tuple_pattern":
            return self._tuple(inner, values, bound)
        if kind == "scoped_identifier":
            variant = self.variant(tuple(part.strip() for part in text_of(pattern).split("::")))
            self.partial = self.partial or variant is None
            return values if variant is None else self._only(variant, values)
        if kind in ("tuple_struct_pattern", "struct_pattern"):
            return self._payload(pattern, values, bound)
        if kind in ("integer_literal", "negative_literal", "range_pattern"):
            return within(_interval(text_of(pattern)), values)
        if kind in ("string_literal", "raw_string_literal"):
            literal = text_of(pattern).strip('r#"')
            return frozenset(a for a in values if not isinstance(a, Str) or a.known in (None, literal))
        if kind == "boolean_literal":
            truth = Known(text_of(pattern) == "true")
            known = [atom for atom in values if isinstance(atom, Known)]
            return frozenset({truth}) if truth in known or len(known) < len(values) else NEVER
        return values

    def split(self, pattern: Node, values: Values, bound: dict[str, Values]) -> tuple[Values, Values]:
        """What ``pattern`` takes of ``values`` as in ``take``, and what may go on behind it."""
        self.partial = False
        taken = self.take(pattern, values, bound)
        if self.partial:
            return taken, values
        return taken, frozenset(
            atom
            for atom in values
            if atom not in taken
            or not (isinstance(atom, Variant) or (isinstance(atom, Str) and atom.known is not None))
        )

    def variant(self, path: tuple[str, ...]) -> Variant | None:
        """The variant that ``path`` names: ``S::U8`` through an alias of the enum, ``BF16`` through a ``use``."""
        if len(path) == 1:
            path = self.index.alias(self.unit, path[0])
        if len(path) < 2:
            return None
        owner, name = path[-2], path[-1]
        kind = self.self_type if owner == "Self" and self.self_type is not None else Type(owner)
        resolved = self.index.resolved(kind, self.unit).name
        enum = self.index.enum(resolved, self.unit)
        return Variant(enum.name, name) if enum is not None and name in enum.variants else None

    def _only(self, variant: Variant, values: Values) -> Values:
        expanded = self.expand(values)
        if variant in expanded:
            return frozenset({variant})
        known = all(isinstance(atom, Variant) and atom.enum == variant.enum for atom in expanded)
        return NEVER if known and expanded else frozenset({variant})

    def _tuple(self, inner: list[Node], values: Values, bound: dict[str, Values]) -> Values:
        rows = [atom for atom in values if isinstance(atom, Tup) and len(atom.items) == len(inner)]
        if not rows:
            for child in inner:
                self.take(child, UNKNOWN, bound)
            return values
        taken = []
        collected: dict[str, list[Values]] = {}
        for row in rows:
            mine: dict[str, Values] = {}
            items = tuple(self.take(child, item, mine) for child, item in zip(inner, row.items, strict=True))
            if all(items):
                taken.append(Tup(items))
                for name, value in mine.items():
                    collected.setdefault(name, []).append(value)
        for name, several in collected.items():
            bound[name] = union(several)
        return frozenset(taken)

    def _payload(self, pattern: Node, values: Values, bound: dict[str, Values]) -> Values:
        head = pattern.child_by_field_name("type")
        path = tuple(part.strip() for part in text_of(head).split("::"))
        inner = [child for child in pattern.named_children if child != head]
        self.partial = self.partial or any(child.type not in ("identifier", "ref_pattern") for child in inner)
        if path[-1] in _TRANSPARENT:
            self.partial = True
            known = values - ERROR - NONE
            return union([self.take(child, known, bound) for child in inner]) if inner else known
        if path[-1] == "Err":
            self.partial = True
            for child in inner:
                self.take(child, UNKNOWN, bound)
            return values
        variant = self.variant(path)
        self.partial = self.partial or variant is None
        enum = self.index.enum(variant.enum, self.unit) if variant is not None else None
        kinds = enum.variants[variant.name] if enum is not None and variant is not None else ()
        for position, child in enumerate(inner):
            payload = kinds[position] if position < len(kinds) else None
            typed = frozenset({Obj(self.index.resolved(payload, enum.unit))}) if payload and enum else UNKNOWN
            self.take(child, typed, bound)
        return values if variant is None else self._only(variant, values)


def matches_patterns(text: str) -> str:
    """The pattern of a ``matches!`` (its second argument, guards cut off), from the text between its brackets."""
    words = tokens_of(text)
    position = depth = 0
    while position < len(words) and not (words[position] == "," and depth == 0):
        position = behind(words, position) if words[position] in ("(", "[", "{") else position + 1
    rest = words[position + 1 :]
    return " ".join(rest[: rest.index("if")] if "if" in rest else rest).rstrip(", ")


def _interval(text: str) -> Range:
    digits = text.replace("_", "").replace(" ", "")
    low, dots, high = digits.partition("..")
    if not dots:
        return Range(number_of(low), number_of(low))
    inclusive = high.startswith("=")
    top = number_of(high.lstrip("="))
    return Range(number_of(low), top if top is None or inclusive else top - 1)


def number_of(text: str) -> int | None:
    """The number that an integer literal spells, with or without a type."""
    match = re.fullmatch(
        r"(-?(?:0x[0-9a-fA-F]+|0b[01]+|0o[0-7]+|[0-9]+))(?:[ui](?:8|16|32|64|128|size))?", text.replace("_", "")
    )
    return int(match[1], 0) if match else None


def within(limits: Range, values: Values) -> Values:
    taken: set[Range] = set()
    for atom in values:
        span = atom if isinstance(atom, Range) else Range(None, None)
        low = span.low if limits.low is None else limits.low if span.low is None else max(span.low, limits.low)
        high = span.high if limits.high is None else limits.high if span.high is None else min(span.high, limits.high)
        if low is None or high is None or low <= high:
            taken.add(Range(low, high))
    return frozenset(taken)
