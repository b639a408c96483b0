"""The calls of libraries that a backend makes, by operation, dtype and place, against those of Candle's.

The operation is the function of the backend's trait from which the call is reached, through functions of the backend.
The dtype is that of the match arm round the call, or round one that leads to it, else one that its arguments or its
name have; of what a macro is given, that of the group it stands in, else those of the macro's definition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from tree_sitter import Node

from candle_wiring.sources import backend_folder
from conformance.upstream.rust import (
    ancestors,
    attributes_of,
    field_of,
    line_of,
    parse,
    path_of,
    read_rust,
    text_of,
    walk,
)

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
NONE: frozenset[str] = frozenset()
UNKNOWN = "?"
"""The dtype of a call for which none is told."""

_DTYPE = re.compile(
    r"(?<![A-Za-z0-9])(?:R_)?(16BF|16F|32F|64F|BF16|F16|F32|F64|U8|U32|I64|bf16|f16|f32|f64|u8)(?![A-Za-z0-9])"
)
_SPELLED = {"16BF": "bf16", "16F": "f16", "32F": "f32", "64F": "f64"}
_LETTERS = {"s": "f32", "d": "f64", "h": "f16"}
_BY_NAME = (
    (re.compile(r"(?:^|_|hipblas|cublas)([sdhSDH])gem[mv]"), _LETTERS),
    (re.compile(r"(?i)double$"), {"": "f64"}),
)
_LIBRARY = re.compile(r"(?i)^(?!crate::|self::|super::).*(blas|blaslt|rand|miopen|cudnn)::")
_FEATURE = re.compile(r'feature\s*=\s*"(\w+)"')


@dataclass
class Operation:
    """An operation for a dtype: the libraries that are called for it, and where. ``feature`` is the one that has to be
    enabled."""

    name: str
    dtype: str
    calls: dict[str, list[str]] = field(default_factory=dict)
    feature: str = ""


@dataclass
class LibraryCalls:
    """The operations that a library does for Candle and the backend, for Candle alone, and for the backend alone."""

    matched: list[Operation]
    missing: list[Operation]
    beyond: list[Operation]

    def as_json(self) -> dict[str, list[dict[str, object]]]:
        """The operations as JSON data: rows with operation, dtype, feature and calls, by those who have them."""
        return {kind: [asdict(one) for one in rows] for kind, rows in vars(self).items()}

    def as_text(self) -> Iterator[str]:
        """The lines of the report: the counts, then each operation with the dtypes that are called for at the same
        places."""
        yield "library calls: " + ", ".join(f"{len(rows)} {kind}" for kind, rows in vars(self).items())
        for kind, rows in vars(self).items():
            lines: dict[str, list[str]] = defaultdict(list)
            for one in rows:
                calls = "; ".join(f"{what} at {', '.join(places)}" for what, places in one.calls.items())
                optional = f" (Candle's with the feature {one.feature} alone)" if one.feature and not one.calls else ""
                lines[f"{one.name} {{}}{optional}{calls and ': '}{calls}"].append(one.dtype)
            yield from (f"  {kind}: {line.format(', '.join(dtypes))}" for line, dtypes in lines.items())


class _Backend:
    """The functions of a backend's files by name, and what calls them."""

    def __init__(self, candle: Path, folder: Path) -> None:
        self.functions: set[str] = set()
        self.macros: dict[str, str] = {}
        self.mentions: dict[str, list[tuple[str, Node]]] = defaultdict(list)
        root = candle.resolve()
        for path in sorted(folder.rglob("*.rs")):
            label = path.resolve().relative_to(root).as_posix() if path.resolve().is_relative_to(root) else str(path)
            for node in walk(parse(read_rust(path))):
                if node.type == "function_item":
                    self.functions.add(text_of(field_of(node, "name")))
                elif node.type == "macro_definition":
                    self.macros[text_of(field_of(node, "name"))] = text_of(node)
                elif node.type == "call_expression":
                    self.mentions[_called(node)].append((label, node))
                elif node.type == "identifier" and node.parent is not None and node.parent.type == "token_tree":
                    self.mentions[text_of(node)].append((label, node))

    def reached(
        self, node: Node, dtypes: frozenset[str] = NONE, seen: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, frozenset[str], str]]:
        """The operations from which ``node`` is reached, each with its dtypes and the feature that it takes."""
        dtypes = dtypes or self._round(node)
        around = [outer for outer, _ in ancestors(node)]
        function = next((outer for outer in around if outer.type == "function_item"), None)
        if function is None or any(outer.type == "macro_definition" for outer in around):
            return
        name = text_of(field_of(function, "name"))
        owner = next((outer for outer in around if outer.type == "impl_item"), None)
        trait = text_of(field_of(owner, "trait"))
        marks = [mark for outer in (function, *around) for mark in attributes_of(outer)]
        if any("test" in mark for mark in marks):
            return
        feature = next((found[1] for mark in marks if "not(" not in mark and (found := _FEATURE.search(mark))), "")
        mentions = [] if trait or name in seen else self.mentions[name]
        callers = [caller for _, caller in mentions if not _LIBRARY.search(text_of(field_of(caller, "function")))]
        if not callers:
            yield name, dtypes, feature
        for caller in callers:
            for operation, told, more in self.reached(caller, dtypes, (*seen, name)):
                yield operation, told, feature or more

    def _round(self, node: Node) -> frozenset[str]:
        """The dtypes that what is round ``node`` tells."""
        if node.type == "identifier":  # given to a macro
            for outer, _ in ancestors(node):
                if outer.type == "macro_invocation":
                    return _dtypes(self.macros.get(path_of(outer.named_children[0])[-1], ""))
                found = _dtypes(text_of(outer))
                if found:
                    return found
        for outer, _ in ancestors(node):
            if outer.type == "function_item":
                break
            found = _dtypes(text_of(field_of(outer, "pattern"))) if outer.type == "match_arm" else NONE
            if found:
                return found
        return NONE


