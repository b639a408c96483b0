"""What an expression is on one way through the code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from candle_wiring.index import Constant
from candle_wiring.paths import (
    ERROR,
    NONE,
    UNIT,
    UNKNOWN,
    Bound,
    Closure,
    Dead,
    Frame,
    Obj,
    Returned,
    Str,
    Thunk,
    Tup,
    Value,
    Variant,
)
from candle_wiring.patterns import Patterns
from conformance.upstream.rust import (
    Type,
    ancestors,
    attributes_of,
    children,
    field_of,
    path_of,
    text_of,
    type_of,
)

_INNER = frozenset(
    (
        *("parenthesized_expression", "reference_expression", "unsafe_block", "const_block", "expression_statement"),
        *("await_expression", "else_clause", "generic_function", "type_cast_expression", "match_pattern"),
    )
)
_WORD = re.compile(r"\w+")
_INTEGER = re.compile(r"(-?(?:0x[0-9a-fA-F]+|0b[01]+|0o[0-7]+|[0-9]+))(?:[ui](?:8|16|32|64|128|size))?")


class Evaluator(Patterns):
    """Evaluates expressions on one way. Its methods raise ``Dead``, ``Undecided`` and ``Returned``."""

    def value(self, node: Node | None, frame: Frame) -> Value:
        """The value of the expression ``node``."""
        if node is None:
            return UNIT
        key = (frame.number, node.id)
        if key not in self.way.values:
            self.way.values[key] = self._value(node, frame)
        return self.way.values[key]

    def _value(self, node: Node, frame: Frame) -> Value:
        match node.type:
            case kind if kind in _INNER:
                inner = children(node)
                named = field_of(node, "value") or field_of(node, "function")
                return self.value(named or (inner[-1] if inner else None), frame)
            case "identifier" | "self":
                return self._name(node, frame)
            case "scoped_identifier":
                return self._path(node, frame)
            case "string_literal" | "raw_string_literal":
                content = [
                    child for child in node.named_children if child.type in ("string_content", "escape_sequence")
                ]
                return Str(("".join(map(text_of, content)),), (frame.scope.place(node),))
            case "integer_literal" | "negative_literal":
                number = _INTEGER.fullmatch(text_of(node).replace("_", ""))
                if number is None:
                    return self.unknown(node, frame)
                return int(number[1], 10 if number[1].lstrip("-").isdecimal() else 0)  # 03 is 3 in Rust
            case "boolean_literal":
                return text_of(node) == "true"
            case "field_expression":
                return self._field(node, frame)
            case "tuple_expression" | "array_expression":
                return Tup(tuple(Thunk(child, frame) for child in children(node)))
            case "closure_expression":
                return Closure(node, frame)
            case "block":
                return self.block(node, frame)
            case "try_expression":
                value = self.value(children(node)[0], frame)
                if value in (ERROR, NONE):
                    raise Dead
                return value
            case "return_expression":
                inner = children(node)
                raise Returned(self.value(inner[0] if inner else None, frame), frame)
            case "break_expression" | "continue_expression":
                raise Dead
            case "if_expression":
                taken = self.decided(field_of(node, "condition"), frame)
                return self.value(field_of(node, "consequence" if taken else "alternative"), frame)
            case "match_expression":
                return self.value(self.arm(node, frame), frame)
            case "unary_expression" if text_of(node)[:1] == "*":
                return self.value(children(node)[0], frame)
            case "binary_expression" | "unary_expression" | "let_condition" | "let_chain":
                if node.type == "binary_expression" and text_of(field_of(node, "operator")) == "+":
                    left = self.value(field_of(node, "left"), frame)
                    if isinstance(left, Str):
                        return left + self.text(self.value(field_of(node, "right"), frame))
                truth = self.truth(node, frame)
                return self.unknown(node, frame) if truth is None else truth
            case "struct_expression":
                made = self.concrete(type_of(field_of(node, "name")) or UNKNOWN, frame)
                return Obj(made, (frame.number, node.id), (node, frame))
            case "call_expression":
                return self.call(node, frame)
        return self.unknown(node, frame)

    def unknown(self, node: Node, frame: Frame, kind: Type = UNKNOWN) -> Obj:
        """A value of which at most the type ``kind`` is known."""
        return Obj(kind, (frame.number, node.id))

    def plain(self, value: Thunk | Value) -> Value:
        """The value of an element of a tuple, or of an argument, evaluated if it is not yet."""
        return self.value(value.node, value.frame) if isinstance(value, Thunk) else value

    # Names

    def _name(self, node: Node, frame: Frame) -> Value:
        name = text_of(node)
        found = self.lookup(name, node, frame)
        if found is not None:
            return found
        if name == "None":
            return NONE
        variant = self.variant((name,), frame)
        if variant is not None:
            return variant
        if name in self.index.structs:
            return self.unknown(node, frame, self.concrete(Type(name), frame))
        return self._constant(name, node, frame)

    def _constant(self, name: str, node: Node, frame: Frame) -> Value:
        known = self.index.consts.get(self.index.alias(frame.scope, name)[-1], [])
        near = [one for one in known if one.scope.label == frame.scope.label] or known
        if not near:
            return self.unknown(node, frame)
        return self.constant(self.way.decide(("const", name, frame.scope.label), near), None)

    def constant(self, constant: Constant, self_type: Type | None) -> Value:
        """The value of a constant."""
        key = (constant, self_type)
        if key not in self.way.decided:
            self.way.decided[key] = self.way.frame(None, constant.scope, self_type=self_type)
        return self.value(constant.value, self.way.decided[key])

    def lookup(self, name: str, node: Node, frame: Frame) -> Value | None:
        """The value of the variable ``name`` at ``node``; ``None`` where there is none of that name."""
        for outer, child in ancestors(node):
            bound: Bound = {}
            match outer.type:
                case "block":
                    before = [one for one in outer.named_children if one.end_byte <= child.start_byte]
                    for statement in reversed(before):
                        if statement.type == "let_declaration" and name in _words(field_of(statement, "pattern")):
                            return self._let(name, statement, outer, node, frame)
                case "match_arm" if child != field_of(outer, "pattern") or field_of(child, "condition"):
                    pattern = field_of(outer, "pattern")
                    if name in _words(pattern) and outer.parent is not None and outer.parent.parent is not None:
                        self.bind(pattern, self.value(field_of(outer.parent.parent, "value"), frame), frame, bound)
                case "if_expression" | "while_expression" | "let_chain" if child != field_of(outer, "alternative"):
                    tests = [field_of(outer, "condition")] if outer.type != "let_chain" else outer.named_children
                    tests = [
                        part
                        for one in tests
                        if one
                        for part in (one.named_children if one.type == "let_chain" else [one])
                    ]
                    for test in tests:
                        pattern = field_of(test, "pattern") if test.type == "let_condition" else None
                        if pattern is not None and test.end_byte <= node.start_byte and name in _words(pattern):
                            self.bind(pattern, self.value(field_of(test, "value"), frame), frame, bound)
                case "for_expression" if child == field_of(outer, "body"):
                    pattern = field_of(outer, "pattern")
                    if name in _words(pattern):
                        given = self.value(field_of(outer, "value"), frame)
                        items = list(given.items) if isinstance(given, Tup) else [self.unknown(outer, frame)]
                        chosen = self.way.decide(("item", frame.number, outer.id), list(range(len(items))))
                        self.bind(pattern, self.plain(items[chosen]), frame, bound)
                case "closure_expression":
                    own = frame.closure is not None and frame.closure[0] == outer
                    found = self.closure_parameter(name, outer, frame)
                    if found is not None:
                        return found
                    frame = frame.outer if own and frame.outer is not None else frame
                case "function_item":
                    return self.parameter(name, outer, frame)
            if name in bound:
                return self.plain(bound[name])
        return None

    def _let(self, name: str, statement: Node, block: Node, use: Node, frame: Frame) -> Value:
        """A variable's value: that of its declaration or of one of the assignments that may come before ``use``."""
        pattern, given = field_of(statement, "pattern"), field_of(statement, "value")
        ways: list[Node | None] = [] if given is None else [None]
        key = (frame.number, statement.id, name)
        if given is None or any(child.type == "mutable_specifier" for child in statement.named_children):
            for node in _assignments(block, name):
                if node.type != "assignment_expression":
                    return Str((None,))  # changed in place
                loops = {
                    outer.id
                    for outer, _ in ancestors(node)
                    if outer.type in ("for_expression", "while_expression", "loop_expression")
                }
                if node.start_byte < use.start_byte or loops & {outer.id for outer, _ in ancestors(use)}:
                    ways.append(node)
            key = (*key, tuple(node.id if node else 0 for node in ways))  # type: ignore[assignment]
        chosen = self.way.decide(key, ways)
        if chosen is not None:
            self.way.sites.append((chosen, frame))
            return self.value(field_of(chosen, "right"), frame)
        value = self.value(given, frame)
        kind = type_of(field_of(statement, "type"))
        if kind is not None and isinstance(value, Obj) and value.type == UNKNOWN:
            value = Obj(self.concrete(kind, frame), value.key)
        bound: Bound = {}
        self.bind(pattern, value, frame, bound)
        return self.plain(bound[name]) if name in bound else self.unknown(statement, frame)

    def variant(self, path: Sequence[str], frame: Frame) -> Variant | None:
        """The variant that ``path`` names, also through an alias of the enum (``S::U8``) or a ``use`` (``BF16``);
        ``None`` for none."""
        if len(path) == 1:
            path = self.index.alias(frame.scope, path[0])
        if len(path) < 2:
            return None
        kind = self.concrete(Type(path[-2]), frame)
        enum = self.index.enum(kind.name, frame.scope)
        return Variant(enum.name, path[-1]) if enum is not None and path[-1] in enum.parts else None

    def _path(self, node: Node, frame: Frame) -> Value:
        path = path_of(node)
        variant = self.variant(path, frame) if len(path) > 1 else None
        if variant is not None:
            return variant
        bracketed = field_of(node, "path")
        kind: Type | None = Type(path[-2])
        if bracketed is not None and bracketed.type == "bracketed_type":
            qualified = bracketed.named_children[0]
            kind = type_of(field_of(qualified, "type") or qualified)
        concrete = self.concrete(kind or UNKNOWN, frame)
        blocks = [*self.index.owners.get(concrete.name, []), *self.index.traits.get(concrete.name, [])]
        if concrete.name in self.index.traits:
            blocks = self.index.impls.get(concrete.name, [])
        found = [block for block in blocks if name_of(block.consts, path[-1])]
        bounds = self.bounds(kind.name if kind is not None else "", frame)
        found = [block for block in found if block.trait in bounds] or found
        if found:
            block = self.way.decide(("associated", concrete.name, path[-1]), found)
            return self.constant(block.consts[path[-1]], block.type if concrete.name in self.index.traits else concrete)
        return self._constant(path[-1], node, frame)

    def _field(self, node: Node, frame: Frame) -> Value:
        base = self.value(field_of(node, "value"), frame)
        name = text_of(field_of(node, "field"))
        if isinstance(base, Tup) and name.isdigit() and int(name) < len(base.items):
            return self.plain(base.items[int(name)])
        if not isinstance(base, Obj):
            return self.unknown(node, frame)
        key = (base.key, name)
        struct = self.index.struct(base.type.name, frame.scope)
        kind = next(iter(struct.parts.get(name, ())), None) if struct is not None else None
        if struct is not None and kind is not None and (kind.name in ("str", "String") or base.literal is not None):
            site = base.literal
            if site is None:
                sites = self.literals(struct)
                if not sites:
                    return Str((None,))
                literal, function = self.way.decide((base.key, "literal"), sites)
                fresh = ("site", base.key)
                if fresh not in self.way.decided:
                    self.way.decided[fresh] = self.way.frame(function, function.scope)
                site = (literal, self.way.decided[fresh])
                self.way.sites.append(site)
            given = _initializer(site[0], name)
            if given is not None:
                return self.value(given, site[1])
        if kind is None or struct is None:
            return Obj(UNKNOWN, key)
        return Obj(self.index.resolved(kind, struct.scope), key)

    # Statements

    def block(self, node: Node, frame: Frame) -> Value:
        """The value of a block. Raises ``Returned`` if it leaves the function before its end."""
        statements = [child for child in children(node) if child.type != "label" and "attribute" not in child.type]
        kept = [
            one
            for one in statements
            if b"#[" not in (node.text or b"") or all(self.serves(mark) for mark in attributes_of(one))
        ]
        for statement in kept[:-1]:
            self.run(statement, frame)
        last = kept[-1] if kept else None
        if last is None or last.type == "let_declaration" or text_of(last).endswith(";"):
            if last is not None:
                self.run(last, frame)
            return UNIT
        return self.value(last, frame)

    def run(self, node: Node, frame: Frame) -> None:
        """Run a statement, as far as it may leave the function."""
        if not self.may_leave(node):
            return
        match node.type:
            case "if_expression":
                taken = self.decided(field_of(node, "condition"), frame)
                part = field_of(node, "consequence" if taken else "alternative")
                if part is not None:
                    self.run(part, frame)
            case "match_expression":
                arm = self.arm(node, frame)
                if arm is not None:
                    self.run(arm, frame)
            case "block" | "unsafe_block" | "else_clause" | "expression_statement" | "parenthesized_expression":
                for child in children(node):
                    self.run(child, frame)
            case "let_declaration":
                given, otherwise = field_of(node, "value"), field_of(node, "alternative")
                if given is not None:
                    self.run(given, frame)
                if (
                    otherwise is not None
                    and self.bind(field_of(node, "pattern"), self.value(given, frame), frame, {}, False) is False
                ):
                    self.run(otherwise, frame)
            case "for_expression" | "while_expression" | "loop_expression":
                if self.way.open and self.way.decide(("loop", frame.number, node.id), [False, True]):
                    self.run(field_of(node, "body") or node, frame)
            case "return_expression":
                self.value(node, frame)
            case "closure_expression" | "function_item" | "impl_item":
                pass
            case _:
                for child in children(node):
                    self.run(child, frame)


