"""No file outside of conformance/runtimes decides by a runtime's name: it asks a ``RuntimeKind`` for a capability."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conformance.runtimes import NAMES, known_kind, runtime_kind

PACKAGE = Path(__file__).resolve().parents[2] / "conformance"

OTHER_MEANINGS = ("runtimes", "toolchains", "upstream")
"""Folders where the same words name compilers, or backends of Candle's."""


def named(text: str) -> list[int]:
    """The lines of ``text`` with the name of a runtime as a string of its own; ``cuda`` next to ``hip`` is a dialect.

    A name that is looked up, compared or passed on would be such a string, whatever the code around it.
    """
    tree = ast.parse(text)
    dialects: set[int] = set()
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            values = node.elts
        elif isinstance(node, ast.Dict):
            values = [key for key in node.keys if key is not None]
        if any(isinstance(value, ast.Constant) and value.value == "hip" for value in values):
            dialects.update(id(value) for value in values)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "dialect":
            dialects.update(map(id, node.comparators))
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in NAMES]
    return [node.lineno for node in strings if not (node.value == "cuda" and id(node) in dialects)]


@pytest.mark.slow("reads every file of the tree, or runs documented commands")
def test_no_other_file_asks_for_a_runtimes_name() -> None:
    files = [file for file in PACKAGE.rglob("*.py") if file.relative_to(PACKAGE).parts[0] not in OTHER_MEANINGS]
    assert len(files) > 100
    found = {str(file.relative_to(PACKAGE)): lines for file in files if (lines := named(file.read_text()))}
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "x = 1 if setup.runtime == 'cpu' else 2",
        "x = run.runtime not in ('cpu',)",
        "x = {'rocm': 1, 'cuda': 2}[name]",
        "match name:\n  case 'cuda': x = 1",
        "x = kind('rocm').open",
    ],
)
def test_a_decision_by_name_would_be_found(text: str) -> None:
    assert named(text)


@pytest.mark.parametrize("text", ["D = ('auto', 'hip', 'cuda')", "x = options.dialect == 'cuda'", "x = 'cpu runtime'"])
def test_dialects_and_sentences_are_not_names(text: str) -> None:
    assert named(text) == []


def test_every_runtime_is_called_what_the_list_calls_it() -> None:
    assert [runtime_kind(name).name for name in NAMES] == list(NAMES)
    assert len({runtime_kind(name).executed for name in NAMES}) == len(NAMES)
    assert known_kind("vulkan") is None
