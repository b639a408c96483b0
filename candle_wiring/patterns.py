"""Conditions and patterns: what is decided where the code branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tree_sitter import Node

from candle_wiring.paths import (
    ANY_NUMBER,
    ERROR,
    NONE,
    UNKNOWN,
    Bound,
    Dead,
    Frame,
    Obj,
    Str,
    Thunk,
    Tup,
    Undecided,
    Value,
    Variant,
)
from candle_wiring.results import Results
from conformance.upstream.rust import ancestors, children, field_of, path_of, text_of

_NUMBERS = frozenset(("usize", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "isize"))
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    **{"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b},
    **{"<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b},
}


class Patterns(Results):
    """Matches patterns and decides conditions on one way."""

    def force(self, value: Value, frame: Frame) -> Value:
        """``value`` with its variant decided, if it is an enum."""
        if isinstance(value, Obj):
            enum = self.index.enum(value.type.name, frame.scope)
            if enum is not None:
                return Variant(enum.name, self.way.decide((value.key, "variant"), list(enum.parts)), value.key)
        return value

    def number(self, value: Value) -> Value:
        """``value`` with its number decided, if it is a number."""
        if isinstance(value, Obj) and (value.type.name in _NUMBERS):
            return int(self.way.decide((value.key, "number"), [ANY_NUMBER, *range(65)]))
        return value

    def text(self, value: Value) -> Str:
        """The text that ``value`` is printed as."""
        if isinstance(value, Str):
            return value
        if value in (NONE, ERROR):
            raise Dead
        value = self.number(value)
        if isinstance(value, int) and value != ANY_NUMBER:
            return Str((str(value).lower(),))
        return Str((None,))

    def decided(self, condition: Node | None, frame: Frame) -> bool:
        """Whether ``condition`` holds; it is decided if that is not known."""
        if condition is None:
            return True
        truth = self.truth(condition, frame)
        if truth is None:
            key = ("condition", frame.number, condition.id)
            truth = self.way.decide(key, [True, False])
            self.way.conditions.append((condition, frame, truth))
        return truth

    def truth(self, node: Node, frame: Frame) -> bool | None:
        """Whether ``node`` holds; ``None`` where that is not known."""
        try:
            return self._truth(node, frame)
        except Undecided:
            return None

    def _truth(self, node: Node, frame: Frame) -> bool | None:
        if node.type == "let_chain" or (node.type == "binary_expression" and node.children[1].type in ("&&", "||")):
            ends = text_of(field_of(node, "operator")) == "||"
            several = []
            for part in children(node):
                several.append(self.truth(part, frame))
                if several[-1] is ends:
                    return ends
            return None if None in several else not ends
        if node.type == "parenthesized_expression":
            return self.truth(children(node)[0], frame)
        if node.type == "unary_expression" and text_of(node)[:1] == "!":
            truth = self.truth(children(node)[0], frame)
            return None if truth is None else not truth
        if node.type == "let_condition":
            pattern = field_of(node, "pattern")
            return self.bind(pattern, self.value(field_of(node, "value"), frame), frame, {}, False)
        if node.type == "binary_expression" and text_of(field_of(node, "operator")) in _COMPARE:
            sides = [self.value(field_of(node, side), frame) for side in ("left", "right")]
            sides = [self._settled(side, frame, sides) for side in sides]
            sides = [side.known if isinstance(side, Str) else side for side in sides]  # type: ignore[misc]
            same = type(sides[0]) is type(sides[1]) and isinstance(sides[0], str | int | Variant)
            return bool(_COMPARE[text_of(field_of(node, "operator"))](*sides)) if same else None
        if node.type in (
            "identifier",
            "call_expression",
            "match_expression",
            "boolean_literal",
            "if_expression",
            "block",
        ):
            value = self.value(node, frame)
            if isinstance(value, bool):
                return value
            if isinstance(value, Obj) and value.type.name == "bool":
                return self.way.decide((value.key, "truth"), [True, False])
        return None

    def _settled(self, side: Value, frame: Frame, sides: Sequence[Value]) -> Value:
        """A side of a comparison: an enum that is compared with another is decided, a number only if it is already."""
        if any(
            isinstance(other, Variant)
            or (isinstance(other, Obj) and other.type == getattr(side, "type", 0) and other is not side)
            for other in sides
        ):
            return self.force(side, frame)
        if isinstance(side, Obj) and (side.key, "number") in self.way.decided:
            return self.number(side)
        return side

    def arm(self, node: Node, frame: Frame) -> Node | None:
        """The expression of the arm that a ``match`` takes; ``None`` where none matches."""
        value = self.value(field_of(node, "value"), frame)
        for arm in children(field_of(node, "body")):
            pattern = field_of(arm, "pattern")
            if arm.type != "match_arm" or pattern is None:
                continue
            fits = self.bind(pattern, value, frame, {}, False)
            guard = field_of(pattern, "condition")
            if fits is None:
                fits = self.way.decide(("arm", frame.number, arm.id), [True, False])
            if fits and (guard is None or self.decided(guard, frame)):
                return field_of(arm, "value")
        raise Dead

    def bind(
        self,
        pattern: Node | None,
        value: Thunk | Value,
        frame: Frame,
        bound: Bound,
        assume: bool = True,
    ) -> bool | None:
        """Whether ``pattern`` matches ``value``; its variables are then in ``bound``. ``None`` where that is not known.

        With ``assume`` control came this way, so everything open is decided to match. Raises ``Dead`` where it cannot.
        """
        fits = True if pattern is None else self._bind(pattern, value, frame, bound, assume)
        if assume and fits is False:
            raise Dead
        return fits

    def _bind(self, pattern: Node, value: Thunk | Value, frame: Frame, bound: Bound, assume: bool) -> bool | None:
        guard = field_of(pattern, "condition")
        inner = [child for child in children(pattern) if child.type != "mutable_specifier" and child != guard]
        match pattern.type:
            case "identifier":
                variant = self.variant((text_of(pattern),), frame)
                if variant is None and text_of(pattern) != "None":
                    bound[text_of(pattern)] = value
                    return True
                return (
                    self._is(variant, value, frame, assume)
                    if variant
                    else _known(self.plain(value) == NONE, self.plain(value))
                )
            case "match_pattern" | "reference_pattern" | "ref_pattern" | "mut_pattern":
                return self._bind(inner[0], value, frame, bound, assume) if inner else True
            case "captured_pattern":
                bound[text_of(inner[0])] = value
                return self._bind(inner[1], value, frame, bound, assume) if len(inner) > 1 else True
            case "or_pattern":
                if assume:
                    fitting = (
                        [
                            child
                            for child in _alternatives(pattern)
                            if self._bind(child, value, frame, {}, False) is not False
                        ]
                        if not self._open(value, frame)
                        else list(_alternatives(pattern))
                    )
                    chosen = self.way.decide(("or", frame.number, pattern.id), fitting)
                    return self._bind(chosen, value, frame, bound, assume)
                several = [self._bind(child, value, frame, bound, assume) for child in _alternatives(pattern)]
                return True if True in several else None if None in several else False
            case "tuple_pattern":
                given = self.plain(value)
                items = (
                    given.items
                    if isinstance(given, Tup)
                    else [Obj(UNKNOWN, (getattr(given, "key", None), at)) for at in range(len(inner))]
                )
                if len(items) != len(inner):
                    items = [Obj(UNKNOWN)] * len(inner)
                several = []
                for child, item in zip(inner, items, strict=True):
                    several.append(self._bind(child, item, frame, bound, assume))
                    if several[-1] is False:
                        return False
                return None if None in several else True
            case "scoped_identifier":
                variant = self.variant(path_of(pattern), frame)
                return None if variant is None else self._is(variant, value, frame, assume)
            case "tuple_struct_pattern" | "struct_pattern":
                return self._payload(pattern, value, frame, bound, assume)
            case "string_literal" | "raw_string_literal" | "boolean_literal" | "integer_literal" | "negative_literal":
                given, wanted = self.plain(value), self.value(pattern, frame)
                given = (
                    self.number(given)
                    if isinstance(given, Obj) and (given.key, "number") in self.way.decided
                    else given
                )
                if isinstance(given, Obj) and assume and not isinstance(wanted, Str):
                    self.way.decided.setdefault((given.key, "number"), wanted)
                    return True
                if isinstance(given, Str) and isinstance(wanted, Str):
                    return None if given.known is None else given.known == wanted.known
                return given == wanted if isinstance(given, int) else None
            case "range_pattern":
                given = self.plain(value)
                given = (
                    self.number(given)
                    if isinstance(given, Obj) and (given.key, "number") in self.way.decided
                    else given
                )
                low, _, high = text_of(pattern).replace("_", "").replace(" ", "").partition("..")
                top = int(high.lstrip("=")) + high.startswith("=") if high.lstrip("=").isdigit() else ANY_NUMBER * 2
                return int(low or 0) <= given < top if isinstance(given, int) and (low or "0").isdigit() else None
        return True if text_of(pattern) == "_" else None

    def _open(self, value: Thunk | Value, frame: Frame) -> bool:
        value = self.plain(value)
        return isinstance(value, Obj) and (value.key, "variant") not in self.way.decided

    def _is(self, variant: Variant, value: Thunk | Value, frame: Frame, assume: bool) -> bool | None:
        value = self.plain(value)
        if isinstance(value, Obj) and assume:
            value = Variant(variant.enum, self.way.decided.setdefault((value.key, "variant"), variant.name))
        value = self.force(value, frame)
        if isinstance(value, Variant):
            return value == variant
        return None

    def _payload(self, pattern: Node, value: Thunk | Value, frame: Frame, bound: Bound, assume: bool) -> bool | None:
        head = field_of(pattern, "type")
        inner = [child for child in children(pattern) if child != head]
        path = path_of(head) if head is not None else ("",)
        if path[-1] in ("Some", "Ok", "Err"):
            given = self.plain(value)
            fits = _known(given not in (NONE, ERROR), given)
            if path[-1] == "Err":
                return None if fits is None else not fits
            return (
                fits
                if fits is False
                else _both(fits, [self._bind(child, value, frame, bound, assume) for child in inner])
            )
        variant = self.variant(path, frame)
        if variant is None:
            return _both(None, [self._bind(child, self.unknown(child, frame), frame, bound, assume) for child in inner])
        given = self.plain(value)
        fits = self._is(variant, given, frame, assume)
        if fits is False:
            return False
        enum = self.index.enum(variant.enum, frame.scope)
        kinds = enum.parts[variant.name] if enum is not None else ()
        several = []
        for at, child in enumerate(inner):
            kind = kinds[at] if at < len(kinds) else None
            resolved = self.index.resolved(kind, enum.scope) if kind is not None and enum is not None else UNKNOWN
            held = Obj(resolved, (getattr(given, "key", None), variant.name, at))
            several.append(self._bind(child, held, frame, bound, assume))
        return _both(fits, several)

    def assume(self, node: Node, frame: Frame) -> None:
        """Decide the match arms around ``node`` so that control gets there. Raises ``Dead`` where earlier decisions
        contradict them."""
        kept, self.way.open = self.way.open, False
        try:
            for outer, child in ancestors(node):
                pattern = field_of(outer, "pattern") if outer.type == "match_arm" else None
                if pattern is None or child == pattern or outer.parent is None or outer.parent.parent is None:
                    continue
                with suppress(Undecided):
                    self.bind(pattern, self.value(field_of(outer.parent.parent, "value"), frame), frame, {})
        finally:
            self.way.open = kept


def _known(truth: bool, value: Value) -> bool | None:
    return None if isinstance(value, Obj) else truth


def _both(fits: bool | None, several: Sequence[bool | None]) -> bool | None:
    return False if False in (fits, *several) else None if None in (fits, *several) else True


def _alternatives(pattern: Node) -> list[Node]:
    return [
        one for child in children(pattern) for one in (_alternatives(child) if child.type == "or_pattern" else [child])
    ]
