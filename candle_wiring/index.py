"""The items of Rust files, by name, and where a name stands in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from conformance.upstream.rust import (
    Type,
    children,
    field_of,
    line_of,
    matches,
    path_of,
    query,
    text_of,
    type_of,
)

_ITEMS = query(
    "[(function_item) (impl_item) (trait_item) (mod_item) (enum_item) (struct_item) (const_item) (static_item)"
    " (type_item) (use_declaration) (attribute_item)] @item"
)
_BETWEEN = re.compile(rb"(?:\s|//[^\n]*|/\*.*?\*/|#\[[^\]]*\])*", re.DOTALL)
_DEPTH = 8  # of names that stand for others


@dataclass(eq=False)
class Scope:
    """A file, or an item that contains others, with its ``use`` declarations and attributes."""

    label: str
    outer: Scope | None = None
    attributes: str = ""
    end: int = 0
    uses: list[str] = field(default_factory=list)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    function: Function | None = None
    owner: Owner | None = None

    def place(self, node: Node) -> str:
        """The place of a node of this file: ``file:line``."""
        return f"{self.label}:{line_of(node)}"

    def marks(self) -> Iterator[str]:
        """The ``use`` declarations and attributes that hold inside, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from ("\n".join(scope.uses), scope.attributes)
            scope = scope.outer


@dataclass(eq=False)
class Owner:
    """An ``impl`` block or a trait. ``type`` is ``None`` for a trait, ``trait`` is ``None`` for an inherent impl."""

    scope: Scope
    trait: str | None
    type: Type | None
    generics: dict[str, tuple[str, ...]]
    consts: dict[str, Constant] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


@dataclass(eq=False)
class Constant:
    """A constant. Its value is ``None`` where a trait only declares it."""

    scope: Scope
    value: Node | None


@dataclass(eq=False)
class Function:
    """A function with a body. If it is ``open`` (public, or a method of a trait), there may be callers that are not
    seen here."""

    name: str
    scope: Scope
    node: Node
    body: Node
    owner: Owner | None
    generics: dict[str, tuple[str, ...]]
    params: list[tuple[Node, Type | None]]
    has_self: bool
    returns: str
    result: Type | None
    open: bool

    @cached_property
    def outer(self) -> Function | None:
        """The function that contains it; ``None`` for none."""
        scope = self.scope.outer
        while scope is not None and scope.function is None:
            scope = scope.outer
        return None if scope is None else scope.function


@dataclass(eq=False)
class Kind:
    """An enum or a struct, with the types that each variant or field holds."""

    name: str
    scope: Scope
    parts: dict[str, tuple[Type | None, ...]]


