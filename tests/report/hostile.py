"""Records with a hostile text in every field that holds text, made by walking the models."""

from __future__ import annotations

import dataclasses
import types
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from conformance.record import KernelResult, Record, RunInfo, every_kernel
from conformance.spec.load import Specs

Model = TypeVar("Model", bound=BaseModel)

TEXTS = {
    "html": "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;b&gt;<td></table>",
    "markdown": "[a](javascript:x) ![b](http://evil.example/c.png) <b> `d` ``e`` | f \\| **g** # h $i$ &#60;j&#62;",
    "address": "https://evil.example/a <https://evil.example/b> www.evil.example",
    "lines": "a\n\n# heading\n\n- item\n| x | y |\n|---|---|\n```\n---\n> quote\r\nb\u2028c\x85d",
    "list": "- item",
    "number": "1. item",
    "rule": "---",
    "fence": "```\n# heading\n````\n~~~\n<b>",
    "terminal": "\x1b]0;title\x07\x1b[31mred\x9b2J\x00\x08\u202e\ud800\uffff\u2066",
    "xml": "]]> <!-- & <?x?> \x00\x0b\x1f\ufffe",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "minus": "-1+1",
    "at": "@SUM(1)",
    "tab": "\t=1",
    "return": "\r=1",
    "wide": "\uff1d1+1",
    "commands": "::error file=x::y\n  ::stop-commands::t\n\u00a0::add-mask::s\n##[error]z ##vso[task.complete]\n"
    "section_start:0:a\r\x1b[0K a ::error::b",
    "empty": "",
    "backslash": "a\\",
    "ticks": "`",
}


def hostile(model: type[Model], text: str, **known: Any) -> Model:
    """A ``model`` with ``text`` wherever a text may stand, once in every list and mapping; ``known`` stays as given."""
    values = {name: _value(field.annotation, text) for name, field in model.model_fields.items() if name not in known}
    return model.model_validate({**values, **known})


def _value(annotation: Any, text: str) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is str:
        return text
    if origin is Annotated:
        own_form = any(getattr(about, "metadata", None) for about in inner[1:]) and inner[0] is str
        return None if own_form else _value(inner[0], text)  # not any text may stand there
    if origin in (Union, types.UnionType):
        return _value(next(one for one in inner if one is not type(None)), text)
    if origin is Literal:
        return inner[-1]
    if origin is tuple:
        return (_value(inner[0], text),) if inner[-1] is Ellipsis else tuple(_value(one, text) for one in inner)
    if origin is dict:
        return {_value(inner[0], text): _value(inner[1], text)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return hostile(annotation, text)
    if dataclasses.is_dataclass(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        return annotation(**{name: _value(hint, text) for name, hint in hints.items()})
    return {int: 1, float: 1.0, bool: False}[annotation]


def hostile_record(specs: Specs, text: str) -> Record:
    """A row of each status with hostile text, from one end of the specs to the other, then every other kernel."""
    names = list(specs.kernels)
    rows = []
    statuses = ("fail", "crash", "timeout", "compile_error", "signature", "known_failure", "missing", "not_run", "pass")
    for number, status in enumerate(statuses):
        name = names[number * len(names) // (len(statuses) + 1)]
        known: dict[str, Any] = {"name": name, "status": status, "cases": 2, "failed": 1}
        if status != "crash":
            known |= {"known_reason": None}
        if status == "pass":
            known |= {"failed": 0, "failures": ()}
        if status in ("fail", "crash", "timeout"):
            known |= {"message": text or "no text"}
        rows.append(hostile(KernelResult, text, **known))
    lost = hostile(KernelResult, text, name=names[-1], status="not_run", message=f"infrastructure: {text}", failures=())
    return Record.of(hostile(RunInfo, text, subject="kernels"), every_kernel(specs, [*rows, lost]))
