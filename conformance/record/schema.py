"""``python -m conformance.record.schema``: writes what ``docs/`` says of the fields of a record, from the models.

That is ``docs/record.schema.json``, the JSON Schema, and the table in ``docs/record.md``.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from itertools import pairwise
from typing import Any

from conformance import outcome
from conformance.files import ROOT
from conformance.outcome import KernelResult
from conformance.record import model

SCHEMA, PAGE = ROOT / "docs" / "record.schema.json", ROOT / "docs" / "record.md"
_TABLE = re.compile(r"(?<=<!-- fields of KernelResult -->\n).*?(?=<!-- end -->)", re.DOTALL)


def descriptions() -> dict[str, dict[str, str]]:
    """By class and field, the text below the field."""
    found: dict[str, dict[str, str]] = {}
    for node in (*ast.parse(inspect.getsource(outcome)).body, *ast.parse(inspect.getsource(model)).body):
        if not isinstance(node, ast.ClassDef):
            continue
        for field, text in pairwise(node.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                words = " ".join(str(ast.literal_eval(text.value)).split())
                found.setdefault(node.name, {})[ast.unparse(field.target)] = words
    return found


def schema_text() -> str:
    """The JSON Schema of a record, with a description for each field that has one."""
    schema: dict[str, Any] = model.Record.model_json_schema()
    for name, fields in descriptions().items():
        for field, text in fields.items():
            if name in schema["$defs"]:
                schema["$defs"][name]["properties"][field]["description"] = text
    return json.dumps(schema, indent=2) + "\n"


def page_text(page: str) -> str:
    """``page`` with the table of a row's fields."""
    texts = descriptions()[KernelResult.__name__]
    rows = [f"| `{name}` | {texts[name]} |\n" for name in KernelResult.model_fields if name in texts]
    return _TABLE.sub(lambda _: "".join(["| field | |\n|---|---|\n", *rows]).replace("``", "`"), page)


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
