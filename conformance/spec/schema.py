"""``python -m conformance.spec.schema``: writes ``specs/schema.json``, the JSON Schema of a spec file, for editors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from conformance.files import installed
from conformance.spec.load import SPEC_FOLDER
from conformance.spec.model import SpecFile


def schema_text() -> str:
    """The schema as JSON text, ending in a newline."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **SpecFile.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes the schema next to the specs of a checkout."""
    if installed():
        sys.exit("the schema is made in a checkout of candle-parity; this is an installation")
    path: Path = SPEC_FOLDER / "schema.json"
    path.write_text(schema_text(), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
