"""What a call gives back: functions of the sources, macros that became calls, and the standard library."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

from tree_sitter import Node

from candle_wiring.callers import DEEPEST, Calls
from candle_wiring.index import Function
from candle_wiring.paths import (
    ERROR,
    NONE,
    UNKNOWN,
    Closure,
    Dead,
    Frame,
    Obj,
    Returned,
    Str,
    Thunk,
    Tup,
    Value,
    Variant,
)
from conformance.upstream.rust import Type, children, field_of, path_of, text_of, type_of

_POINTERS = frozenset(("Arc", "Box", "Rc", "Result", "Option"))
_WRAPPERS = frozenset(("String", "Cow", "Box", "Arc", "Rc", "CString", "Some", "Ok"))
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}:]*)(:[^{}]*)?\}")
_MODULES = {
    **dict.fromkeys(("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "usize", "isize", "bool"), ""),
    **{"bf16": "half::bfloat::", "f16": "half::binary16::"},
}
# Methods of the standard library, and Candle's error helpers, that hand their receiver on.
_TRANSPARENT = frozenset(
    (
        *("to_string", "as_str", "to_owned", "into", "clone", "as_ref", "as_mut", "as_deref", "borrow", "deref"),
        *("unwrap", "expect", "w", "bt", "context", "with_context", "map_err", "cloned", "copied", "iter", "into_iter"),
        *("to_vec", "as_slice", "into_string", "into_boxed_str", "ok_or", "ok_or_else", "ok", "try_into"),
    )
)
_UNWRAPPING = frozenset(("unwrap", "expect", "ok_or", "ok_or_else", "context", "with_context"))
_CLOSURES = frozenset(("map", "and_then", "map_or", "map_or_else", "unwrap_or_else", "then", "then_some", "or_else"))
_TESTS: dict[str, Callable[[str, str], bool]] = {
    "contains": lambda whole, part: part in whole,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
}
_CASES: dict[str, Callable[[str], str]] = {
    "to_lowercase": str.lower,
    "to_ascii_lowercase": str.lower,
    "to_uppercase": str.upper,
    "trim": str.strip,
}


class Results(Calls):
    """Evaluates calls on one way."""

    @abstractmethod
    def unknown(self, node: Node, frame: Frame, kind: Type = UNKNOWN) -> Obj:
        """A value of which at most the type ``kind`` is known."""

    @abstractmethod
    def lookup(self, name: str, node: Node, frame: Frame) -> Value | None:
        """The value of the variable ``name`` at ``node``."""

    @abstractmethod
    def text(self, value: Value) -> Str:
        """The text that ``value`` is printed as."""

    @abstractmethod
    def variant(self, path: Sequence[str], frame: Frame) -> Variant | None:
        """The variant that ``path`` names; ``None`` for none."""

    def call(self, node: Node, frame: Frame) -> Value:
        """The value of the call ``node``."""
        target = field_of(node, "function")
        assert target is not None
        explicit = target
        if target.type == "generic_function":
            target = field_of(target, "function")
            assert target is not None
        arguments = children(field_of(node, "arguments"))
        if target.type == "field_expression":
            return self._method(node, target, arguments, frame)
        path = path_of(target)
        name = path[-1]
        if name in self.program.loads:
            return self.unknown(node, frame)
        if len(path) == 1:
            if name in ("format", "format_args"):
                return self._format(node, arguments, frame)
            if name == "concat":
                return _joined([self.text(self.value(one, frame)) for one in arguments])
            if name == "vec":
                return Tup(tuple(Thunk(one, frame) for one in arguments))
            if name == "Err":
                return ERROR
            held = self.lookup(name, node, frame) if target.type == "identifier" else self.value(target, frame)
            if isinstance(held, Closure):
                return self.call_closure(held, [Thunk(one, frame) for one in arguments])
        if name == "type_name" and explicit.type == "generic_function":
            return self._type_name(explicit, frame)
        options = self._functions(target, path, frame)
        if options:
            function, kind = self.way.decide(("callee", frame.number, node.id), options)
            return self.enter(function, node, frame, kind)
        if path[0 if len(path) == 1 else -2] in _WRAPPERS and arguments:
            return self.value(arguments[0], frame)
        variant = self.variant(path, frame)
        if variant is not None:
            return variant
        kind = self.concrete(Type(name), frame)
        literal = (node, frame) if kind.name in self.index.structs else None
        return Obj(kind if literal else UNKNOWN, (frame.number, node.id), literal)

    def _functions(self, target: Node, path: Sequence[str], frame: Frame) -> list[tuple[Function, Type | None]]:
        """The functions that a path may mean: the nearest of that name, or those of the type before the ``::``."""
        name = path[-1]
        if len(path) > 1:
            bracketed = field_of(target, "path")
            kind: Type | None = Type(path[-2])
            if bracketed is not None and bracketed.type == "bracketed_type":
                qualified = bracketed.named_children[0]
                kind = type_of(field_of(qualified, "type") or qualified)
            concrete = self.concrete(kind or UNKNOWN, frame)
            owners = [*self.index.owners.get(concrete.name, []), *self.index.impls.get(concrete.name, [])]
            if any(name in owner.functions for owner in owners) or path[-2][:1].isupper():
                return [(owner.functions[name], concrete) for owner in owners if name in owner.functions]
        return [(one, None) for one in self.program.visible(name, frame.function, frame.scope.label)]

    def enter(self, function: Function, node: Node, frame: Frame, self_type: Type | None) -> Value:
        """The value that ``function`` returns for the call ``node``."""
        inner = self.way.frame(
            function, function.scope, call=(node, frame), inlined=True, depth=frame.depth + 1, self_type=self_type
        )
        if self.program.answers_names(function) and function not in self.index.foreign and frame.depth < DEEPEST:
            try:
                return self.value(function.body, inner)
            except Returned as left:
                if left.frame is not inner:
                    raise
                return left.value
        kind = function.result
        while kind is not None and kind.name in _POINTERS and kind.args:
            kind = kind.args[0]
        return self.unknown(node, frame, UNKNOWN if kind is None else self.concrete(kind, inner))

    def call_closure(self, closure: Closure, arguments: Sequence[Thunk | Value]) -> Value:
        """The value that ``closure`` returns for ``arguments``."""
        outer = closure.frame
        if outer.depth > DEEPEST:
            return Obj(UNKNOWN)
        fresh = self.way.frame(None, outer.scope)
        inner = replace(
            outer, number=fresh.number, depth=outer.depth + 1, outer=outer, closure=(closure.node, arguments)
        )
        try:
            return self.value(field_of(closure.node, "body"), inner)
        except Returned as left:
            if left.frame is not inner:
                raise
            return left.value

    def _method(self, node: Node, target: Node, arguments: Sequence[Node], frame: Frame) -> Value:
        name = text_of(field_of(target, "field"))
        if name in self.program.loads:
            return self.unknown(node, frame)
        value = self.value(field_of(target, "value"), frame)
        options: list[tuple[Function, Type | None]] = []
        if isinstance(value, Obj | Variant):
            kind = value.type if isinstance(value, Obj) else Type(value.enum)
            while kind.name in _POINTERS and len(kind.args) == 1:
                kind = kind.args[0]
            owners = self.index.owners.get(kind.name, [])
            traits = [block for owner in owners for block in self.index.traits.get(owner.trait or "", [])]
            for blocks in (owners, traits, self.index.impls.get(kind.name, [])):
                options = options or [(block.functions[name], kind) for block in blocks if name in block.functions]
            if (
                not options
                and isinstance(value, Obj)
                and value.key == ("self", frame.number)
                and frame.function
                and frame.function.owner
            ):
                blocks = self.index.impls.get(frame.function.owner.trait or "", [])
                options = [(block.functions[name], block.type) for block in blocks if name in block.functions]
        if options:
            function, kind_of_self = self.way.decide(("callee", frame.number, node.id), options)
            return self.enter(function, node, frame, kind_of_self)
        return self._standard(node, name, value, [Thunk(one, frame) for one in arguments], frame)

    def _standard(self, node: Node, name: str, value: Value, given: Sequence[Thunk], frame: Frame) -> Value:
        """The methods of the standard library that names go through; every other one is unknown."""
        if name in _CASES and isinstance(value, Str):
            return Str(tuple(part and _CASES[name](part) for part in value.parts), value.places)
        if name in ("concat", "join") and isinstance(value, Tup):
            between = self.text(self.plain(given[0])) if given else Str(("",))
            items = [self.text(self.plain(item)) for item in value.items]
            return _joined([part for at, item in enumerate(items) for part in ([between, item] if at else [item])])
        if name in _CLOSURES:
            absent = value in (NONE, ERROR)
            if absent and name in ("map", "and_then"):
                return value
            if not absent and name in ("unwrap_or_else", "or_else") and isinstance(value, Str | Variant | int):
                return value
            held = [self.plain(one) for one in given]
            closures = [one for one in held if isinstance(one, Closure)]
            return self.call_closure(closures[0], [value]) if closures else held[0] if held else Obj(UNKNOWN)
        if name in ("unwrap_or", "or") and given:
            known = isinstance(value, Str | Variant | int)
            return (
                value
                if known
                else self.plain(given[0])
                if value in (NONE, ERROR) or self.way.decide(("or", frame.number, node.id), [True, False])
                else value
            )
        if name in _TESTS and len(given) == 1:
            truth = _tested(name, value, self.plain(given[0]), self.plain)
            return self.unknown(node, frame, Type("bool")) if truth is None else truth
        if name in _UNWRAPPING and value in (NONE, ERROR):
            raise Dead
        return value if name in _TRANSPARENT else self.unknown(node, frame)

    def _type_name(self, target: Node, frame: Frame) -> Value:
        """What ``std::any::type_name`` answers: a type's name behind its module, which is known of a few."""
        kind = type_of(children(field_of(target, "type_arguments"))[0])
        concrete = self._closed(self.concrete(kind or UNKNOWN, frame), frame)
        if concrete is None:
            return Str((None,))
        place = (frame.scope.place(target),)
        module = _MODULES.get(concrete.name)
        return Str((None, f"::{concrete.name}"), place) if module is None else Str((module + concrete.name,), place)

    def _format(self, node: Node, arguments: Sequence[Node], frame: Frame) -> Value:
        template = self.value(arguments[0], frame) if arguments else None
        if not isinstance(template, Str) or template.known is None:
            return Str((None,))
        named = {
            text_of(field_of(one, "left")): field_of(one, "right")
            for one in arguments[1:]
            if one.type == "assignment_expression"
        }
        placed = [one for one in arguments[1:] if one.type != "assignment_expression"]
        result = Str(("",))
        begin = following = 0
        for match in _PLACEHOLDER.finditer(template.known):
            result += Str((template.known[begin : match.start()],), template.places)
            begin = match.end()
            if match[0] in ("{{", "}}"):
                result += Str((match[0][0],))
                continue
            word = match[1].strip()
            at = following if not word else int(word) if word.isdigit() else -1
            following += not word
            if at >= 0:
                value = self.value(placed[at], frame) if at < len(placed) else Obj(UNKNOWN)
            else:
                value = (
                    self.value(named[word], frame) if word in named else self.lookup(word, node, frame) or Obj(UNKNOWN)
                )
            result += self.text(value)
        return result + Str((template.known[begin:],), template.places)


def _joined(pieces: Sequence[Str]) -> Str:
    result = Str(("",))
    for piece in pieces:
        result += piece
    return result


def _tested(name: str, whole: Value, part: Value, plain: Callable[[Thunk | Value], Value]) -> bool | None:
    """Whether a text or a list of texts contains (begins with, ends with) another."""
    sought = part.known if isinstance(part, Str) else None
    if sought is None:
        return None
    if isinstance(whole, Str) and whole.known is not None:
        return _TESTS[name](whole.known, sought)
    if isinstance(whole, Str) and name == "contains":
        # A part of it that is not known is the module before a type's name.
        return True if sought in whole.pattern else None
    if isinstance(whole, Tup) and name == "contains":
        items = [plain(item) for item in whole.items]
        return sought in [item.known for item in items if isinstance(item, Str)]
    return None
