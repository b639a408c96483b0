"""Rust files as syntax trees, through tree-sitter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

from conformance.reading import read_bytes

_PARSER = Parser(Language(tree_sitter_rust.language()))


class RustError(ValueError):
    """A Rust source that cannot be read or parsed.

    The message is one sentence, ``FILE:LINE: what is wrong; what to do``.
    """

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        self.path = Path(path)
        self.line = line
        super().__init__(f"{path}: {problem}" if line is None else f"{path}:{line}: {problem}")


def parse(source: bytes) -> Node:
    """The root of the tree of ``source``; parts that are not Rust are nodes of type ERROR in it."""
    return _PARSER.parse(source).root_node


def read_rust(path: Path) -> bytes:
    """The text of a Rust file; raises ``RustError`` for one that cannot be read or is not text."""
    try:
        source = read_bytes(path)
        source.decode()
    except OSError as cause:
        raise RustError(path, None, f"cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError:
        raise RustError(path, None, "is not UTF-8 text; a Rust source is") from None
    return source


def parse_file(path: Path) -> Node:
    """The tree of a Rust file; raises ``RustError`` for one that cannot be read or is not valid Rust."""
    root = parse(read_rust(path))
    wrong = first_error(root)
    if wrong is not None:
        raise RustError(path, line_of(wrong), "is not valid Rust; correct the syntax there, or check the file out anew")
    return root


def first_error(node: Node) -> Node | None:
    """The first place at which the source is not Rust."""
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
    """The source text of ``node``, empty for none."""
    return "" if node is None or node.text is None else node.text.decode()


def line_of(node: Node) -> int:
    """The line on which ``node`` begins, from 1."""
    return node.start_point[0] + 1


def walk(node: Node) -> Iterator[Node]:
    """``node`` and everything below it, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.named_children))
