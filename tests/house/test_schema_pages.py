"""docs/record-fields.md and docs/spec-keys.md say what the models say, and nothing on them is left unexplained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.release import VERSION
from tests.house.schema_pages import PAGES, RELEASES, Page, classes, fields, kind, listed, release_text, releases, text

EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)


@EACH
def test_the_page_is_made_of_the_models(page: Page) -> None:
    said = f"{page.path.name} is out of date; `python -m tests.house.schema_pages` writes it"
    assert page.path.read_text(encoding="utf-8") == text(page), said


@EACH
def test_every_class_and_every_field_is_explained(page: Page) -> None:
    found = classes(page)
    assert len(found) > 8
    assert [name for name, (schema, _) in found.items() if not schema.get("description")] == []
    rows = [(name, key, value) for name, (schema, _) in found.items() for key, value in schema["properties"].items()]
    assert [f"{name}.{key}" for name, key, value in rows if not value.get("description")] == []


def test_a_class_says_where_it_stands() -> None:
    places = {name: places for page in PAGES for name, (_, places) in classes(page).items()}
    assert places["Record"] == []
    assert places["Build"] == ["run.builds.KEY"]
    assert places["KernelResult"] == ["kernels[]", "launchers[]", "libraries[]", "own[]", "own_launchers[]"]


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"type": "integer", "minimum": 0}, "integer ≥ 0"),
        ({"type": "number", "minimum": 0, "maximum": 100}, "number 0 to 100"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "array", "items": {"$ref": "#/$defs/Failure"}}, "[Failure](#failure)[]"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "string[] (not empty)"),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 3},
            '(one of `"a"`, `"b"`)[] (1 to 3)',
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
            "{string: integer} (at most 2)",
        ),
    ],
)
def test_types_are_said_shortly(node: dict[str, object], words: str) -> None:
    assert kind(node) == words


def test_every_field_that_a_release_has_is_still_there() -> None:
    """A release's records and specs are read by later versions, so no field goes away under schema 1."""
    assert sorted(releases().keys() - {f"{name}.{key}" for name, key in fields()}) == []


def test_the_newest_release_is_listed() -> None:
    assert VERSION in listed(), "a new VERSION: `python -m tests.house.schema_pages` lists its fields"
    assert release_text() == RELEASES.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("new", "row"),
    [("KernelResult.adapter", '"9.0.0":\n  KernelResult: [adapter]\n'), (None, '"9.0.0": {}\n')],
    ids=["a new field", "no new field"],
)
@pytest.mark.slow("generates the pages twice")
def test_a_new_release_gets_the_fields_that_none_has(
    new: str | None, row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older: dict[str, list[str]] = {}
    for name, key in fields():
        if f"{name}.{key}" != new:
            older.setdefault(name, []).append(key)
    file = tmp_path / "fields.yaml"
    file.write_text(f'"8.0.0": {json.dumps(older)}\n', encoding="utf-8")
    monkeypatch.setattr("tests.house.schema_pages.RELEASES", file)
    monkeypatch.setattr("tests.house.schema_pages.VERSION", "9.0.0")
    added = release_text()
    assert added == file.read_text(encoding="utf-8") + row
    file.write_text(added, encoding="utf-8")
    assert release_text() == added