def _told(call: Node) -> frozenset[str]:
    """The dtype that the arguments of ``call``, or its name, tell."""
    told = _DTYPE.search(text_of(field_of(call, "function")) + text_of(field_of(call, "arguments")))
    if told:
        return _dtypes(told[0])
    name = _called(call)
    for pattern, spelled in _BY_NAME:
        if match := pattern.search(name):
            return frozenset((spelled["".join(match.groups()).lower()],))
    return frozenset((UNKNOWN,))


def _dtypes(text: str) -> frozenset[str]:
    return frozenset(_SPELLED.get(word, word.lower()) for word in _DTYPE.findall(text))


def _called(call: Node) -> str:
    function = field_of(call, "function")
    if function is not None and function.type == "generic_function":
        function = field_of(function, "function")
    if function is not None and function.type == "field_expression":
        return text_of(field_of(function, "field"))
    return "" if function is None else path_of(function)[-1]


def library_calls(candle: Path, backend: str) -> LibraryCalls:
    """The calls of libraries in the sources of ``backend``. Raises ``CheckoutError`` and ``RustError``."""
    folder = backend_folder(candle, backend)
    files = _Backend(candle, folder)
    family = "cuda" if "cuda" in folder.name else "rocm"
    rows = [row for row in TABLE["functions"] if row["backend"] == family]
    found: dict[tuple[str, str], Operation] = {}
    for name, places in list(files.mentions.items()):
        library = next((row["library"] for row in rows if any(fnmatchcase(name, one) for one in row["names"])), None)
        for label, node in places if library is not None else ():
            own = name in files.functions and not _LIBRARY.search(text_of(field_of(node, "function")))
            if node.type != "call_expression" or own:
                continue
            for operation, dtypes, feature in files.reached(node):
                for dtype in sorted(dtypes or _told(node)):
                    one = found.setdefault((operation, dtype), Operation(operation, dtype, feature=feature))
                    place = f"{label}:{line_of(node)}"
                    calls = one.calls.setdefault(f"{library} {name}", [])
                    calls += [place] if place not in calls else []
    known = {
        (row["operation"], dtype): Operation(row["operation"], dtype, feature=row.get("feature", ""))
        for row in TABLE["candle"]
        for dtype in row["dtypes"]
    }
    return LibraryCalls(
        [one for key, one in found.items() if key in known],
        [one for key, one in known.items() if key not in found],
        [one for key, one in found.items() if key not in known],
    )
