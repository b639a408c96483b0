"""What holds on all ways through the code: which calls may call a function, and where structs are made."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from candle_wiring.index import Function, Index, Kind
from candle_wiring.paths import UNKNOWN
from candle_wiring.sources import called_by
from conformance.upstream.rust import Type, ancestors, children, field_of, path_of, text_of

_CRATES = frozenset(("crate", "self", "super", "candle", "candle_core"))
_TEXT = re.compile(r"\b(str|String|Cow)\b")


class Program:
    """What holds on every way: the items, which calls may call a function, and where structs are made."""

    def __init__(self, index: Index, loads: frozenset[str], serves: Callable[[str], bool]) -> None:
        self.index = index
        self.loads = loads
        self.serves = serves
        self._callers: dict[Function, list[tuple[Node, Function]]] = {}
        self._literals: dict[Kind, list[tuple[Node, Function]]] = {}
        self._leaving: dict[int, bool] = {}
        self.values: dict[Function, dict[str, str]] = {}  # where functions are handed over as values
        self.unfollowed: dict[str, str] = {}  # those of ``values`` whose text then is nobody's

    def callers(self, function: Function) -> list[tuple[Node, Function]]:
        """The calls that may call ``function``, each with the function that contains it."""
        if function not in self._callers:
            found = self._callers[function] = []
            for label, name in self.index.mentions([function.name]):
                call, around = called_by(name), self.index.around(label, name)
                if around is None or around in self.index.foreign:
                    continue
                if call is not None and self._may_call(call, name, around, function):
                    found.append((call, around))
                elif (
                    call is None
                    and name.parent is not None
                    and name.parent.type == "arguments"
                    and function.owner is None
                ):
                    place = around.scope.place(name)
                    self.values.setdefault(function, {})[place] = f"in {around.name}"
        return self._callers[function]

    def _may_call(self, call: Node, name: Node, around: Function, function: Function) -> bool:
        given = len(children(field_of(call, "arguments")))
        wanted, owner = len(function.params), function.owner
        parent = name.parent
        if parent is not None and parent.type == "field_expression":
            if not function.has_self or given != wanted:
                return False
            if text_of(field_of(parent, "value")) != "self" or owner is None or around.owner is None:
                return True
            if around.owner.type is None:
                return around.owner.trait == owner.trait
            return owner.type is None or owner.type.name in (around.owner.type.name, *owner.generics)
        # A function without an owner is known by its name alone: a call that does not fit it is not compiled, but asks.
        if owner is not None and given != wanted + function.has_self:
            return False
        if parent is not None and parent.type == "scoped_identifier":
            kind = path_of(parent)[-2]
            if owner is None:
                return kind[:1].islower()
            mine = around.owner.type if kind == "Self" and around.owner is not None else Type(kind)
            resolved = self.index.resolved(mine or UNKNOWN, around.scope).name
            return (
                owner.type is None
                or resolved == self.index.resolved(owner.type, function.scope).name
                or kind in around.generics
            )
        return owner is None and function in self.visible(function.name, around)

    def visible(self, name: str, around: Function | None, label: str = "") -> list[Function]:
        """The functions without an owner that ``name`` may mean inside of ``around``."""
        scope = None if around is None else around.scope
        path = (name,) if scope is None else self.index.alias(scope, name)
        alias = path[-1]
        known = [
            one for one in self.index.functions.get(alias, []) if one.owner is None and one not in self.index.foreign
        ]
        outer: Function | None = around
        while outer is not None:
            inside = [one for one in known if one.outer is outer]
            if inside:
                return inside
            outer = outer.outer
        top = [one for one in known if one.outer is None]
        near = [one for one in top if one.scope.label == (scope.label if scope else label)]
        public = [one for one in top if one.open]
        modules = set(path[:-1]) - _CRATES
        named = [one for one in public if modules & set(re.split(r"[/.]", one.scope.label))]
        return near or named or public

    def literals(self, struct: Kind) -> list[tuple[Node, Function]]:
        """The places where values of ``struct`` are made, each with its function."""
        if struct not in self._literals:
            found = self._literals[struct] = []
            for label, name in self.index.mentions([struct.name]):
                around = self.index.around(label, name)
                if (
                    around is None
                    or around in self.index.foreign
                    or self.index.struct(struct.name, around.scope) is not struct
                ):
                    continue
                for outer, child in ancestors(name):
                    made = outer.type == "struct_expression" and field_of(outer, "name") == child
                    called = outer.type == "call_expression" and field_of(outer, "function") == child
                    if made or (called and name.type == "identifier" and child == name):
                        found.append((outer, around))
                    if (
                        made
                        or called
                        or outer.type not in ("scoped_type_identifier", "generic_type", "generic_type_with_turbofish")
                    ):
                        break
        return self._literals[struct]

    def may_leave(self, node: Node) -> bool:
        """Whether ``node`` contains a ``return``."""
        if node.id not in self._leaving:
            self._leaving[node.id] = b"return" in (node.text or b"")
        return self._leaving[node.id]

    def tells_names(self, kind: Type | None) -> bool:
        """Whether a parameter of the type ``kind`` can hand over text."""
        return kind is not None and kind.name in ("str", "String", "Cow")

    def answers_names(self, function: Function) -> bool:
        """Whether what the function returns can be part of a name: text, a struct with text, or an enum."""
        return bool(_TEXT.search(function.returns)) or any(
            self.index.is_plain_enum(word) or self.index.has_text(self.index.resolved(Type(word), function.scope).name)
            for word in re.findall(r"\w+", function.returns)
        )
