"""Calls of functions, methods and macros, as the evaluator meets them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from conformance.upstream.wiring.items import Function, Type, type_of
from conformance.upstream.wiring.machine import INLINE_DEPTH, Context
from conformance.upstream.wiring.narrowing import path_of
from conformance.upstream.wiring.standard import Standard
from conformance.upstream.wiring.syntax import text_of
from conformance.upstream.wiring.values import (
    ERROR,
    UNKNOWN,
    Closure,
    Obj,
    Str,
    Tup,
    Values,
    Variant,
    counts,
    texts,
    union,
)

if TYPE_CHECKING:
    from conformance.upstream.wiring.expressions import Evaluator

_WRAPPERS = frozenset(("String", "Cow", "Box", "Arc", "Rc", "CString", "Some", "Ok"))
_POINTERS = frozenset(("Arc", "Box", "Rc"))
_SPLIT = 64  # calls of one function, each with one of the texts that an argument may be
_MODULES = {
    **dict.fromkeys(("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "usize", "isize", "bool"), ""),
    **{"bf16": "half::bfloat::", "f16": "half::binary16::"},
}


class Calls:
    """Calls within one evaluator's frame."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.machine = evaluator.machine
        self.standard = Standard(evaluator)
        self.closures: list[Closure] = []

    def call(self, node: Node) -> Values:
        """The value of a call expression."""
        target = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        assert target is not None
        explicit: list[Type] = []
        if target.type == "generic_function":
            arguments = target.child_by_field_name("type_arguments")
            kinds = [] if arguments is None else [c for c in arguments.named_children if c.type != "lifetime"]
            explicit = [type_of(kind) or Type("_") for kind in kinds]
            target = target.child_by_field_name("function")
            assert target is not None
        if target.type == "field_expression":
            return self._method(node, target, self._values(given), explicit)
        return self._function(node, target, self._values(given), explicit)

    def _values(self, given: Node | None) -> list[Values]:
        children = [] if given is None else given.named_children
        return [self.evaluator.value(child) for child in children if "comment" not in child.type]

    def _method(self, node: Node, target: Node, given: list[Values], explicit: Sequence[Type]) -> Values:
        receiver = target.child_by_field_name("value")
        assert receiver is not None
        name = text_of(target.child_by_field_name("field"))
        values = self.evaluator.value(receiver)
        if name in self.machine.loads:
            return self._load(target.child_by_field_name("field") or node, given, node)
        candidates, guessed = self._methods(values, name, receiver)
        if candidates:
            carried = self._carried(receiver)
            results = [
                self._apply(
                    function, given, explicit, kind, carried, node, frozenset({atom}) if atom else values, guessed
                )
                for function, kind, atom in candidates
            ]
            return union(results)
        return self.standard.call(name, values, given)

    def _methods(
        self, values: Values, name: str, receiver: Node
    ) -> tuple[list[tuple[Function, Type | None, Obj | Variant | None]], bool]:
        """The methods called ``name`` that the receiver may have, each with ``Self`` and the value it is called on.

        And whether that is a guess by the name alone, the receiver not being known.
        """
        index = self.machine.index
        found: list[tuple[Function, Type | None, Obj | Variant | None]] = []
        for atom in values:
            if not isinstance(atom, Obj | Variant):
                continue
            kind = atom.type if isinstance(atom, Obj) else Type(atom.enum)
            while kind.name in _POINTERS and len(kind.args) == 1:
                kind = kind.args[0]
            owners = [owner for owner in self.machine.owners_of(kind) if name in owner.functions]
            traits = {owner.trait for owner in self.machine.owners_of(kind) if owner.trait is not None}
            owners += [
                block
                for trait in traits
                for block in index.traits.get(trait, [])
                if not owners and name in block.functions
            ]
            found += [(owner.functions[name], kind, atom) for owner in owners]
        function = self.evaluator.frame.function
        if not found and path_of(receiver) == "self" and function is not None and function.owner is not None:
            trait = function.owner.trait
            blocks = [*index.impls.get(trait or "", []), *index.traits.get(trait or "", [])]
            found = [(block.functions[name], block.type, None) for block in blocks if name in block.functions]
        if not found and any(atom in UNKNOWN for atom in values):
            live = [one for one in index.functions.get(name, []) if one.has_self and self.machine.is_live(one)]
            return [(one, None, None) for one in live], True
        return found, False

    def _carried(self, receiver: Node) -> dict[str, Values]:
        """What is known of the receiver's fields, as the method sees them."""
        path = path_of(receiver)
        if path is None:
            return {}
        variables = self.evaluator.frame.variables
        return {f"self{key[len(path) :]}": value for key, value in variables.items() if key.startswith(f"{path}.")}

    def _function(self, node: Node, target: Node, given: list[Values], explicit: Sequence[Type]) -> Values:
        path = tuple(re.sub(r"<.*", "", part.strip()) for part in text_of(target).split("::"))
        name = path[-1]
        if name in self.machine.loads:
            return self._load(target, given, node)
        if name == "Err":
            return ERROR
        if name == "type_name" and len(explicit) == 1:
            return self._type_name(explicit[0], node)
        if len(path) == 1 and name in self.evaluator.frame.variables:
            held = self.evaluator.frame.variables[name]
            closures = [atom for atom in held if isinstance(atom, Closure)]
            return union([self.evaluator.call_closure(closure, given) for closure in closures]) if closures else UNKNOWN
        if target.type in ("parenthesized_expression", "closure_expression"):
            closures = [atom for atom in self.evaluator.value(target) if isinstance(atom, Closure)]
            return union([self.evaluator.call_closure(closure, given) for closure in closures]) if closures else UNKNOWN
        candidates = self._functions(node, target, path)
        if candidates:
            return union(
                [self._apply(function, given, explicit, kind, {}, node, None) for function, kind in candidates]
            )
        if path[0 if len(path) == 1 else -2] in _WRAPPERS and given:
            return given[0]
        variant = self.evaluator.patterns.variant(path)
        if variant is not None:
            return frozenset({variant})
        kind = self.machine.concrete(Type(name), self.evaluator.frame)
        if kind.name in self.machine.index.structs:
            for position, value in enumerate(given):
                self.evaluator.keep_field(kind, str(position), value)
            return frozenset({Obj(kind)})
        return UNKNOWN

    def _type_name(self, kind: Type, node: Node) -> Values:
        """What ``std::any::type_name`` answers: a type's name behind its module, which is known of a few."""
        concrete = self.machine.concrete(kind, self.evaluator.frame)
        if concrete.name in self._generic_names():
            self.machine.doubtful = True
            return frozenset({Str((None,))})
        place = (self.evaluator.frame.unit.place(node),)
        if concrete.name in _MODULES:
            return frozenset({Str((_MODULES[concrete.name] + concrete.name,), place)})
        return frozenset({Str((None, f"::{concrete.name}"), place)})

    def _functions(self, node: Node, target: Node, path: Sequence[str]) -> list[tuple[Function, Type | None]]:
        """The functions that a path may mean: the nearest of that name, or those of the type before the ``::``."""
        index, frame = self.machine.index, self.evaluator.frame
        name = path[-1]
        if len(path) > 1:
            bracketed = target.child_by_field_name("path")
            kind = Type(path[-2])
            if bracketed is not None and bracketed.type == "bracketed_type":
                qualified = bracketed.named_children[0]
                kind = type_of(qualified.child_by_field_name("type") or qualified) or kind
            concrete = self.machine.concrete(kind, frame)
            owners = [owner for owner in self.machine.owners_of(concrete) if name in owner.functions]
            if not owners:
                owners = [owner for owner in index.impls.get(kind.name, []) if name in owner.functions]
            if owners:
                return [(owner.functions[name], owner.type if concrete == kind else concrete) for owner in owners]
        alias = index.alias(frame.unit, name)[-1] if len(path) == 1 else name
        known = [one for one in index.functions.get(alias, []) if one.owner is None]
        if len(path) == 1 and frame.function is not None:
            round_here = {*frame.function.scope, frame.function.node.id}
            inside = [one for one in known if _encloses(one, node, round_here)]
            if inside:
                deepest = max(len(one.scope) for one in inside)
                return [(one, None) for one in inside if len(one.scope) == deepest]
        top = [one for one in known if one.unit.label == frame.unit.label] or known
        return [(one, None) for one in top]

    def _apply(
        self,
        function: Function,
        given: Sequence[Values],
        explicit: Sequence[Type],
        self_type: Type | None,
        carried: Mapping[str, Values],
        node: Node,
        receiver: Values | None,
        guessed: bool = False,
    ) -> Values:
        """Calls a function: remembers the call of a live one, follows one whose result can be part of a name.

        A ``guessed`` function is believed to be called only where the arguments fit its type parameters.
        """
        frame = self.evaluator.frame
        if function.has_self and receiver is None and given:
            receiver, given = given[0], given[1:]  # Type::method(value, ...)
        types = self._types(function, given, explicit, self_type)
        if self.machine.is_live(function):
            self.machine.reached.add(frame.unit.place(_name_in(node)))
            if not frame.silent:
                places = (*frame.callers, frame.unit.place(node))
                kinds = [kind for _, kind in function.params]
                shown = tuple(
                    value if self.machine.tells_names(kind, enums=True) and counts(value) else UNKNOWN
                    for value, kind in zip(given, kinds, strict=False)
                )
                # What a trait's own method does is done by all that implement the trait, called here or not.
                mine = None if function.owner is not None and function.owner.type is None else self_type
                if self._is_parameter(node) and self.machine.hands_on(function) and frame.function is not None:
                    self.machine.note_loader(frame.function)
                handed = frame.uncalled and self._is_parameter(node)
                for way in types if not guessed else filter(None, types):
                    self.machine.note_call(
                        function, Context(tuple(sorted(way.items())), shown, mine, places[-3:], handed)
                    )
        elif (
            self.machine.answers_names(function)
            and id(function) not in self.machine.index.foreign
            and frame.depth < INLINE_DEPTH
        ):
            variables = dict(carried)
            if receiver is not None:
                variables["self"] = receiver
            return union(
                [
                    self.machine.enter(
                        function, way, self_type, one, frame.depth + 1, frame.callers, variables, frame.silent
                    )
                    for way in types
                    for one in _text_by_text(given)
                ]
            )
        result = function.result
        while result is not None and result.name in ("Result", "Option", "Arc", "Box") and result.args:
            result = result.args[0]
        return UNKNOWN if result is None else frozenset({Obj(self._result(result, function, types, self_type))})

    def _result(
        self, kind: Type, function: Function, types: Sequence[Mapping[str, Type]], self_type: Type | None
    ) -> Type:
        if kind.name == "Self" and self_type is not None:
            return self_type
        bound = types[0].get(kind.name) if len(types) == 1 else None
        return bound or self.machine.index.resolved(kind, function.unit)

    def _types(
        self, function: Function, given: Sequence[Values], explicit: Sequence[Type], self_type: Type | None
    ) -> list[dict[str, Type]]:
        """The type parameters of a call, from ``::<T>`` and from the arguments; one row per combination seen."""
        frame = self.evaluator.frame
        fixed: dict[str, Type] = {}
        owner = function.owner
        blanket = owner.type.name if owner is not None and owner.type and owner.type.name in owner.generics else None
        if blanket is not None and self_type is not None and self_type.name != blanket:
            fixed[blanket] = self_type
        for name, kind in zip(function.generics, explicit, strict=False):
            if kind.name != "_":
                concrete = self.machine.concrete(kind, frame)
                if concrete.name not in self._generic_names():
                    fixed[name] = concrete
        rows = [fixed]
        names = {*function.generics, *(owner.generics if owner is not None else ())}
        for (_, declared), values in zip(function.params, given, strict=False):
            ways = [self._unified(declared, atom.type, names) for atom in values if isinstance(atom, Obj)]
            ways = [way for way in ways if way] or list(self._nested(declared, values, names))
            if ways:
                rows = [{**way, **row} for row in rows for way in ways]
        return list({tuple(sorted(row.items())): row for row in rows}.values())

    def _nested(self, declared: Type | None, values: Values, names: set[str]) -> Iterator[dict[str, Type]]:
        """The type parameters of an argument that is a tuple or an array, where all of its elements agree on them."""
        wanted = [arg.name for arg in declared.args if arg.name in names] if declared is not None else []
        held = {kind.args[0] for kind in _kinds(values) if len(kind.args) == 1}
        if len(wanted) == len(held) == 1 and not {kind.name for kind in held} & self._generic_names():
            yield {wanted[0]: held.pop()}

    def _generic_names(self) -> set[str]:
        function = self.evaluator.frame.function
        if function is None:
            return set()
        owner = function.owner
        return {*function.generics, *(owner.generics if owner is not None else ())} - set(self.evaluator.frame.types)

    def _unified(self, declared: Type | None, kind: Type, names: set[str]) -> dict[str, Type]:
        """What the type parameters ``names`` in ``declared`` are when an argument's type is ``kind``."""
        if declared is None:
            return {}
        if declared.name in names:
            return {} if kind.name in self._generic_names() or kind.name == "_" else {declared.name: kind}
        if declared.name != kind.name or len(declared.args) != len(kind.args):
            return {}
        found: dict[str, Type] = {}
        for left, right in zip(declared.args, kind.args, strict=True):
            found |= self._unified(left, right, names)
        return found

    def _load(self, node: Node, given: Sequence[Values], call: Node) -> Values:
        frame = self.evaluator.frame
        if not frame.silent:
            named = next((value for value in given if any(isinstance(atom, Str) for atom in value)), None)
            # Without any text: the first argument's place in the signature, with unknown text.
            names = texts(named) if named is not None else [Str((None,))]
            given_on = self._is_parameter(call)
            if named is None and frame.uncalled and given_on:
                names = []
            words = frozenset(re.findall(r"\w+", text_of(call.child_by_field_name("arguments"))))
            self.machine.note_load(frame, node, names, words, given_on)
        return UNKNOWN

    def _is_parameter(self, call: Node) -> bool:
        """Whether an argument of ``call`` is a text that the function was given."""
        function, given = self.evaluator.frame.function, call.child_by_field_name("arguments")
        if function is None or given is None:
            return False
        words = {text_of(pattern) for pattern, kind in function.params if kind and kind.name in ("str", "String")}
        return any(path_of(argument) in words for argument in given.named_children)