class Index:
    """The items of all files that were added, by name."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, Node]] = {}
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.enums: dict[str, list[Kind]] = defaultdict(list)
        self.structs: dict[str, list[Kind]] = defaultdict(list)
        self.consts: dict[str, list[Constant]] = defaultdict(list)
        self.impls: dict[str, list[Owner]] = defaultdict(list)  # by trait
        self.owners: dict[str, list[Owner]] = defaultdict(list)  # by type
        self.traits: dict[str, list[Owner]] = defaultdict(list)
        self.types: dict[str, Type] = {}
        self.foreign: set[Function] = set()  # of other backends, of tests, and those that nothing calls
        self._inside: dict[str, list[Function]] = defaultdict(list)

    def add(self, label: str, source: bytes, root: Node) -> None:
        """Add the items of one file."""
        self.files[label] = (source, root)
        scope = Scope(label, end=len(source))
        attributes: list[str] = []
        behind = 0
        for node in matches(_ITEMS, root):
            while scope.outer is not None and node.start_byte >= scope.end:
                scope = scope.outer
            if node.start_byte > behind and _BETWEEN.fullmatch(source, behind, node.start_byte) is None:
                attributes = []
            if node.type == "attribute_item":
                attributes.append(text_of(node))
                behind = node.end_byte
                continue
            inner = self._item(scope, node, "\n".join(attributes))
            attributes = []
            scope = inner or scope

    def _item(self, scope: Scope, node: Node, attributes: str) -> Scope | None:
        name, body = text_of(field_of(node, "name")), field_of(node, "body")
        kind = type_of(field_of(node, "type"))
        inner = Scope(scope.label, scope, attributes, node.end_byte)
        match node.type:
            case "function_item" if body is not None:
                self._function(inner, node, body, scope.owner)
            case "impl_item" if body is not None:
                trait = type_of(field_of(node, "trait"))
                inner.owner = Owner(scope, trait.name.rsplit("::", 1)[-1] if trait else None, kind, generics_of(node))
                if inner.owner.trait is not None:
                    self.impls[inner.owner.trait].append(inner.owner)
                if kind is not None:
                    self.owners[self.resolved(kind, scope).name].append(inner.owner)
            case "trait_item" if body is not None:
                inner.owner = Owner(scope, name, None, generics_of(node))
                self.traits[name].append(inner.owner)
            case "mod_item" if body is not None:
                pass
            case "enum_item" if body is not None:
                variants = [child for child in body.named_children if child.type == "enum_variant"]
                held = {text_of(field_of(v, "name")): _types(field_of(v, "body")) for v in variants}
                self.enums[name].append(Kind(name, scope, held))
            case "struct_item":
                self.structs[name].append(Kind(name, scope, dict(_fields(body))))
            case "const_item" | "static_item":
                constant = Constant(scope, field_of(node, "value"))
                if scope.owner is not None:
                    scope.owner.consts[name] = constant
                else:
                    self.consts[name].append(constant)
            case "type_item" if kind is not None and scope.owner is None:
                self.types.setdefault(name, kind)
            case "use_declaration":
                scope.uses.append(text_of(node))
                argument = field_of(node, "argument")
                for used, path in [] if argument is None else _uses(argument):
                    scope.aliases.setdefault(used, path)
        return inner if body is not None and node.type not in ("enum_item", "struct_item") else None

    def _function(self, scope: Scope, node: Node, body: Node, owner: Owner | None) -> None:
        params, has_self = parameters_of(field_of(node, "parameters"))
        returned = field_of(node, "return_type")
        public = any(child.type == "visibility_modifier" for child in node.named_children)
        scope.function = function = Function(
            name=text_of(field_of(node, "name")),
            scope=scope,
            node=node,
            body=body,
            owner=owner,
            generics=generics_of(node),
            params=params,
            has_self=has_self,
            returns=text_of(returned),
            result=type_of(returned),
            open=public or (owner is not None and (owner.trait is not None or owner.type is None)),
        )
        self.functions[function.name].append(function)
        self._inside[scope.label].append(function)
        if owner is not None:
            owner.functions[function.name] = function

    def mentions(self, names: Collection[str]) -> Iterator[tuple[str, Node]]:
        """Every place where one of ``names`` is an identifier, with the file's label."""
        wanted = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in names) + rb")\b")
        for label, (source, root) in self.files.items():
            for match in wanted.finditer(source):
                node = root.descendant_for_byte_range(match.start(), match.end())
                if node is not None and node.type in ("identifier", "field_identifier", "type_identifier"):
                    yield label, node

    def within(self, label: str) -> list[Function]:
        """The functions of the file ``label``."""
        return self._inside[label]

    def around(self, label: str, node: Node) -> Function | None:
        """The innermost function that contains ``node``; ``None`` for none."""
        inside = [one for one in self._inside[label] if one.node.start_byte <= node.start_byte < one.node.end_byte]
        return max(inside, key=lambda one: one.node.start_byte, default=None)

    def alias(self, scope: Scope, name: str) -> tuple[str, ...]:
        """The path that ``name`` stands for, by the innermost ``use`` that names it."""
        outer: Scope | None = scope
        while outer is not None:
            if name in outer.aliases:
                return outer.aliases[name]
            outer = outer.outer
        return (name,)

    def resolved(self, kind: Type, scope: Scope) -> Type:
        """``kind`` with the aliases of its file, and all type aliases, replaced by what they stand for."""
        name = kind.name
        for _ in range(_DEPTH):
            kinds = [*self.structs.get(name, []), *self.enums.get(name, [])]
            local = any(one.scope.label == scope.label for one in kinds)
            target = name if local else self.alias(scope, name)[-1]
            if target == name and not local and name in self.types:
                target = self.types[name].name
            if target == name:
                break
            name = target
        return Type(name, tuple(self.resolved(arg, scope) for arg in kind.args))

    def enum(self, name: str, scope: Scope) -> Kind | None:
        """The enum that ``name`` means in ``scope``; ``None`` for none."""
        known = self.enums.get(name, [])
        near = [one for one in known if one.scope.label == scope.label]
        near = near or [one for one in known if one.scope.label.startswith(scope.label.rsplit("/", 1)[0])]
        return next(iter(near or known), None)

    def struct(self, name: str, scope: Scope) -> Kind | None:
        """The struct that ``name`` means in ``scope``; ``None`` for none."""
        known = self.structs.get(name, [])
        outer: Scope | None = scope
        while outer is not None:
            for one in known:
                if one.scope is outer:
                    return one
            outer = outer.outer
        return next((one for one in known if one.scope.function is None), None)

    def is_plain_enum(self, name: str) -> bool:
        """Whether ``name`` is an enum whose variants hold nothing."""
        return name in self.enums and not any(any(one.parts.values()) for one in self.enums[name])

    def has_text(self, name: str) -> bool:
        """Whether ``name`` is a struct with a field that holds text."""
        kinds = [kind for one in self.structs.get(name, []) for held in one.parts.values() for kind in held]
        return any(kind is not None and kind.name in ("str", "String") for kind in kinds)

    def implementers(self, traits: tuple[str, ...]) -> list[Type]:
        """The types that implement all of ``traits`` (of those that any type in these files implements)."""
        sets = []
        for trait in traits:
            blocks = [
                block for block in self.impls.get(trait, []) if block.type and block.type.name not in block.generics
            ]
            sets += [[self.resolved(block.type, block.scope) for block in blocks if block.type]] if blocks else []
        return [kind for kind in dict.fromkeys(sets[0]) if all(kind in others for others in sets)] if sets else []


