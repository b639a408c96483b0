"""What differs between kernels, launchers, library calls and own kernels is a row of ``conformance.spec.entry`` or a
class of ``conformance.engine``: only the places that are named here ask which of them something is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.spec.entry import BUILDS, ENTRIES

PACKAGE = Path(__file__).resolve().parents[2] / "conformance"

HOST_FUNCTION = {
    "spec/expand.py": "which parameters a stanza may have",
    "spec/kernel.py": "defines the property",
    "cases/described.py": "an own launcher's family has no geometry",
    "cases/own.py": "a family of calls is none of launches",
    "port/declared/declared.py": "no row of a geometry or of parameters is about a launcher",
    "replay/traces.py": "a recorded call has no geometry",
    "capture/convert.py": "a call that is seen by the kernel inside of it has no geometry of its own",
    "cli/commands/export.py": "an exported call has no geometry",
    "cli/commands/bench.py": "no mean is over kernels and calls",
    "session/selection.py": "every kernel has to have cases and a reference",
    "record/assemble.py": "where Candle's Rust calls it",
    "upstream/like.py": "a stanza of calls says so",
    "upstream/steps.py": "where Candle's Rust calls it",
    "report/html/grid.py": "the map names the family of a call",
}
"""Who asks for ``is_host_function``, whether something is called and not launched, and what for."""

NAMED = {
    "spec/model.py": "what a port's own stanza is of",
    "engine/compiler.py": "flags and compiler of a library",
    "engine/messages.py": "what is compiled in parts",
    "engine/run.py": "which sources are compiled to what, and whose errors are whose",
    "session/selection.py": "launchers that no source can define",
    "cli/commands/record.py": "launchers on a runtime that cannot call them",
    "report/comparison.py": "a list of changes has kernels and launchers apart",
}
"""Who compares with the name of one kind of entry, or of what a source is compiled to, and what for."""


def asks_for_host_function(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "is_host_function" for node in ast.walk(tree))


def compares_by_name(tree: ast.AST) -> bool:
    """Whether ``x.entry == "launcher"``, ``build in ("kernels",)`` and their like are in ``tree``."""
    names = {*ENTRIES, *BUILDS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            asked = {one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in operands}
            listed = [one for each in operands if isinstance(each, ast.Tuple | ast.List | ast.Set) for one in each.elts]
            strings = {one.value for one in (*operands, *listed) if isinstance(one, ast.Constant)}
            if asked & {"entry", "build"} and strings & names:
                return True
    return False


def parsed() -> Iterator[tuple[str, ast.AST]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


@pytest.mark.slow("parses every module of the package")
def test_only_named_places_ask_which_kind_of_entry_something_is() -> None:
    trees = dict(parsed())
    assert {name for name, tree in trees.items() if asks_for_host_function(tree)} == HOST_FUNCTION.keys()
    assert {name for name, tree in trees.items() if compares_by_name(tree)} == NAMED.keys()


@pytest.mark.parametrize(
    "text",
    [
        "x = 1 if kernel.entry == 'launcher' else 2",
        "x = entry in ('kernel', 'own')",
        "x = request.build != 'kernels'",
    ],
)
def test_a_question_by_name_would_be_found(text: str) -> None:
    assert compares_by_name(ast.parse(text))


@pytest.mark.parametrize("text", ["x = one.entry == other.entry", "x = tag.entry.d_tag == 'DT_NEEDED'"])
def test_other_comparisons_are_none(text: str) -> None:
    assert not compares_by_name(ast.parse(text))
