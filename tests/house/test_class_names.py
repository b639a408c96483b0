"""One name for one thing: a class of conformance/ shares its name with no other."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "conformance"

SHARED = {
    "Family": "a launch family, and its stanza in a spec's schema",
    "KernelRow": "a row of a spec's schema, and a kernel as a loaded module reports it",
    "Pool": "of judges, and of texts in an HTML page",
    "Remark": "of a spec's schema, and of a run",
    "Row": "of records, and of what doctor prints",
}
"""Names that several have, and for what; none is to be added, and one that is told apart goes."""


@pytest.mark.slow("parses every module of the package")
def test_a_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(PACKAGE)}:{node.lineno}")
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in SHARED} == {}
    assert SHARED.keys() - shared.keys() == set()
