"""All items of the Rust files in reach, by name; the uses of item macros are expanded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from tree_sitter import Node

from conformance.upstream.wiring.items import (
    Constant,
    Enum,
    Function,
    Owner,
    Struct,
    Type,
    Unit,
    calls_of,
    cfg_attributes,
    generics_of,
    parameters_of,
    type_of,
    uses_of,
)
from conformance.upstream.wiring.macros import Macro
from conformance.upstream.wiring.syntax import line_of, parse, text_of

_ITEM_WORDS = {"fn", "impl", "const", "static", "enum", "struct", "trait", "type", "mod", "macro_rules"}
_DEPTH = 8  # of macros that expand to macros


class Index:
    """The items of the files that were added."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.enums: dict[str, list[Enum]] = defaultdict(list)
        self.structs: dict[str, list[Struct]] = defaultdict(list)
        self.consts: dict[str, list[Constant]] = defaultdict(list)
        self.impls: dict[str, list[Owner]] = defaultdict(list)  # by trait
        self.owners: dict[str, list[Owner]] = defaultdict(list)  # by type
        self.traits: dict[str, list[Owner]] = defaultdict(list)
        self.macros: dict[str, list[tuple[Unit, Node, Macro]]] = defaultdict(list)
        self.aliases: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)  # by file, and by function in it
        self.types: dict[str, Type] = {}
        self.expanded: set[int] = set()
        self.foreign: set[int] = set()  # ids of functions of other backends, and of tests
        self.serves: Callable[[Sequence[str]], bool] = lambda attributes: True  # whether they leave this backend's code
        self._uses: list[tuple[Unit, Node, Owner | None, tuple[int, ...], tuple[str, ...]]] = []

    def add(self, label: str, root: Node) -> None:
        """Takes in one file."""
        self._items(Unit(label), root, None, (), ())

    def finish(self) -> None:
        """Expands the macros that stand where items do; called once all files, and so all macros, are known."""
        for _ in range(_DEPTH):
            waiting, self._uses = self._uses, []
            for unit, node, owner, scope, marks in waiting:
                expansion = self.expansion(unit, node)
                if expansion is None or not _ITEM_WORDS & set(expansion.split()):
                    continue
                text = f"impl X {{ {expansion} }}" if owner is not None else expansion
                root = parse(text.encode())
                place = replace(unit, line=line_of(node) + unit.offset if unit.line is None else unit.line)
                inside = root.named_children[0].child_by_field_name("body") if owner is not None else root
                if inside is not None:
                    self._items(place, inside, owner, (*scope, root.id), marks)

    def expansion(self, unit: Unit, use: Node) -> str | None:
        """What the macro use ``use`` stands for; ``None`` for a macro that is not in these files, or does not fit."""
        name = text_of(use.child_by_field_name("macro")).rsplit("::", 1)[-1]
        name = self.alias(unit, name)[-1]
        known = self.macros.get(name, [])
        nearest = [entry for entry in known if entry[0].label == unit.label] or known
        tree = next((child for child in use.named_children if child.type == "token_tree"), None)
        for _, node, macro in nearest:
            expansion = macro.expand(text_of(tree)[1:-1])
            if expansion is not None:
                self.expanded.add(node.id)
                return expansion
        return None

    def _items(
        self, unit: Unit, node: Node, owner: Owner | None, scope: tuple[int, ...], marks: tuple[str, ...]
    ) -> None:
        """Takes in the items directly below ``node``; ``marks`` are the use declarations and attributes round it."""
        here = (*scope, node.id)
        uses = tuple(text_of(child) for child in node.named_children if child.type == "use_declaration")
        marks = (*marks, "\n".join(uses))
        for child in node.named_children:
            inside = (*marks, "\n".join(cfg_attributes(child)))
            statement = child.type == "expression_statement" and bool(child.named_children)
            self._item(unit, child.named_children[0] if statement else child, owner, here, inside)

    def _item(
        self, unit: Unit, node: Node, owner: Owner | None, scope: tuple[int, ...], marks: tuple[str, ...]
    ) -> None:
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        match node.type:
            case "function_item" if body is not None:
                self._function(unit, node, body, owner, scope, marks)
            case "impl_item" if body is not None:
                trait = type_of(node.child_by_field_name("trait"))
                block = Owner(
                    unit,
                    trait.name.rsplit("::", 1)[-1] if trait else None,
                    type_of(node.child_by_field_name("type")),
                    generics_of(node),
                )
                if block.trait is not None:
                    self.impls[block.trait].append(block)
                if block.type is not None:
                    self.owners[self.resolved(block.type, unit).name].append(block)
                self._items(unit, body, block, scope, marks)
            case "trait_item" if body is not None:
                block = Owner(unit, name, None, generics_of(node))
                self.traits[name].append(block)
                self._items(unit, body, block, scope, marks)
            case "mod_item" if body is not None:
                self._items(unit, body, None, scope, marks)
            case "enum_item" if body is not None:
                variants = [child for child in body.named_children if child.type == "enum_variant"]
                self.enums[name].append(
                    Enum(name, unit, {text_of(v.child_by_field_name("name")): tuple(_payload(v)) for v in variants})
                )
            case "struct_item":
                self.structs[name].append(Struct(name, unit, dict(_fields(body))))
            case "const_item" | "static_item":
                constant = Constant(unit, node.child_by_field_name("value"), type_of(node.child_by_field_name("type")))
                if owner is not None:
                    owner.consts[name] = constant
                else:
                    self.consts[name].append(constant)
            case "type_item":
                target = type_of(node.child_by_field_name("type"))
                if target is not None and owner is None:
                    self.types.setdefault(name, target)
            case "use_declaration":
                argument = node.child_by_field_name("argument")
                for used, path in [] if argument is None else uses_of(argument):
                    if used != "*":
                        self.aliases[(*unit.scope, unit.label)[0]].setdefault(used, path)
            case "macro_definition":
                rules = [
                    (text_of(rule.child_by_field_name("left")), text_of(rule.child_by_field_name("right")))
                    for rule in node.named_children
                    if rule.type == "macro_rule"
                ]
                self.macros[name].append((unit, node, Macro.of(rules)))
            case "macro_invocation":
                self._uses.append((unit, node, owner, scope, marks))
            case _:
                pass

    def _function(
        self,
        unit: Unit,
        node: Node,
        body: Node,
        owner: Owner | None,
        scope: tuple[int, ...],
        marks: tuple[str, ...],
    ) -> None:
        unit = replace(unit, scope=(f"{unit.label}#{node.start_byte}", *unit.scope))
        params, has_self = parameters_of(node.child_by_field_name("parameters"))
        function = Function(
            name=text_of(node.child_by_field_name("name")),
            unit=unit,
            node=node,
            body=body,
            owner=owner,
            scope=scope,
            generics=generics_of(node),
            params=params,
            has_self=has_self,
            returns=text_of(node.child_by_field_name("return_type")),
            result=type_of(node.child_by_field_name("return_type")),
            calls=calls_of(body),
            open=(owner is not None and (owner.trait is not None or owner.type is None))
            or any(child.type == "visibility_modifier" for child in node.named_children),
            uses=(*marks, "\n".join(text_of(c) for c in body.named_children if c.type == "use_declaration")),
        )
        self.functions[function.name].append(function)
        if owner is not None:
            owner.functions[function.name] = function
        for block in _blocks(body):
            self._items(unit, block, None, (*scope, node.id), function.uses)

    def alias(self, unit: Unit, name: str) -> tuple[str, ...]:
        """The path that ``name`` stands for in ``unit``: its own ``use`` declarations first, then the file's."""
        for scope in (*unit.scope, unit.label):
            if name in self.aliases.get(scope, {}):
                return self.aliases[scope][name]
        return (name,)

    def resolved(self, kind: Type, unit: Unit) -> Type:
        """``kind`` with the aliases of its file, and type aliases of any, replaced by what they stand for."""
        name = kind.name
        for _ in range(_DEPTH):
            kinds: list[Struct | Enum] = [*self.structs.get(name, []), *self.enums.get(name, [])]
            local = any(one.unit.label == unit.label for one in kinds)
            target = name if local else self.alias(unit, name)[-1]
            if target == name and not local and name in self.types:
                target = self.types[name].name
            if target == name:
                break
            name = target.rsplit("::", 1)[-1]
        return Type(name, tuple(self.resolved(arg, unit) for arg in kind.args))

    @cached_property
    def plain_enums(self) -> frozenset[str]:
        """The enums of which no variant holds anything."""
        return frozenset(
            name for name, known in self.enums.items() if not any(any(one.variants.values()) for one in known)
        )

    @cached_property
    def structs_with_text(self) -> frozenset[str]:
        """The structs with a field that is text."""
        return frozenset(
            name
            for name, known in self.structs.items()
            if any(kind is not None and kind.name in ("str", "String") for one in known for kind in one.fields.values())
        )

    def enum(self, name: str, unit: Unit) -> Enum | None:
        """The enum called ``name`` as seen from ``unit``."""
        known = self.enums.get(name, [])
        folder = unit.label.rsplit("/", 1)[0]
        near = [one for one in known if one.unit.label == unit.label]
        near = near or [one for one in known if one.unit.label.startswith(folder)]
        return next(iter(near or known), None)

    def implementers(self, traits: tuple[str, ...]) -> list[Type]:
        """The types that implement all of ``traits`` (of those that any type in these files implements)."""
        sets = []
        for trait in traits:
            found = [
                self.resolved(owner.type, owner.unit)
                for owner in self.impls.get(trait, [])
                if owner.type and owner.type.name not in owner.generics
            ]
            if found:
                sets.append(found)
        if not sets:
            return []
        return [kind for kind in dict.fromkeys(sets[0]) if all(kind in others for others in sets[1:])]


def _payload(variant: Node) -> Iterator[Type | None]:
    body = variant.child_by_field_name("body")
    if body is not None and body.type == "ordered_field_declaration_list":
        for child in body.children_by_field_name("type"):
            yield type_of(child)


def _fields(body: Node | None) -> Iterator[tuple[str, Type | None]]:
    if body is None:
        return
    if body.type == "ordered_field_declaration_list":
        for position, child in enumerate(body.children_by_field_name("type")):
            yield str(position), type_of(child)
        return
    for child in body.named_children:
        if child.type == "field_declaration":
            yield text_of(child.child_by_field_name("name")), type_of(child.child_by_field_name("type"))


def _blocks(body: Node) -> Iterator[Node]:
    """The blocks below a function's body, itself included, that may hold items of their own."""
    waiting = [body]
    while waiting:
        node = waiting.pop()
        if node.type in ("function_item", "impl_item", "trait_item", "mod_item") and node is not body:
            continue
        if node.type == "block":
            yield node
        text = node.text or b""
        if any(word in text for word in (b"fn ", b"impl ", b"const ", b"struct ", b"use ", b"macro_rules")):
            waiting.extend(reversed(node.named_children))
