"""Rust files as syntax trees, through tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from conformance.errors import UserError
from conformance.reading import read_bytes

_LANGUAGE = Language(tree_sitter_rust.language())
_PARSER = Parser(_LANGUAGE)


class RustError(UserError, ValueError):
    """A Rust source cannot be read or parsed.

    The message is one sentence: ``FILE:LINE: what is wrong; what to do``.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path = Path(path)
        self.line = line
        super().__init__(f"{path}: {problem}" if line is None else f"{path}:{line}: {problem}")


def parse(source: bytes) -> Node:
    """The syntax tree of ``source``. Parts that are no Rust are nodes of type ERROR in it."""
    return _PARSER.parse(source).root_node


def query(pattern: str) -> Query:
    """A query of tree-sitter over Rust."""
    return Query(_LANGUAGE, pattern)


def matches(pattern: Query, root: Node) -> list[Node]:
    """The nodes that ``pattern`` captures, in the order of the text; an outer node comes before those inside of it."""
    found = [node for nodes in QueryCursor(pattern).captures(root).values() for node in nodes]
    return sorted(found, key=lambda node: (node.start_byte, -node.end_byte))


def read_rust(path: Path) -> bytes:
    """The bytes of a Rust file. Raises ``RustError`` for one that cannot be read or is no text."""
    try:
        source = read_bytes(path)
        source.decode()
    except OSError as cause:
        raise RustError(path, None, f"cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError:
        raise RustError(path, None, "is not UTF-8 text; a Rust source is") from None
    return source


def parse_file(path: Path) -> Node:
    """The syntax tree of a Rust file. Raises ``RustError`` for one that cannot be read or is no valid Rust."""
    root = parse(read_rust(path))
    wrong = first_error(root)
    if wrong is not None:
        raise RustError(path, line_of(wrong), "is not valid Rust; correct the syntax there, or check the file out anew")
    return root


def first_error(node: Node) -> Node | None:
    """The first node that is no Rust; ``None`` where all is."""
    if not node.has_error:
        return None
    # No recursion: what is not Rust may be nested to any depth.
    while not (node.is_error or node.is_missing):
        below = next((child for child in node.children if child.has_error or child.is_missing), None)
        if below is None:
            return node
        node = below
    return node


def text_of(node: Node | None) -> str:
    """The source text of ``node``; "" for ``None``."""
    return "" if node is None or node.text is None else node.text.decode()


def line_of(node: Node) -> int:
    """The line on which ``node`` begins, counted from 1."""
    return node.start_point[0] + 1


def walk(node: Node) -> Iterator[Node]:
    """``node`` and all nodes below it, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.named_children))


@dataclass(frozen=True)
class Type:
    """A type without references, lifetimes and paths: ``CudaSlice<u8>`` is ``Type("CudaSlice", (Type("u8"),))``."""

    name: str
    args: tuple[Type, ...] = ()


def type_of(node: Node | None) -> Type | None:
    """The ``Type`` of a type node; ``None`` for what is no named type."""
    if node is None:
        return None
    if node.type in ("type_identifier", "primitive_type", "identifier", "self"):
        return Type(text_of(node))
    if node.type in ("scoped_type_identifier", "scoped_identifier"):
        name = text_of(field_of(node, "name"))
        owner = field_of(node, "path")
        # T::Item is not Item; a module's path is left out.
        return Type(name) if owner is None or text_of(owner)[:1].islower() else Type(text_of(node))
    if node.type in ("reference_type", "pointer_type"):
        return type_of(field_of(node, "type"))
    if node.type == "generic_type":
        base = type_of(field_of(node, "type"))
        args = field_of(node, "type_arguments")
        kinds = [type_of(child) for child in children(args) if child.type != "lifetime"]
        return None if base is None else Type(base.name, tuple(kind or Type("_") for kind in kinds))
    return None


def field_of(node: Node | None, field: str) -> Node | None:
    """The child of ``node`` in the field ``field``; ``None`` where there is none."""
    return None if node is None else node.child_by_field_name(field)


def children(node: Node | None) -> list[Node]:
    """The named nodes directly below ``node``, without comments."""
    return [] if node is None else [child for child in node.named_children if "comment" not in child.type]


def path_of(node: Node) -> tuple[str, ...]:
    """The parts of a path such as ``a::b::c``, without type arguments."""
    return tuple(re.sub(r"<.*", "", part.strip()) for part in text_of(node).split("::"))


def ancestors(node: Node) -> Iterator[tuple[Node, Node]]:
    """The nodes around ``node``, the innermost first, each with its child on the way to ``node``."""
    outer = node.parent
    while outer is not None:
        yield outer, node
        node, outer = outer, outer.parent


def attributes_of(node: Node) -> list[str]:
    """The attributes (``#[...]``) that stand before ``node``."""
    attributes = []
    sibling = node.prev_named_sibling
    while sibling is not None and (sibling.type == "attribute_item" or "comment" in sibling.type):
        attributes += [text_of(sibling)] if sibling.type == "attribute_item" else []
        sibling = sibling.prev_named_sibling
    return attributes
