"""Where a Python source can be changed, and how: general operators over its syntax tree."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMMUTATIVE = frozenset(
    re.findall(
        r"\w+",
        "add mul maximum minimum fmax fmin logical_and logical_or array_equal max min isinstance fma fma_f32 fma_f64 "
        "fma_odd sum_odd",
    )
)
"""Functions whose first two arguments may stand in either order."""

_NOT_RUN = frozenset(("annotation", "returns", "decorator_list", "bases"))
"""Fields of nodes that say what a value is, not what it comes to."""


@dataclass(frozen=True)
class Place:
    """``new`` in the place of ``old``: the operator, where that stands, and the statement around it.

    ``slot`` is the parent, its field, and the index where that is a list. ``runs`` says that the place is inside a
    function: any other is run once, where the module is imported.
    """

    operator: str
    slot: tuple[ast.AST, str, int | None]
    old: ast.AST
    new: ast.AST
    lines: range
    runs: bool

    @cached_property
    def text(self) -> str:
        """What is changed, on one line."""
        old, new = (" ".join(ast.unparse(node).split()) for node in (self.old, self.new))
        return f"{old} -> {new}"

    def apply(self) -> None:
        """Change the tree."""
        parent, name, index = self.slot
        ast.fix_missing_locations(ast.copy_location(self.new, self.old))
        if index is None:
            setattr(parent, name, self.new)
        else:
            getattr(parent, name)[index] = self.new


def places(tree: ast.Module) -> Iterator[Place]:
    """Every place that can be changed, in a fixed order."""
    yield from _inside(tree, range(0), False)


def _inside(node: ast.AST, lines: range, runs: bool) -> Iterator[Place]:
    for name, value in ast.iter_fields(node):
        if name in _NOT_RUN:
            continue
        children = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST) or _only_complains(child):
                continue
            around = _lines(child) if isinstance(child, ast.stmt) else lines
            if isinstance(child, ast.Lambda):
                around = range(child.lineno, (child.end_lineno or child.lineno) + 1)
            slot = (node, name, index if isinstance(value, list) else None)
            for operator, new in _changes(child, isinstance(node, ast.If) and name == "test"):
                yield Place(operator, slot, child, new, around, runs or isinstance(node, ast.Lambda))
            within = isinstance(child, ast.FunctionDef | ast.Lambda)
            yield from _inside(child, around, runs or within)


def _lines(statement: ast.stmt) -> range:
    """The lines of a statement, of one that holds others its head."""
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    return range(statement.lineno, max(statement.lineno, body[0].lineno - 1 if body else last) + 1)


def _only_complains(node: ast.AST) -> bool:
    """A message of an error and its guard, and what only people read."""
    if isinstance(node, ast.If):
        return not node.orelse and all(isinstance(one, ast.Raise) for one in node.body)
    if isinstance(node, ast.ExceptHandler):
        return all(isinstance(one, ast.Raise) for one in node.body)
    return isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.FunctionDef) and node.name == "__repr__")


def _changes(node: ast.AST, guards: bool) -> Iterator[tuple[str, ast.AST]]:
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in COMPARED:
        new.ops[0] = COMPARED[type(new.ops[0])]()
        yield "comparison", new
    elif isinstance(new, ast.BinOp | ast.AugAssign) and type(new.op) in COMPUTED and not _is_type(new):
        new.op = COMPUTED[type(new.op)]()
        yield "arithmetic", new
    elif isinstance(new, ast.UnaryOp):
        without: ast.AST = new.operand
        yield "logic" if isinstance(new.op, ast.Not) else "arithmetic", without
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool | int | float):
        value = new.value
        new.value = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value * 1.001
        if new.value != value:
            yield "constant", new
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        yield "logic", new
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
        yield "choice", new
    elif isinstance(new, ast.Call) and len(new.args) > 1 and _name(new.func) not in COMMUTATIVE:
        first, second = new.args[:2]
        if not any(isinstance(one, ast.Starred) for one in (first, second)) and ast.dump(first) != ast.dump(second):
            new.args[:2] = second, first
            yield "arguments", new
    if guards:
        assert isinstance(node, ast.expr)
        yield "guard", ast.UnaryOp(ast.Not(), copy.deepcopy(node))
    if isinstance(node, ast.stmt) and _can_go(node):
        yield "statement", ast.Pass()


def _is_type(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether this is ``Array | None``."""
    return isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _can_go(node: ast.stmt) -> bool:
    """Whether names stay defined without the statement."""
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if not isinstance(node, ast.Assign):
        return False
    read = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
    return all(
        isinstance(one, ast.Subscript | ast.Attribute) or (isinstance(one, ast.Name) and one.id in read)
        for one in node.targets
    )
