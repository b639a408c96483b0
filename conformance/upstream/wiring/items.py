"""The items of Rust sources that names can go through: functions, impls, traits, enums, structs, constants, macros."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from conformance.upstream.wiring.syntax import line_of, text_of

_USED = re.compile(rb"(\.|::)?\s*\b([A-Za-z_]\w*)\s*!?\s*(?:::\s*<[^;(){}]*>\s*)?[({\[]")


@dataclass(frozen=True)
class Unit:
    """A parsed text.

    ``label`` is the file's path in the checkout, ``offset`` the lines before the text; ``line`` is the line of the
    macro that the text was expanded from, which stands for all of it; ``scope`` names the functions round it, from the
    innermost, whose ``use`` declarations hold in it.
    """

    label: str
    line: int | None = None
    offset: int = 0
    scope: tuple[str, ...] = ()

    def place(self, node: Node) -> str:
        """``file:line`` of a node of this text."""
        return f"{self.label}:{line_of(node) + self.offset if self.line is None else self.line}"


@dataclass(frozen=True)
class Type:
    """A type without references, lifetimes and paths: ``CudaSlice<u8>`` is ``Type("CudaSlice", (Type("u8"),))``."""

    name: str
    args: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return self.name + (f"<{', '.join(map(str, self.args))}>" if self.args else "")


@dataclass(eq=False)
class Owner:
    """An ``impl`` block or a trait; ``type`` is ``None`` for a trait, ``trait`` for an inherent impl."""

    unit: Unit
    trait: str | None
    type: Type | None
    generics: dict[str, tuple[str, ...]]
    consts: dict[str, Constant] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


@dataclass(eq=False)
class Constant:
    """A constant's value, ``None`` where a trait only declares it, and its type."""

    unit: Unit
    value: Node | None
    type: Type | None


@dataclass(eq=False)
class Function:
    """A function with a body.

    ``scope`` are the ids of the nodes round it, ``calls`` what its text calls, uses as a macro or makes as a struct,
    ``uses`` the use declarations and attributes round it and in it, from the outermost to the innermost.
    ``open`` functions have callers that are not seen: they are public, or methods of a trait.
    """

    name: str
    unit: Unit
    node: Node
    body: Node
    owner: Owner | None
    scope: tuple[int, ...]
    generics: dict[str, tuple[str, ...]]
    params: list[tuple[Node, Type | None]]
    has_self: bool
    returns: str
    result: Type | None
    calls: frozenset[str]
    uses: tuple[str, ...] = ()
    open: bool = False

    @property
    def place(self) -> str:
        """``file:line`` of the function."""
        return self.unit.place(self.node)

    @property
    def called_as(self) -> frozenset[str]:
        """How ``calls`` of others spell a call of this function."""
        before = (".", "::") if self.owner is not None else ("", "::")
        return frozenset(sign + self.name for sign in before)


@dataclass(eq=False)
class Enum:
    """An enum: the payload types of each variant."""

    name: str
    unit: Unit
    variants: dict[str, tuple[Type | None, ...]]


@dataclass(eq=False)
class Struct:
    """A struct: the type of each field, by name or by position."""

    name: str
    unit: Unit
    fields: dict[str, Type | None]


def calls_of(node: Node) -> frozenset[str]:
    """Every name in the text of ``node`` that an opening bracket follows, with the ``.`` or ``::`` before it."""
    return frozenset((before + word).decode() for before, word in _USED.findall(node.text or b""))


def type_of(node: Node | None) -> Type | None:
    """A type node as a ``Type``; ``None`` for what is not a named type."""
    if node is None:
        return None
    if node.type in ("type_identifier", "primitive_type", "identifier", "self"):
        return Type(text_of(node))
    if node.type in ("scoped_type_identifier", "scoped_identifier"):
        name = text_of(node.child_by_field_name("name"))
        owner = node.child_by_field_name("path")
        # T::Item is not Item; a module's path is left out.
        return Type(name) if owner is None or text_of(owner)[:1].islower() else Type(text_of(node))
    if node.type in ("reference_type", "pointer_type"):
        return type_of(node.child_by_field_name("type"))
    if node.type == "generic_type":
        base = type_of(node.child_by_field_name("type"))
        args = node.child_by_field_name("type_arguments")
        kinds = [] if args is None else [type_of(child) for child in args.named_children if child.type != "lifetime"]
        return None if base is None else Type(base.name, tuple(kind or Type("_") for kind in kinds))
    return None


def parameters_of(node: Node | None) -> tuple[list[tuple[Node, Type | None]], bool]:
    """The pattern and type of each parameter, and whether there is a ``self``."""
    params: list[tuple[Node, Type | None]] = []
    has_self = False
    for child in [] if node is None else node.named_children:
        if child.type == "self_parameter":
            has_self = True
        elif child.type == "parameter":
            pattern = child.child_by_field_name("pattern")
            if pattern is not None:
                params.append((pattern, type_of(child.child_by_field_name("type"))))
        elif child.type not in ("attribute_item", "line_comment", "block_comment"):
            params.append((child, None))  # a closure's parameter without a type
    return params, has_self


def generics_of(node: Node) -> dict[str, tuple[str, ...]]:
    """The type parameters of a function, impl or trait with their bounds, those of the where clause included."""
    found: dict[str, tuple[str, ...]] = {}
    declared = node.child_by_field_name("type_parameters")
    for child in [] if declared is None else declared.named_children:
        if child.type in ("type_parameter", "constrained_type_parameter", "optional_type_parameter"):
            name = child.child_by_field_name("name") or child.child_by_field_name("left") or child.named_children[0]
            found[text_of(name)] = tuple(_bounds(child.child_by_field_name("bounds")))
        elif child.type == "type_identifier":
            found[text_of(child)] = ()
    for clause in node.named_children:
        for predicate in clause.named_children if clause.type == "where_clause" else []:
            bounded = text_of(predicate.child_by_field_name("left"))
            if bounded in found:
                found[bounded] += tuple(_bounds(predicate.child_by_field_name("bounds")))
    return found


def _bounds(node: Node | None) -> Iterator[str]:
    for child in [] if node is None else node.named_children:
        kind = type_of(child)
        if kind is not None:
            yield kind.name.rsplit("::", 1)[-1]


def uses_of(node: Node, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that the argument of a ``use`` brings in, each with its path; ``*`` for all of a module."""
    if node.type == "use_as_clause":
        path = prefix + _segments(node.child_by_field_name("path"))
        yield text_of(node.child_by_field_name("alias")), path
    elif node.type == "scoped_use_list":
        inner = node.child_by_field_name("list")
        for child in [] if inner is None else inner.named_children:
            yield from uses_of(child, prefix + _segments(node.child_by_field_name("path")))
    elif node.type == "use_list":
        for child in node.named_children:
            yield from uses_of(child, prefix)
    elif node.type == "use_wildcard":
        yield "*", prefix + _segments(node.named_children[0] if node.named_children else None)
    else:
        path = prefix + _segments(node)
        if path:
            yield path[-1], path


def _segments(node: Node | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text_of(node).split("::") if part.strip())


def cfg_attributes(node: Node) -> Iterable[str]:
    """The text of the ``#[...]`` before an item."""
    sibling = node.prev_named_sibling
    while sibling is not None and sibling.type in ("attribute_item", "line_comment", "block_comment"):
        if sibling.type == "attribute_item":
            yield text_of(sibling)
        sibling = sibling.prev_named_sibling