def parameters_of(node: Node | None) -> tuple[list[tuple[Node, Type | None]], bool]:
    """The pattern and the type of each parameter, and whether there is a ``self``."""
    params: list[tuple[Node, Type | None]] = []
    listed = [child for child in children(node) if child.type != "attribute_item"]
    for child in listed:
        if child.type == "parameter":
            params.append((field_of(child, "pattern") or child, type_of(field_of(child, "type"))))
        elif child.type != "self_parameter":
            params.append((child, None))  # a closure's parameter without a type
    return params, any(child.type == "self_parameter" for child in listed)


def generics_of(node: Node) -> dict[str, tuple[str, ...]]:
    """The type parameters of a function, impl or trait, with their bounds and those of the where clause."""
    found: dict[str, tuple[str, ...]] = {}
    for child in children(field_of(node, "type_parameters")):
        if child.type in ("type_parameter", "constrained_type_parameter", "optional_type_parameter"):
            name = field_of(child, "name") or field_of(child, "left") or child.named_children[0]
            found[text_of(name)] = tuple(_bounds(field_of(child, "bounds")))
        elif child.type == "type_identifier":
            found[text_of(child)] = ()
    for clause in node.named_children:
        for predicate in clause.named_children if clause.type == "where_clause" else []:
            bounded = text_of(field_of(predicate, "left"))
            if bounded in found:
                found[bounded] += tuple(_bounds(field_of(predicate, "bounds")))
    return found


def _bounds(node: Node | None) -> Iterator[str]:
    kinds = (type_of(child) for child in children(node))
    yield from (kind.name.rsplit("::", 1)[-1] for kind in kinds if kind is not None)


def _types(body: Node | None) -> tuple[Type | None, ...]:
    if body is None or body.type != "ordered_field_declaration_list":
        return ()
    return tuple(type_of(child) for child in body.children_by_field_name("type"))


def _fields(body: Node | None) -> Iterator[tuple[str, tuple[Type | None]]]:
    yield from ((str(position), (kind,)) for position, kind in enumerate(_types(body)))
    for child in children(body):
        if child.type == "field_declaration":
            yield text_of(field_of(child, "name")), (type_of(field_of(child, "type")),)


def _uses(node: Node, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that the argument of a ``use`` brings in, each with its path."""
    path = field_of(node, "path")
    if node.type == "use_as_clause" and path is not None:
        yield text_of(field_of(node, "alias")), prefix + path_of(path)
    elif node.type == "scoped_use_list":
        inner = prefix + (path_of(path) if path is not None else ())
        for child in children(field_of(node, "list")):
            yield from _uses(child, inner)
    elif node.type == "use_list":
        for child in children(node):
            yield from _uses(child, prefix)
    elif node.type != "use_wildcard":
        yield path_of(node)[-1], prefix + path_of(node)
