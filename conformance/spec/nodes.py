"""A YAML file as plain data that remembers the line of every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from conformance.reading import MIB, read_text, shortened
from conformance.spec import SpecError

# libyaml's parser where PyYAML was built with it: ten times as fast, with the same marks.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Location = tuple[str | int, ...]

MOST_BYTES = MIB
MOST_LEVELS = 32
MOST_VALUES = 100_000
MOST_DIGITS = 15
MOST_NAME = 200
"""What a spec may have of each. The repository's largest have 9 KiB, 7 levels, some hundred values and 4 digits."""


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
    """Reads one YAML file; raises ``SpecError`` for an unreadable file, wrong YAML, a key given twice, and what no spec
    needs: more bytes, levels or values than the limits above."""
    try:
        text = read_text(path, MOST_BYTES)
    except OSError as cause:
        problem = f"cannot be read ({cause.strerror})"
        raise SpecError(path, None, problem, "give a readable UTF-8 YAML file") from None
    except UnicodeDecodeError as cause:
        at = cause.object.count(b"\n", 0, cause.start) + 1
        problem = f"cannot be read (byte {cause.start + 1} is not UTF-8)"
        raise SpecError(path, at, problem, "give a readable UTF-8 YAML file") from None
    try:
        _check_depth(path, text)
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
        raise SpecError(path, 1, "the file is empty", "give a mapping; docs/spec-keys.md lists its keys")
    document.data = _plain(document, node, ())
    return document


def _check_depth(path: Path, text: str) -> None:
    """Raises ``SpecError`` where a value lies too deep: libyaml composes nodes by recursion in C, which ends the
    process before Python can say a word, while its events need no stack."""
    loader = _LOADER(text)
    try:
        depth = 0
        while loader.check_event():
            event = loader.get_event()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MOST_LEVELS:
                    raise _too_deep(path, event)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    finally:
        loader.dispose()


def _too_deep(path: Path, node: Any) -> SpecError:
    problem = f"a value nested more than {MOST_LEVELS} levels deep"
    return SpecError(path, node.start_mark.line + 1, problem, "a spec needs no more; use fewer")


def _plain(document: Document, node: yaml.Node, location: Location) -> Any:
    """``node`` as dicts, lists and scalars; a mapping's keys are always their text, so that no key becomes a number.

    An alias is followed each time it is met, which is where few bytes become many values, or never end.
    """
    if len(location) > MOST_LEVELS:
        raise _too_deep(document.path, node)
    document.lines.setdefault(location, node.start_mark.line + 1)
    if len(document.lines) > MOST_VALUES:
        problem = f"more than {MOST_VALUES} values with its aliases followed"
        raise SpecError(document.path, node.start_mark.line + 1, problem, "split the file, or use fewer aliases")
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SpecError(document.path, key.start_mark.line + 1, "a key that is not text", "use a plain word")
            name = str(key.value)
            if len(name) > MOST_NAME:
                problem = f"the key {shortened(name, 60)!r} of {len(name)} characters"
                raise SpecError(document.path, key.start_mark.line + 1, problem, f"use at most {MOST_NAME}")
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
    if kind == "int" and len(text) <= MOST_DIGITS and text.isascii() and text.lstrip("-").isdigit():
        return int(text)
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    raise SpecError(
        document.path,
        node.start_mark.line + 1,
        f"value {shortened(text, 60)!r} of YAML type {kind!r} has no use in a spec",
        f"write text (quoted if need be) or a decimal integer of at most {MOST_DIGITS} digits",
    )
