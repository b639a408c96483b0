"""The reference pages of the record and of the files in ``specs/``, made of the models that read them.

``python -m tests.house.schema_pages`` writes docs/record-fields.md and docs/spec-keys.md. Since when there is a field
stands in fields.yaml: a list for each release. What no release has is shown as "next release"; the same command adds it
to the list once ``VERSION`` is that of a new release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.files import ROOT
from conformance.record.schema import schema_text as record_schema
from conformance.release import VERSION
from conformance.spec.model import DTypeFile, FamilyFile, OwnSpecFile, SpecFile
from conformance.spec.schema import schema_text as spec_schema

RELEASES = Path(__file__).with_name("fields.yaml")
UNRELEASED = "next release"

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """A page: the file, the text above the tables, and the JSON Schemas that it shows."""

    path: Path
    head: str
    schemas: tuple[Schema, ...]


RECORD = Page(
    ROOT / "docs" / "record-fields.md",
    """# Fields of a record

For programs that read [records](record.md): every field, with its type, default, meaning and release. The page is
generated from the models that write and read records. [record.schema.json](record.schema.json) is the same as a JSON
Schema.

In types, `X[]` is a list, and `{string: X}` an object with any keys. In places, `KEY` stands for such a key. "required"
means that every record has the field. A record without a field means the default. Fields with "next release" are in no
release yet.
""",
    (json.loads(record_schema()),),
)

SPECS = Page(
    ROOT / "docs" / "spec-keys.md",
    """# Keys of spec files

For authors of [specs](specs.md) and of [kernels of their own](own-kernels.md): every key, with its type, default,
meaning and release. The page is generated from the models that read these files.

