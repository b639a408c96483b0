"""Branches and loops, as the evaluator meets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from conformance.upstream.wiring.values import NEVER, UNIT, UNKNOWN, Range, Tup, Values, union

if TYPE_CHECKING:
    from conformance.upstream.wiring.expressions import Evaluator


class Branches:
    """Control flow of one evaluator: what each branch leaves, joined."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def match(self, node: Node) -> Values:
        """The value of a ``match``."""
        scrutinee = node.child_by_field_name("value")
        body = node.child_by_field_name("body")
        assert scrutinee is not None
        assert body is not None
        remaining = self._evaluator.machine.expand(self._evaluator.value(scrutinee))
        branches: list[tuple[Values, dict[str, Values]]] = []
        base = self._evaluator.frame.variables
        for arm in [child for child in body.named_children if child.type == "match_arm"]:
            pattern = arm.child_by_field_name("pattern")
            assert pattern is not None
            guard = pattern.child_by_field_name("condition")
            self._evaluator.frame.variables = dict(base)
            bound: dict[str, Values] = {}
            head = next((c for c in pattern.named_children if c != guard), None)
            taken, rest = (remaining, NEVER) if head is None else self._evaluator.patterns.split(head, remaining, bound)
            if not taken and remaining:
                continue
            self._evaluator.narrowing.narrow(scrutinee, taken)
            self._evaluator.frame.shadowed.append({})
            for name, value in bound.items():
                self._evaluator.frame.declare(name, value)
            possible = guard is None or self._evaluator.narrowing.refine(guard, True)
            result = self._evaluator.value(arm.child_by_field_name("value")) if possible else NEVER
            self.close_scope()
            branches.append((result, self._evaluator.frame.variables))
            if guard is None:
                remaining = rest
                if not remaining:
                    break
        return self.joined(base, branches)

    def close_scope(self) -> None:
        """End the innermost scope: what its variables hid is seen again."""
        for name, value in self._evaluator.frame.shadowed.pop().items():
            if value is None:
                self._evaluator.frame.variables.pop(name, None)
            else:
                self._evaluator.frame.variables[name] = value

    def if_else(self, node: Node) -> Values:
        """The value of an ``if`` with its alternative."""
        condition = node.child_by_field_name("condition")
        assert condition is not None
        otherwise = node.child_by_field_name("alternative")
        base = self._evaluator.frame.variables
        branches: list[tuple[Values, dict[str, Values]]] = []
        for truth, part in ((True, node.child_by_field_name("consequence")), (False, otherwise)):
            self._evaluator.frame.variables = dict(base)
            self._evaluator.frame.shadowed.append({})
            possible = self._evaluator.narrowing.refine(condition, truth)
            result = (
                (
                    self._evaluator.inner(part)
                    if part is not None and part.type == "else_clause"
                    else self._evaluator.value(part)
                )
                if possible
                else NEVER
            )
            self.close_scope()
            branches.append((result, self._evaluator.frame.variables))
        return self.joined(base, branches)

    def joined(self, base: dict[str, Values], branches: Sequence[tuple[Values, dict[str, Values]]]) -> Values:
        """The value of a branching expression; the variables become what any branch that comes out leaves."""
        alive = [(value, variables) for value, variables in branches if value]
        if not alive:
            self._evaluator.frame.variables = base
            return NEVER
        names = set.intersection(*(set(variables) for _, variables in alive))
        self._evaluator.frame.variables = {name: union([variables[name] for _, variables in alive]) for name in names}
        return union([value for value, _ in alive])

    def loop(self, node: Node) -> Values:
        """The value of a ``loop`` or ``while``, whose body is evaluated as often as its variables ask for."""
        base = dict(self._evaluator.frame.variables)
        condition = node.child_by_field_name("condition")
        self._evaluator.frame.shadowed.append({})
        if condition is not None:
            self._evaluator.narrowing.refine(condition, True)
        self._body(node)
        self.close_scope()
        self.joined(base, [(UNIT, base), (UNIT, self._evaluator.frame.variables)])
        return UNKNOWN if node.type == "loop_expression" else UNIT

    def for_each(self, node: Node) -> Values:
        """The value of a ``for``, whose body is evaluated once over all that it may be given."""
        base = dict(self._evaluator.frame.variables)
        given = self._evaluator.value(node.child_by_field_name("value"))
        elements = [item for atom in given if isinstance(atom, Tup) for item in atom.items]
        bound: dict[str, Values] = {}
        pattern = node.child_by_field_name("pattern")
        known = union(elements) if elements else frozenset(a for a in given if isinstance(a, Range)) or UNKNOWN
        if pattern is not None:
            self._evaluator.patterns.take(pattern, known, bound)
        self._evaluator.frame.shadowed.append({})
        for name, value in bound.items():
            self._evaluator.frame.declare(name, value)
        self._body(node)
        self.close_scope()
        return self.joined(base, [(UNIT, base), (UNIT, self._evaluator.frame.variables)])

    def _body(self, node: Node) -> None:
        """The body of a loop, and once more where it leaves something else than it was given."""
        given = dict(self._evaluator.frame.variables)
        self._evaluator.value(node.child_by_field_name("body"))
        if any(self._evaluator.frame.variables.get(name) != value for name, value in given.items()):
            self.joined(given, [(UNIT, given), (UNIT, self._evaluator.frame.variables)])
            self._evaluator.value(node.child_by_field_name("body"))
