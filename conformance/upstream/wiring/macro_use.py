"""Uses of macros, as the evaluator meets them: the standard library's, and those that the sources define."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from conformance.upstream.wiring.machine import INLINE_DEPTH
from conformance.upstream.wiring.narrowing import expression
from conformance.upstream.wiring.syntax import line_of, parse, text_of
from conformance.upstream.wiring.tokens import arguments_of
from conformance.upstream.wiring.values import NEVER, UNKNOWN, Known, Str, Tup, Values, joined

if TYPE_CHECKING:
    from conformance.upstream.wiring.expressions import Evaluator

_DIVERGING = frozenset(("panic", "unreachable", "todo", "unimplemented", "bail", "compile_error"))
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}:]*)(:[^{}]*)?\}")


class MacroUse:
    """The values of macro uses of one evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def value(self, node: Node) -> Values:
        """The value of a macro's use."""
        name = text_of(node.child_by_field_name("macro")).rsplit("::", 1)[-1]
        tree = next((child for child in node.named_children if child.type == "token_tree"), None)
        if name in _DIVERGING:
            return NEVER
        if name in ("format", "format_args"):
            return self._format(tree)
        if name == "concat":
            return joined([value for _, value in self._arguments(tree)])
        if name == "stringify":
            return frozenset({Str((text_of(tree)[1:-1].strip(),), (self._evaluator.frame.unit.place(node),))})
        if name == "vec":
            return frozenset({Tup(tuple(value for _, value in self._arguments(tree)))})
        if name == "matches":
            return frozenset({Known(True), Known(False)})
        if name in self._evaluator.machine.index.macros and self._evaluator.frame.depth < INLINE_DEPTH:
            return self._expanded(node)
        if self._evaluator.machine.loads & set(re.findall(r"\w+", text_of(tree))):
            self._arguments(tree)
        return UNKNOWN

    def _expanded(self, node: Node) -> Values:
        frame = self._evaluator.frame
        expansion = self._evaluator.machine.index.expansion(frame.unit, node)
        if expansion is None:
            return UNKNOWN
        words = set(re.findall(r"\w+", expansion))
        machine = self._evaluator.machine
        telling = machine.loads | machine.live_names | machine.index.macros.keys() | {"stringify"}
        if '"' not in expansion and not words & telling:
            return UNKNOWN
        root = parse(f"fn f() {{ {expansion} }}".encode())
        body = root.named_children[0].child_by_field_name("body") if root.named_children else None
        if body is None:
            return UNKNOWN
        line = line_of(node) + frame.unit.offset if frame.unit.line is None else frame.unit.line
        return self._evaluator.parsed(body, replace(frame.unit, line=line))

    def _arguments(self, tree: Node | None) -> list[tuple[str, Values]]:
        """The arguments of a macro that takes expressions: the name of a named one (else empty) and the value."""
        found: list[tuple[str, Values]] = []
        if tree is None:
            return found
        inside = text_of(tree)[1:-1]
        unit = self._evaluator.frame.unit
        for text, position in arguments_of(inside):
            named = re.match(r"([A-Za-z_]\w*)\s*=(?![=>])\s*", text)
            body = text[named.end() :] if named else text
            parsed = expression(body)
            begin = position + (named.end() if named else 0)
            lines = line_of(tree) - 1 + inside.count("\n", 0, begin) + unit.offset
            place = unit if unit.line is not None else replace(unit, offset=lines)
            value = UNKNOWN if parsed is None else self._evaluator.parsed(parsed, place)
            found.append((named[1] if named else "", value))
        return found

    def _format(self, tree: Node | None) -> Values:
        arguments = self._arguments(tree)
        template = next((atom for atom in arguments[0][1] if isinstance(atom, Str)), None) if arguments else None
        if template is None or template.known is None:
            return frozenset({Str((None,))})
        named = {name: value for name, value in arguments[1:] if name}
        placed = [value for name, value in arguments[1:] if not name]
        pieces: list[Values] = []
        begin = following = 0
        for match in _PLACEHOLDER.finditer(template.known):
            pieces.append(frozenset({Str((template.known[begin : match.start()],), template.places)}))
            begin = match.end()
            if match[1] is None:
                pieces.append(frozenset({Str((match[0][0],))}))
                continue
            key = match[1].strip()
            if not key:
                value = placed[following] if following < len(placed) else UNKNOWN
                following += 1
            elif key.isdigit():
                value = placed[int(key)] if int(key) < len(placed) else UNKNOWN
            else:
                value = named.get(key, self._evaluator.frame.variables.get(key, UNKNOWN))
            # `{:?}` and widths print something else than the text itself.
            pieces.append(UNKNOWN if match[2] not in (None, ":") else value)
        pieces.append(frozenset({Str((template.known[begin:],), template.places)}))
        return joined(pieces)