| file | begins at | JSON Schema for editors |
|---|---|---|
| `specs/MODULE.yaml` | [SpecFile](#specfile) | [schema.json](../specs/schema.json) |
| a spec of a port's own kernels | [OwnSpecFile](#ownspecfile) | [own.schema.json](../specs/own.schema.json) |
| a launch family of a port's own | [FamilyFile](#familyfile) | [family.schema.json](../specs/family.schema.json) |
| the dtypes of a port's own | [DTypeFile](#dtypefile) | [dtypes.schema.json](../specs/dtypes.schema.json) |

In types, `X[]` is a list, and `{string: X}` a mapping. In places, `KEY` stands for a key of such a mapping. "required"
means that the key has to be there. Unknown keys are errors. Keys with "next release" are in no release yet.
""",
    tuple(json.loads(spec_schema(model)) for model in (SpecFile, OwnSpecFile, FamilyFile, DTypeFile)),
)

PAGES = (RECORD, SPECS)


def text(page: Page) -> str:
    """What stands on ``page``: a section for each class of objects, in the order in which they are met."""
    return page.head + "".join(
        f"\n## {name}\n\n{_about(name, schema, places)}\n\n{_table(name, schema)}"
        for name, (schema, places) in classes(page).items()
    )


def classes(page: Page) -> dict[str, tuple[Schema, list[str]]]:
    """By name, the schema of each class of objects and the places where it stands, such as ``kernels[].failures[]``."""
    found: dict[str, tuple[Schema, list[str]]] = {}
    for root in page.schemas:
        _collect(root, root, "", found)
    return found


def _collect(root: Schema, schema: Schema, place: str, found: dict[str, tuple[Schema, list[str]]]) -> None:
    name = str(schema["title"])
    first = name not in found
    _, places = found.setdefault(name, (schema, []))
    if place and place not in places:
        places.append(place)
    if first:  # its fields are the same everywhere else
        for key, value in schema["properties"].items():
            inside = f"{place}.{key}" if place else key
            for target, suffix in _references(value):
                _collect(root, root["$defs"][target], inside + suffix, found)


def _references(node: Schema, suffix: str = "") -> Iterator[tuple[str, str]]:
    """The classes that a type names, each with what has to follow the field's name to reach one: ``[]``, ``.KEY``."""
    if "$ref" in node:
        yield str(node["$ref"]).rpartition("/")[2], suffix
    for option in node.get("anyOf", ()):
        yield from _references(option, suffix)
    if isinstance(node.get("items"), dict):
        yield from _references(node["items"], suffix + "[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield from _references(node["additionalProperties"], suffix + ".KEY")


def _about(name: str, schema: Schema, places: list[str]) -> str:
    description = " ".join(str(schema.get("description", "")).split()).replace("``", "`")
    where = f" Found at {', '.join(f'`{place}`' for place in places)}." if places else ""
    return description + where


def _table(name: str, schema: Schema) -> str:
    since = releases()
    required = schema.get("required", ())
    rows = [
        (
            f"`{key}`",
            kind(value),
            "required" if key in required else _default(value.get("default")),
            " ".join(str(value.get("description", "")).split()).replace("``", "`"),
            since.get(f"{name}.{key}", UNRELEASED),
        )
        for key, value in schema["properties"].items()
    ]
    head = "| field | type | default | meaning | since |\n|---|---|---|---|---|\n"
    return head + "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)


def _default(value: object) -> str:
    if value is None or value == "":
        return "null" if value is None else '`""`'
    if isinstance(value, dict) and value:
        return "empty"  # an object of the class that the type names, whose own defaults stand there
    return f"`{json.dumps(value)}`"


def kind(node: Schema) -> str:
    """The type that a node of a JSON Schema says: ``integer ≥ 0``, ``string or null``, ``(string or integer)[]``."""
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in node:
        return " or ".join(kind(option) for option in node["anyOf"])
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        return "one of " + ", ".join(f"`{json.dumps(one)}`" for one in node["enum"])
    if node.get("type") == "array":
        return f"{_grouped(kind(node.get('items', {})))}[]{_entries(node, 'Items')}"
    if node.get("type") == "object":
        return f"{{string: {kind(node['additionalProperties'])}}}{_entries(node, 'Properties')}"
    low, high = node.get("minimum"), node.get("maximum")
    bounds = "" if low is None else f" ≥ {low}" if high is None else f" {low} to {high}"
    return f"{node.get('type', 'any')}{bounds}"


def _grouped(kind_of_items: str) -> str:
    return f"({kind_of_items})" if " or " in kind_of_items or "one of " in kind_of_items else kind_of_items


def _entries(node: Schema, suffix: str) -> str:
    """How many entries a list or an object may have, where it may not have any number."""
    low, high = node.get(f"min{suffix}"), node.get(f"max{suffix}")
    if low is None and high is None:
        return ""
    if high is None:
        return " (not empty)" if low == 1 else f" (at least {low})"
    return f" ({high})" if low == high else f" (at most {high})" if not low else f" ({low} to {high})"


def listed() -> dict[str, dict[str, list[str]]]:
    """fields.yaml: for each release the fields that it brought, by class."""
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(RELEASES.read_text(encoding="utf-8"))
    return found


def releases() -> dict[str, str]:
    """The release that brought each field, by ``Class.field``."""
    return {
        f"{name}.{key}": release for release, added in listed().items() for name, keys in added.items() for key in keys
    }


def fields() -> list[tuple[str, str]]:
    """Class and name of every field on the pages, each once."""
    return list(
        dict.fromkeys(
            (name, key) for page in PAGES for name, (schema, _) in classes(page).items() for key in schema["properties"]
        )
    )


def release_text() -> str:
    """fields.yaml, with the fields that no release has under ``VERSION`` if that release is not listed yet."""
    written = RELEASES.read_text(encoding="utf-8")
    if VERSION in listed():
        return written
    added: dict[str, list[str]] = {}
    for name, key in fields():
        if f"{name}.{key}" not in releases():
            added.setdefault(name, []).append(key)
    lines = [f"  {name}: [{', '.join(keys)}]\n" for name, keys in added.items()]
    return written + f'"{VERSION}":' + ("\n" + "".join(lines) if lines else " {}\n")


def main() -> None:
    """Writes the pages, and the list of a new release."""
    RELEASES.write_text(release_text(), encoding="utf-8")
    for page in PAGES:
        page.path.write_text(text(page), encoding="utf-8")


if __name__ == "__main__":
    main()