def name_of(consts: dict[str, Constant], name: str) -> bool:
    """Whether ``consts`` has a constant called ``name`` with a value."""
    return name in consts and consts[name].value is not None


def _words(pattern: Node | None) -> set[str]:
    """The words of a pattern, without those of its guard."""
    guard = None if pattern is None else field_of(pattern, "condition")
    parts: list[Node | None] = [*children(pattern)] or [pattern]
    return {word for child in parts if child != guard or child is None for word in _WORD.findall(text_of(child))}


def _assignments(block: Node, name: str) -> list[Node]:
    """The places in ``block`` where the variable ``name`` is assigned, or changed in place."""
    text, found = block.text or b"", []
    for match in re.finditer(rb"\b" + name.encode() + rb"\s*(?:=(?![=>])|\+=|\.push|\.insert|\.clear|\.extend)", text):
        at = block.start_byte + match.start()
        node = block.descendant_for_byte_range(at, at + len(name))
        parent = None if node is None else node.parent
        if parent is not None and parent.type in (
            "assignment_expression",
            "compound_assignment_expr",
            "field_expression",
        ):
            found.append(parent)
    return found


def _initializer(literal: Node, name: str) -> Node | None:
    """What a field is set to, in a struct's literal or a tuple struct's call."""
    if literal.type == "call_expression":
        given = children(field_of(literal, "arguments"))
        return given[int(name)] if name.isdigit() and int(name) < len(given) else None
    for child in children(field_of(literal, "body")):
        field = field_of(child, "field") or field_of(child, "name")
        if child.type == "shorthand_field_initializer" and text_of(child).strip() == name:
            return child.named_children[-1]
        if text_of(field) == name:
            return field_of(child, "value")
    return None
