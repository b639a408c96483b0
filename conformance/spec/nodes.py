"""A YAML file as plain data that remembers the line of every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from conformance.spec.errors import SpecError

# libyaml's parser where PyYAML was built with it: ten times as fast, with the same marks.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Location = tuple[str | int, ...]


@dataclass
class Document:
    """The data of one YAML file; ``lines`` maps the path of each value (and of each key) to its line, from 1."""

    path: Path
    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)

    def line(self, location: Sequence[str | int]) -> int:
        """The line of ``location``, or of the nearest value round it when it is itself absent."""
        place = tuple(location)
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def error(self, location: Sequence[str | int], problem: str, remedy: str) -> SpecError:
        """A ``SpecError`` at the line of ``location``."""
        return SpecError(self.path, self.line(location), problem, remedy)


def read_document(path: Path) -> Document:
    """Reads one YAML file; raises ``SpecError`` for an unreadable file, wrong YAML, and a key given twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise SpecError(path, None, f"cannot be read ({cause})", "give a readable UTF-8 YAML file") from None
    try:
        loader = _LOADER(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as cause:
        mark = cause.problem_mark or cause.context_mark
        line = None if mark is None else mark.line + 1
        begun = "" if cause.context_mark is None else f" ({cause.context}, begun on line {cause.context_mark.line + 1})"
        problem = " ".join(f"not valid YAML: {cause.problem}{begun}".split())
        raise SpecError(path, line, problem, "correct the YAML syntax there") from None
    except yaml.YAMLError as cause:
        problem = " ".join(str(cause).split())
        raise SpecError(path, None, f"not valid YAML: {problem}", "correct the YAML syntax") from None
    document = Document(path)
    if node is None:
        raise SpecError(path, 1, "the file is empty", "give a mapping with the keys module, title, source and families")
    document.data = _plain(document, node, ())
    return document


def _plain(document: Document, node: yaml.Node, location: Location) -> Any:
    """``node`` as dicts, lists and scalars; a mapping's keys are always their text, so that no key becomes a number."""
    document.lines.setdefault(location, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SpecError(document.path, key.start_mark.line + 1, "a key that is no text", "use a plain word")
            name = str(key.value)
            place = (*location, name)
            if name in result:
                first = document.lines[place]
                raise SpecError(
                    document.path,
                    key.start_mark.line + 1,
                    f"key {name!r} is given twice (first on line {first})",
                    "keep one of the two",
                )
            # The key's line, not the value's: a block value begins on a later line.
            document.lines[place] = key.start_mark.line + 1
            result[name] = _plain(document, value, place)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_plain(document, value, (*location, index)) for index, value in enumerate(node.value)]
    return _scalar(document, node)


def _scalar(document: Document, node: yaml.Node) -> Any:
    kind = node.tag.rsplit(":", 1)[-1]
    text = str(node.value)
    if kind == "str":
        return text
    if kind == "null":
        return None
    if kind == "int" and text.isascii() and text.lstrip("-").isdigit():
        return int(text)
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    raise SpecError(
        document.path,
        node.start_mark.line + 1,
        f"value {text!r} of YAML type {kind!r} has no use in a spec",
        "write text (quoted if need be) or a decimal integer",
    )