def _encloses(function: Function, node: Node, scopes: set[int]) -> bool:
    """Whether ``function`` is declared in a block round ``node``."""
    if not function.scope or function.scope[-1] in scopes:
        return True
    parent = node.parent
    while parent is not None:
        if parent.id == function.scope[-1]:
            return True
        parent = parent.parent
    return False


def _kinds(values: Values) -> Iterator[Type]:
    """The types of what the tuples and arrays in ``values`` hold."""
    for item in (item for atom in values if isinstance(atom, Tup) for item in atom.items):
        yield from (atom.type for atom in item if isinstance(atom, Obj))
        yield from _kinds(item)


def _name_in(call: Node) -> Node:
    """The name of what ``call`` calls, which may stand on another line than its receiver."""
    target = call.child_by_field_name("function") or call
    if target.type == "generic_function":
        target = target.child_by_field_name("function") or target
    return target.child_by_field_name("field") or target.child_by_field_name("name") or target


def _text_by_text(given: Sequence[Values]) -> list[list[Values]]:
    """``given`` once for each combination of the texts in it, so that each answer stays with the text it is for."""
    rows: list[list[Values]] = [[]]
    for value in given:
        single = len(value) > 1 and all(isinstance(atom, Str) for atom in value) and len(rows) * len(value) <= _SPLIT
        parts = [frozenset({atom}) for atom in value] if single else [value]
        rows = [[*row, part] for row in rows for part in parts]
    return rows
