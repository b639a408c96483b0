"""Evaluates the expressions and statements of one function over sets of possible values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tree_sitter import Node

from conformance.upstream.wiring.branches import Branches
from conformance.upstream.wiring.calls import Calls
from conformance.upstream.wiring.items import Type, Unit, cfg_attributes, type_of
from conformance.upstream.wiring.machine import INLINE_DEPTH, Frame, Machine
from conformance.upstream.wiring.macro_use import MacroUse
from conformance.upstream.wiring.narrowing import Narrowing, path_of
from conformance.upstream.wiring.syntax import text_of
from conformance.upstream.wiring.values import (
    ERROR,
    NEVER,
    NONE,
    UNIT,
    UNKNOWN,
    Closure,
    Known,
    Obj,
    Range,
    Str,
    Tup,
    Values,
    changeable,
    joined,
    truth_of,
    union,
    without_errors,
)

_INTEGERS = frozenset(("usize", "u8", "u16", "u32", "u64"))
_SKIPPED = frozenset(
    (
        *("line_comment", "block_comment", "attribute_item", "use_declaration", "empty_statement", "macro_definition"),
        *("function_item", "impl_item", "struct_item", "enum_item", "trait_item", "mod_item", "type_item"),
        *("const_item", "static_item", "inner_attribute_item", "function_signature_item"),
    )
)


class Evaluator:
    """Evaluation within one frame."""

    def __init__(self, machine: Machine, frame: Frame) -> None:
        self.machine = machine
        self.frame = frame
        self.patterns = machine.patterns(frame.unit, frame.self_type)
        self.narrowing = Narrowing(self)
        self.calls = Calls(self)
        self.branches = Branches(self)
        self.macros = MacroUse(self)
        self.kinds: dict[str, Callable[[Node], Values]] = {
            "identifier": self._name,
            "self": self._name,
            "field_expression": self._field,
            "scoped_identifier": self._path,
            "string_literal": self._string,
            "raw_string_literal": self._string,
            "integer_literal": self._integer,
            "boolean_literal": lambda node: frozenset({Known(text_of(node) == "true")}),
            "block": self._block,
            "unsafe_block": self.inner,
            "const_block": self.inner,
            "parenthesized_expression": self.inner,
            "reference_expression": lambda node: self.value(node.child_by_field_name("value")),
            "unary_expression": self._unary,
            "await_expression": self.inner,
            "expression_statement": self.inner,
            "try_expression": lambda node: without_errors(self.inner(node)),
            "return_expression": self._return,
            "break_expression": self._leave,
            "continue_expression": self._leave,
            "let_declaration": self._let,
            "match_expression": self.branches.match,
            "if_expression": self.branches.if_else,
            "while_expression": self.branches.loop,
            "loop_expression": self.branches.loop,
            "for_expression": self.branches.for_each,
            "tuple_expression": self._tuple,
            "array_expression": self._tuple,
            "unit_expression": lambda _: UNIT,
            "binary_expression": self._binary,
            "assignment_expression": self._assign,
            "type_cast_expression": self._cast,
            "closure_expression": self._closure,
            "struct_expression": self._struct,
            "call_expression": self.calls.call,
            "macro_invocation": self.macros.value,
            "generic_function": lambda node: self.value(node.child_by_field_name("function")),
        }

    def function(self, body: Node) -> Values:
        """What a body returns, at its end or before."""
        result = self.value(body)
        for closure in list(self.calls.closures):
            if not closure.calls:
                self.call_closure(closure, [])
        return union([result, *self.frame.returns]) - ERROR

    def value(self, node: Node | None) -> Values:
        """What ``node`` may be; ``NEVER`` where control does not come out of it."""
        if node is None:
            return UNIT
        if node.type in _SKIPPED:
            return UNIT
        evaluate = self.kinds.get(node.type)
        if evaluate is not None:
            return evaluate(node)
        for child in node.named_children:
            self.value(child)
        return UNKNOWN

    def inner(self, node: Node) -> Values:
        inner = [child for child in node.named_children if child.type not in ("line_comment", "block_comment")]
        return self.value(inner[-1]) if inner else UNIT

    def _unary(self, node: Node) -> Values:
        value = self.inner(node)
        if not text_of(node).startswith("!"):
            return value
        return frozenset(Known(not truth) for truth in truth_of(value)) if value else NEVER

    def _name(self, node: Node) -> Values:
        name = text_of(node)
        if name == "None":
            return NONE
        if name in self.frame.variables:
            return self.frame.variables[name]
        variant = self.patterns.variant((name,))
        if variant is not None:
            return frozenset({variant})
        if name in self.machine.index.structs:
            return frozenset({Obj(self.machine.concrete(Type(name), self.frame))})
        return self._constant(name)

    def _constant(self, name: str) -> Values:
        alias = self.machine.index.alias(self.frame.unit, name)[-1]
        known = self.machine.index.consts.get(alias, [])
        near = [one for one in known if one.unit.label == self.frame.unit.label] or known
        values = [self.machine.constant(one, None, self.frame.depth) for one in near]
        return union(values) if values else UNKNOWN

    def _field(self, node: Node) -> Values:
        path = path_of(node)
        if path is not None and path in self.frame.variables:
            return self.frame.variables[path]
        base = self.value(node.child_by_field_name("value"))
        name = text_of(node.child_by_field_name("field"))
        found: list[Values] = []
        for atom in base:
            if isinstance(atom, Tup) and name.isdigit() and int(name) < len(atom.items):
                found.append(atom.items[int(name)])
            elif isinstance(atom, Obj):
                found.append(self.field_of(atom.type, name))
            else:
                found.append(UNKNOWN)
        value = union(found) if found else UNKNOWN
        if path is None or not path.startswith("self.") or len(value) != 1:
            return value
        (atom,) = value
        if isinstance(atom, Obj) and atom.type.name in self.machine.index.plain_enums:
            value = self.frame.variables[path] = self.frame.chosen(path, self.machine.expand(value))
        return value

    def field_of(self, owner: Type, name: str) -> Values:
        """What the field of a struct may be: what it was set to anywhere, else what its type allows."""
        if (owner.name, name) in self.machine.fields:
            return self.machine.fields[owner.name, name]
        found = []
        for struct in self.machine.index.structs.get(owner.name, []):
            kind = struct.fields.get(name)
            if kind is not None:
                found.append(frozenset({Obj(self.machine.index.resolved(kind, struct.unit))}))
        return union(found) if found else UNKNOWN

    def _path(self, node: Node) -> Values:
        path = tuple(part.strip() for part in text_of(node).split("::"))
        variant = self.patterns.variant(path) if len(path) > 1 else None
        if variant is not None:
            return frozenset({variant})
        constants = self._associated(node, path)
        return constants if constants is not None else self._constant(path[-1])

    def _associated(self, node: Node, path: Sequence[str]) -> Values | None:
        """The constant of a type (``T::DTYPE``, ``Self::KERNEL``, ``<T as Op>::KERNEL``), or of all that implement a
        trait where the type is not known."""
        owner, name = path[-2], path[-1]
        bracketed = node.child_by_field_name("path")
        if bracketed is not None and bracketed.type == "bracketed_type":
            qualified = bracketed.named_children[0]
            kind = type_of(qualified.child_by_field_name("type") or qualified)
        else:
            kind = Type(owner)
        if kind is None:
            return None
        concrete = self.machine.concrete(kind, self.frame)
        function = self.frame.function
        bounds: tuple[str, ...] = ()
        if function is not None:
            bounds = {**(function.owner.generics if function.owner else {}), **function.generics}.get(kind.name, ())
            if kind.name == "Self" and function.owner is not None and function.owner.type is None:
                bounds = (function.owner.trait or "",)
        found = [
            self.machine.constant(block.consts[name], concrete, self.frame.depth)
            for block in self.machine.owners_of(concrete)
            if name in block.consts
        ]
        if not found and not self.machine.probing and (bounds or kind.name in self.machine.index.traits):
            for trait in bounds or (kind.name,):
                blocks = [*self.machine.index.impls.get(trait, []), *self.machine.index.traits.get(trait, [])]
                found += [
                    self.machine.constant(block.consts[name], block.type, self.frame.depth)
                    for block in blocks
                    if name in block.consts and block.consts[name].value is not None
                ]
        if not found and (bounds or kind.name in self.machine.index.traits):
            return UNKNOWN
        return union(found) if found else None

    def _string(self, node: Node) -> Values:
        content = [child for child in node.named_children if child.type in ("string_content", "escape_sequence")]
        text = "".join(text_of(child) for child in content)
        return frozenset({Str((text,), (self.frame.unit.place(node),))})

    def _integer(self, node: Node) -> Values:
        from conformance.upstream.wiring.patterns import number_of

        number = number_of(text_of(node))
        return frozenset({Range(number, number)})

    def _block(self, node: Node) -> Values:
        self.frame.shadowed.append({})
        result = UNIT
        statements = [
            child for child in node.named_children if child.type not in ("line_comment", "block_comment", "label")
        ]
        for statement in statements:
            attributes = list(cfg_attributes(statement))
            if attributes and not self.machine.index.serves(attributes):
                continue
            result = self.value(statement)
            if not result:
                break
        else:
            last = statements[-1] if statements else None
            if last is None or last.type == "let_declaration" or text_of(last).endswith(";"):
                result = UNIT
        for name, value in self.frame.shadowed.pop().items():
            if value is None:
                self.frame.variables.pop(name, None)
            else:
                self.frame.variables[name] = value
        return result

    def _return(self, node: Node) -> Values:
        value = self.inner(node)
        self.frame.returns.append(value)
        return NEVER

    def _leave(self, node: Node) -> Values:
        self.inner(node)
        return NEVER

    def _let(self, node: Node) -> Values:
        given = node.child_by_field_name("value")
        kind = type_of(node.child_by_field_name("type"))
        value = self.value(given) if given is not None else NEVER
        if given is not None and not value:
            return NEVER
        if value == UNKNOWN and kind is not None:
            value = self.machine.typed(kind, self.frame)
        bound: dict[str, Values] = {}
        pattern = node.child_by_field_name("pattern")
        if pattern is not None:
            self.patterns.take(pattern, value, bound)
        if any(child.type == "mutable_specifier" for child in node.named_children):
            bound = {name: changeable(taken) for name, taken in bound.items()}
        otherwise = node.child_by_field_name("alternative")
        if otherwise is not None:
            before = dict(self.frame.variables)
            self.value(otherwise)
            self.frame.variables = before
        for name, taken in bound.items():
            self.frame.declare(name, self.frame.chosen(name, taken))
        return UNIT

    def _tuple(self, node: Node) -> Values:
        items = tuple(self.value(child) for child in node.named_children if "comment" not in child.type)
        return frozenset({Tup(items)}) if all(items) else NEVER

    def _binary(self, node: Node) -> Values:
        left = self.value(node.child_by_field_name("left"))
        right = self.value(node.child_by_field_name("right"))
        operator = text_of(node.child_by_field_name("operator"))
        if operator == "+" and any(isinstance(atom, Str) for atom in left):
            return joined([left, right])
        if operator in ("&&", "||"):
            return frozenset(
                Known(one and other if operator == "&&" else one or other)
                for one in truth_of(left)
                for other in truth_of(right)
            )
        return UNKNOWN

    def _assign(self, node: Node) -> Values:
        value = self.value(node.child_by_field_name("right"))
        target = node.child_by_field_name("left")
        path = None if target is None else path_of(target)
        if path is not None:
            self.frame.variables[path] = self.frame.variables.get(path, NEVER) | value
        return UNIT

    def _cast(self, node: Node) -> Values:
        value = self.value(node.child_by_field_name("value"))
        kind = type_of(node.child_by_field_name("type"))
        numbers = frozenset(atom for atom in value if isinstance(atom, Range))
        if numbers:
            return numbers
        return self.machine.typed(kind, self.frame)

    def _closure(self, node: Node) -> Values:
        closure = Closure(self.frame.unit, node, self.frame.variables)
        self.calls.closures.append(closure)
        return frozenset({closure})

    def call_closure(self, closure: Closure, arguments: Sequence[Values]) -> Values:
        """What a closure returns for ``arguments``; those that are missing are what their types allow."""
        from conformance.upstream.wiring.items import parameters_of

        closure.calls.append(True)
        if self.frame.depth > INLINE_DEPTH:
            return UNKNOWN
        params, _ = parameters_of(closure.node.child_by_field_name("parameters"))
        frame = self.frame
        inner = Frame(
            frame.function,
            closure.unit,
            frame.types,
            frame.self_type,
            dict(closure.variables),
            frame.depth + 1,
            frame.callers,
            silent=frame.silent,
        )
        for position, (pattern, kind) in enumerate(params):
            given = arguments[position] if position < len(arguments) else UNKNOWN
            value = self.machine.typed(kind, frame) if given == UNKNOWN else given
            self.patterns.take(pattern, value, inner.variables)
        body = closure.node.child_by_field_name("body")
        return UNKNOWN if body is None else Evaluator(self.machine, inner).function(body) or ERROR

    def _struct(self, node: Node) -> Values:
        kind = type_of(node.child_by_field_name("name"))
        owner = None if kind is None else self.machine.concrete(kind, self.frame)
        body = node.child_by_field_name("body")
        for child in [] if body is None else body.named_children:
            name = text_of(child.child_by_field_name("field") or child.child_by_field_name("name"))
            given = child.child_by_field_name("value")
            if child.type == "shorthand_field_initializer":
                name = text_of(child).strip()
                given = child.named_children[-1]
            value = self.value(given)
            if owner is not None and name:
                self.keep_field(owner, name, value)
        return UNKNOWN if owner is None else frozenset({Obj(owner)})

    def keep_field(self, owner: Type, name: str, value: Values) -> None:
        """Notes a field that can be part of a name."""
        if any(isinstance(atom, Str) for atom in value):
            self.machine.note_field(owner.name, name, frozenset(atom for atom in value if isinstance(atom, Str)))

    def parsed(self, expression: Node, unit: Unit) -> Values:
        """The value of an expression of another text, such as a macro's argument."""
        kept, self.frame.unit = self.frame.unit, unit
        self.patterns = self.machine.patterns(unit, self.frame.self_type)
        try:
            return self.value(expression)
        finally:
            self.frame.unit = kept
            self.patterns = self.machine.patterns(kept, self.frame.self_type)
