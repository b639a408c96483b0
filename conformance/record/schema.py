"""``python -m conformance.record.schema``: docs/record.schema.json, the JSON Schema of a record, made of the models."""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from typing import Any

from conformance import outcome
from conformance.files import ROOT
from conformance.record import model

SCHEMA = ROOT / "docs" / "record.schema.json"


def descriptions() -> dict[str, dict[str, str]]:
    """The text below each field of the models, by class and by the field's name in a record."""
    texts: dict[str, dict[str, str]] = {}
    for node in (*ast.parse(inspect.getsource(outcome)).body, *ast.parse(inspect.getsource(model)).body):
        if not isinstance(node, ast.ClassDef):
            continue
        aliases = _aliases(node.name)
        for field, docstring in pairwise(node.body):
            if isinstance(field, ast.AnnAssign) and isinstance(docstring, ast.Expr):
                text = " ".join(str(ast.literal_eval(docstring.value)).split())
                name = ast.unparse(field.target)
                texts.setdefault(node.name, {})[aliases.get(name, name)] = text
    return texts


def _aliases(name: str) -> dict[str, str]:
    """The fields of a model that have another name in a record, where Python does not allow that name (``pass``)."""
    fields = getattr(getattr(model, name, None), "model_fields", {})
    return {field: info.alias for field, info in fields.items() if info.alias}


def schema_text() -> str:
    """The JSON Schema of a record, with the description of each field."""
    schema: dict[str, Any] = model.Record.model_json_schema()
    for name, fields in descriptions().items():
        described = schema if name == schema["title"] else schema["$defs"].get(name)
        for field, text in fields.items() if described else ():
            described["properties"][field]["description"] = text
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
