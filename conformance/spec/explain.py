"""Turns pydantic's findings about a spec file into one ``SpecError`` with file, line, and what was expected."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ValidationError

from conformance.reading import shortened
from conformance.spec import SpecError
from conformance.spec.model import (
    TODO,
    DTypeFile,
    DTypeRow,
    Family,
    FamilyFile,
    FamilyParameter,
    KernelRow,
    KernelTable,
    OwnFamily,
    OwnSpecFile,
    Remark,
    SpecFile,
    ToleranceRule,
    UndefinedInput,
    UpstreamDefect,
)
from conformance.spec.nodes import Document, Location
from conformance.text import did_you_mean

# Which model the entries of a field are, to name the keys that are allowed at a place.
_INSIDE: dict[str, type[BaseModel]] = {
    "row": KernelRow,
    "table": KernelTable,
    "tolerance": ToleranceRule,
    "notes": Remark,
    "upstream_defects": UpstreamDefect,
    "undefined": UndefinedInput,
    "known_failures": Remark,
}


_OF_FILE: dict[type[BaseModel], dict[str, type[BaseModel]]] = {
    SpecFile: {**_INSIDE, "families": Family},
    OwnSpecFile: {**_INSIDE, "families": OwnFamily},
    FamilyFile: {"params": FamilyParameter},
    DTypeFile: {"dtypes": DTypeRow},
}
"""The same by the model of the file."""


def explain(document: Document, cause: ValidationError, file: type[BaseModel] = SpecFile) -> SpecError:
    """The first finding of ``cause`` in file order as a ``SpecError``, the innermost where several are on a line; an
    unknown key, often a typo, comes first. ``file`` is the model of the whole file."""
    findings = cause.errors(include_url=False)
    finding = min(
        findings, key=lambda item: (item["type"] != "extra_forbidden", *_order(document, _place(document, item["loc"])))
    )
    location = _place(document, finding["loc"])
    kind = finding["type"]
    name = str(finding["loc"][-1]) if finding["loc"] else ""
    where = ".".join(map(str, location))
    if kind == "missing":
        expected = _expected((*location, name), file)
        return document.error(location, f"key {name!r} is missing{_at(location)}", f"add it: {expected}")
    if kind == "extra_forbidden":
        allowed = _model(location[:-1], file).model_fields
        remedy = f"the keys here are {', '.join(allowed)}{did_you_mean(name, allowed)}"
        return document.error(location, f"unknown key {name!r}{_at(location[:-1])}", remedy)
    if finding["input"] == TODO:
        return document.error(location, f"{where} is still {TODO}", f"set it: {_expected(location, file)}")
    given = _shown(finding["input"])
    if kind == "string_too_long":
        given = f"{given}, of {len(finding['input'])} characters"
        limit = f"at most {finding['ctx']['max_length']} characters"
        return document.error(location, f"{where} is {given}", f"expected {limit}")
    near = _nearest(finding["input"], finding["ctx"]["expected"]) if kind == "literal_error" else ""
    problem = f"{where or 'the file'} is {given}"
    return document.error(location, problem, f"expected {_expected(location, file)}{near}")


def _order(document: Document, place: Location) -> tuple[int, int]:
    return document.line(place), -len(place)


def _place(document: Document, location: Location) -> Location:
    """The part of pydantic's location that is in the file: without union branches, ``[key]`` marks and absent keys."""
    place: Location = ()
    for part in location:
        if (*place, part) in document.lines:
            place = (*place, part)
    return place


def _nearest(word: Any, expected: str) -> str:
    """``; did you mean dtype?`` where one of the words that pydantic has ``expected`` is near."""
    return did_you_mean(word, re.findall(r"'([^']*)'", expected)) if isinstance(word, str) else ""


def _model(location: Location, file: type[BaseModel]) -> type[BaseModel]:
    """The model of the mapping at ``location``."""
    inside = _OF_FILE[file]
    names = [part for part in location if isinstance(part, str) and part in inside]
    return inside[names[-1]] if names else file


def _expected(location: Location, file: type[BaseModel]) -> str:
    """The description of the innermost model field that ``location`` leads into."""
    model, inside = file, _OF_FILE[file]
    *some, last = file.model_fields
    expected = f"a mapping with the keys {', '.join(some)} and {last}"
    for part in location:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is None:
            continue
        expected = field.description or expected
        model = inside.get(str(part), model)
    return expected


def _at(location: Location) -> str:
    return f" in {'.'.join(map(str, location))}" if location else ""


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "empty" if value is None else repr(shortened(value, 60) if isinstance(value, str) else value)
