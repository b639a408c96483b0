"""Which Rust files are modules of tests: ``#[cfg(test)] mod tests_copy;``, and what such a file declares in turn."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from tree_sitter import Node

from conformance.upstream.wiring.items import cfg_attributes
from conformance.upstream.wiring.syntax import text_of

_TEST = re.compile(r"#\[test\]|\bcfg\(\s*(?:all\((?:[^()]*,)?\s*)?test\s*[,)]")
_PATH = re.compile(r'\bpath\s*=\s*"([^"]+)"')
_ROOTS = ("mod", "lib", "main")


def is_test(attributes: str) -> bool:
    """Whether what has ``attributes`` is compiled for tests only."""
    return _TEST.search(attributes) is not None


def test_files(files: Sequence[tuple[str, Node]]) -> frozenset[str]:
    """The labels of those of ``files`` that only tests declare as modules; one that nothing declares is none."""
    labels = {label for label, _ in files}
    declared: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for label, root in files:
        for child, attributes in _declared(PurePosixPath(label), root):
            if child in labels:
                declared[child].append((label, is_test(attributes)))
    found: set[str] = set()
    while True:
        more = {
            child
            for child, known in declared.items()
            if child not in found and all(test or parent in found for parent, test in known)
        }
        if not more:
            return frozenset(found)
        found |= more


def _declared(label: PurePosixPath, root: Node) -> Iterator[tuple[str, str]]:
    """Each file that ``mod name;`` at the top of a file may mean, with its attributes."""
    folder = label.parent if label.stem in _ROOTS else label.parent / label.stem
    for node in root.named_children:
        if node.type != "mod_item" or node.child_by_field_name("body") is not None:
            continue
        attributes = "\n".join(cfg_attributes(node))
        name, path = text_of(node.child_by_field_name("name")), _PATH.search(attributes)
        places = [label.parent / path[1]] if path else [folder / f"{name}.rs", folder / name / "mod.rs"]
        yield from ((place.as_posix(), attributes) for place in places)
