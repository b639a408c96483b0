"""What a function is given by the call that it is: its parameters and its types."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from tree_sitter import Node

from candle_wiring.index import Function, parameters_of
from candle_wiring.paths import (
    UNKNOWN,
    Bound,
    Frame,
    Nobodys,
    Obj,
    Thunk,
    Tup,
    Undecided,
    Value,
    Way,
)
from candle_wiring.program import Program
from candle_wiring.sources import called_by
from conformance.upstream.rust import Type, children, field_of, text_of, type_of

_NEAR = 2  # callers that are asked for a type
DEEPEST = 12
"""Functions that are followed one in the other."""


class Calls(ABC):
    """Finds the calls on one way: what a function is given for its parameters, and for its type parameters."""

    def __init__(self, program: Program, way: Way) -> None:
        self.program = program
        self.index = program.index
        self.way = way
        self.literals, self.may_leave, self.serves = program.literals, program.may_leave, program.serves

    @abstractmethod
    def value(self, node: Node | None, frame: Frame) -> Value:
        """The value of the expression ``node``."""

    @abstractmethod
    def plain(self, value: Thunk | Value) -> Value:
        """The value of an element of a tuple, or of an argument, evaluated if it is not yet."""

    @abstractmethod
    def bind(
        self,
        pattern: Node | None,
        value: Thunk | Value,
        frame: Frame,
        bound: Bound,
        assume: bool = True,
    ) -> bool | None:
        """Whether ``pattern`` matches ``value``; its variables are then in ``bound``."""

    @abstractmethod
    def assume(self, node: Node, frame: Frame) -> None:
        """Decide the conditions and match arms around ``node`` so that control gets there."""

    # From the caller

    def caller(self, frame: Frame) -> tuple[Node, Frame] | None:
        """The call by which the function of ``frame`` runs. It is decided if it is not known. ``None`` where nothing
        calls the function."""
        if frame.call is None and not frame.uncalled and frame.function is not None:
            known = self.program.callers(frame.function)
            if not known or frame.depth > DEEPEST:
                frame.uncalled = True
                return None
            call, around = self.way.decide(("caller", frame.number), known)
            if around.name in self.program.loads:
                raise Nobodys
            frame.call = (call, self.way.frame(around, around.scope, depth=frame.depth + 1))
            self.way.sites.append(frame.call)
            self.assume(*frame.call)
        return frame.call

    def parameter(self, name: str, node: Node, frame: Frame) -> Value | None:
        """The value of the function's parameter ``name``; ``None`` where it has none of that name."""
        function = frame.function
        if function is None or function.node != node:
            return None
        if name == "self":
            return self.receiver(frame)
        for at, (pattern, kind) in enumerate(function.params):
            if not re.search(rf"\b{name}\b", text_of(pattern)):
                continue
            bound: Bound = {}
            self.bind(pattern, self._given(at, kind, frame), frame, bound)
            return self.plain(bound[name]) if name in bound else None
        return None

    def _given(self, at: int, kind: Type | None, frame: Frame) -> Value:
        function = frame.function
        assert function is not None
        text, enum = (
            self.program.tells_names(kind),
            kind is not None and self.index.is_plain_enum(self.concrete(kind, frame).name),
        )
        if frame.inlined or text or kind is None or (enum and not function.open):
            call = self.caller(frame)
            if text:
                self.program.unfollowed |= self.program.values.get(function, {})
            if call is not None:
                arguments = children(field_of(call[0], "arguments"))
                target = field_of(call[0], "function")
                method = target is not None and "field_expression" in (
                    target.type,
                    *(one.type for one in target.children[:1]),
                )
                method = method and target is not None and target.type in ("field_expression", "generic_function")
                at += function.has_self and not method
                if text and not frame.inlined:
                    self.way.handed = call[1].scope.place(call[0])
                given = self.value(arguments[at], call[1]) if at < len(arguments) else Obj(UNKNOWN)
                if not (isinstance(given, Obj) and given.type == UNKNOWN and kind is not None):
                    return given
            elif text and (function.open or function in self.program.values):
                raise Nobodys  # nobody's name, or listed where the function is handed over
        key = ("parameter", frame.number, at)
        return Obj(UNKNOWN, key) if kind is None else Obj(self.concrete(kind, frame), key)

    def receiver(self, frame: Frame) -> Value:
        """The value of ``self``."""
        function = frame.function
        if frame.inlined and frame.call is not None:
            target = field_of(frame.call[0], "function")
            if target is not None and target.type == "field_expression":
                return self.value(field_of(target, "value"), frame.call[1])
            arguments = children(field_of(frame.call[0], "arguments"))
            return self.value(arguments[0], frame.call[1]) if arguments else Obj(UNKNOWN)
        kind = frame.self_type or (function.owner.type if function is not None and function.owner is not None else None)
        return Obj(self.concrete(kind or UNKNOWN, frame), ("self", frame.number))

    def closure_parameter(self, name: str, node: Node, frame: Frame) -> Value | None:
        """The value of the closure's parameter ``name``; ``None`` where it has none of that name."""
        for at, (pattern, kind) in enumerate(parameters_of(field_of(node, "parameters"))[0]):
            if not re.search(rf"\b{name}\b", text_of(pattern)):
                continue
            typed: Thunk | Value = Obj(self.concrete(kind or UNKNOWN, frame), (frame.number, node.id, at))
            let = node.parent
            if frame.closure is not None and frame.closure[0] == node:
                given = frame.closure[1]
                typed = given[at] if at < len(given) else typed
            elif let is not None and let.type == "let_declaration" and let.parent is not None:
                called = re.escape(text_of(field_of(let, "pattern")).encode())
                calls = [
                    call
                    for match in re.finditer(rb"\b" + called + rb"\s*\(", let.parent.text or b"")
                    for found in [
                        let.parent.descendant_for_byte_range(
                            let.parent.start_byte + match.start(), let.parent.start_byte + match.start() + 1
                        )
                    ]
                    for call in [None if found is None else called_by(found)]
                    if call is not None
                ]
                call = self.way.decide(("closure", frame.number, node.id), calls)
                self.way.sites.append((call, frame))
                if self.program.tells_names(kind):
                    self.way.handed = frame.scope.place(call)
                arguments = children(field_of(call, "arguments"))
                typed = Thunk(arguments[at], frame) if at < len(arguments) else typed
            bound: Bound = {}
            self.bind(pattern, typed, frame, bound)
            return self.plain(bound[name]) if name in bound else None
        return None

    # Types

    def concrete(self, kind: Type, frame: Frame) -> Type:
        """``kind``, with the types that the frame has for type parameters and ``Self``."""
        name, function = kind.name, frame.function
        if name == "Self":
            if frame.self_type is not None:
                return frame.self_type
            if function is not None and function.owner is not None and function.owner.type is not None:
                return self.concrete(function.owner.type, frame)
        if function is not None and (
            name in function.generics or (function.owner is not None and name in function.owner.generics)
        ):
            return self._parameter_type(name, frame) or kind
        if frame.outer is not None and frame.closure is not None:
            return self.concrete(kind, frame.outer)
        resolved = self.index.resolved(Type(name), frame.scope)
        return Type(resolved.name, tuple(self.concrete(arg, frame) for arg in kind.args))

    def bounds(self, name: str, frame: Frame) -> tuple[str, ...]:
        """The traits that the type parameter ``name`` has to implement."""
        function = frame.function
        owner = None if function is None else function.owner
        return {**(owner.generics if owner else {}), **(function.generics if function else {})}.get(name, ())

    def _parameter_type(self, name: str, frame: Frame) -> Type | None:
        if name in frame.types:
            return frame.types[name]
        function = frame.function
        assert function is not None
        frame.types[name] = None  # for a type that depends on itself
        owner = function.owner
        found: Type | None = None
        kinds = self.index.implementers(self.bounds(name, frame))
        # A type that no near caller fixes can be any that its bounds allow.
        if frame.inlined or (name in function.generics and (frame.depth < _NEAR or not kinds)):
            try:
                call = self.caller(frame)
                found = None if call is None else self._type_in_call(name, function, *call)
            except Undecided:
                del frame.types[name]
                raise
        if found is None and owner is not None and owner.type is not None and owner.type.name == name:
            found = frame.self_type
        if found is None:
            found = self.way.decide(("type", frame.number, name), kinds) if kinds else None
        frame.types[name] = found
        return found

    def _type_in_call(self, name: str, function: Function, call: Node, frame: Frame) -> Type | None:
        """A type parameter of a call, from ``::<T>`` or from the arguments."""
        target = field_of(call, "function")
        if target is not None and target.type == "generic_function":
            listed = children(field_of(target, "type_arguments"))
            kinds = [type_of(kind) for kind in listed if kind.type != "lifetime"]
            explicit = dict(zip(function.generics, kinds, strict=False)).get(name)
            if explicit is not None and explicit.name != "_":
                return self._closed(self.concrete(explicit, frame), frame)
        arguments = children(field_of(call, "arguments"))
        offset = len(arguments) - len(function.params)
        for (_, declared), node in zip(function.params, arguments[max(offset, 0) :], strict=False):
            if declared is None or not _has(declared, name):
                continue
            given = self.value(node, frame)
            found = _unified(declared, given.type, name) if isinstance(given, Obj) else None
            if found is None and isinstance(given, Tup):
                held = {kind.args[0] for kind in self._kinds(given) if len(kind.args) == 1}
                found = held.pop() if len(held) == 1 else None
            if found is not None and self._closed(found, frame) is not None:
                return found
        return None

    def _closed(self, kind: Type, frame: Frame) -> Type | None:
        function = frame.function
        owner = None if function is None else function.owner
        open_names = {*(function.generics if function else ()), *(owner.generics if owner else ()), "_"}
        return None if kind.name in open_names else kind

    def _kinds(self, value: Value) -> list[Type]:
        if isinstance(value, Tup):
            return [kind for item in value.items for kind in self._kinds(self.plain(item))]
        return [value.type] if isinstance(value, Obj) else []


def _has(kind: Type, name: str) -> bool:
    return kind.name == name or any(_has(arg, name) for arg in kind.args)


def _unified(declared: Type, kind: Type, name: str) -> Type | None:
    """What the type parameter ``name`` in ``declared`` is when an argument's type is ``kind``."""
    if declared.name == name:
        return kind
    if declared.name != kind.name or len(declared.args) != len(kind.args):
        return None
    found = (_unified(left, right, name) for left, right in zip(declared.args, kind.args, strict=True))
    return next((one for one in found if one is not None), None)
