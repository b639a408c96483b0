"""``python -m conformance.spec.schema``: writes the JSON Schemas of spec files into ``specs/``, for editors."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from pydantic import BaseModel

from conformance.files import installed
from conformance.spec.load import SPEC_FOLDER
from conformance.spec.model import DTypeFile, FamilyFile, OwnSpecFile, SpecFile

FILES: Mapping[str, type[BaseModel]] = {
    "schema.json": SpecFile,
    "own.schema.json": OwnSpecFile,
    "family.schema.json": FamilyFile,
    "dtypes.schema.json": DTypeFile,
}
"""All but the first are of what a port has of its own: specs, launch families and dtypes."""


def schema_text(model: type[BaseModel] = SpecFile) -> str:
    """The schema of the files that ``model`` describes as JSON text, ending in a newline."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes the schemas next to the specs of a checkout."""
    if installed():
        sys.exit("the schemas are made in a checkout of candle-parity; this is an installation")
    for name, model in FILES.items():
        (SPEC_FOLDER / name).write_text(schema_text(model), encoding="utf-8")
        print(f"wrote {SPEC_FOLDER / name}")


if __name__ == "__main__":
    main()
