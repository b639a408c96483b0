"""Launch geometry of a port's own, by expressions over what a launch has: ``ceildiv(nrows_x, 128)``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from conformance.cases.case import Case
from conformance.cases.launch import Launch, Null, Scalar
from conformance.geometry import GeometryRow
from conformance.reading import shortened

_LONGEST, _DEEPEST, _LARGEST = 500, 50, 1 << 62


Value = Callable[[Mapping[str, int]], int]


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise ValueError("a division by 0")
    return a // b


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: _divided,
}


def parse(text: str) -> Value:
    """What ``text`` comes to, given the values of its names: an expression such as ``ceildiv(nrows_x, 128) * 2``.

    It has integers, names, ``+``, ``-``, ``*``, ``//``, parentheses, ``ceildiv``, ``min`` and ``max``; Python parses it
    and evaluates nothing of it. Raises ``ValueError`` for another text; what is returned raises it for an unknown name,
    a division by 0 and a number that is too large.
    """
    return _compiled(_tree(text), text, 0)


def _tree(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"{shortened(text)!r} is longer than {_LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        why = getattr(error, "msg", "it cannot be parsed")
        raise ValueError(f"{shortened(text)!r} is not an expression: {why}") from None


def _compiled(node: ast.expr, text: str, depth: int) -> Value:
    if depth > _DEEPEST:
        raise ValueError(f"{shortened(text)!r} is nested too deep")

    def applied(function: Callable[..., int], *operands: ast.expr) -> Value:
        inner = [_compiled(each, text, depth + 1) for each in operands]
        return lambda names: _bounded(function(*(value(names) for value in inner)))

    match node:
        case ast.Constant(value=int(number)) if type(number) is int:
            return applied(lambda: number)
        case ast.Name(id=name):
            return lambda names: _named(names, name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return applied(_OPERATORS[type(op)], left, right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return applied(operator.neg, operand)
        case ast.Call(func=ast.Name(id="ceildiv"), args=[a, b], keywords=[]):
            return applied(lambda a, b: -_divided(-a, b), a, b)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, *_] as args, keywords=[]):
            return applied(lambda *numbers: min(numbers) if name == "min" else max(numbers), *args)
    known = "numbers, names, + - * //, ceildiv(a, b), min and max"
    raise ValueError(f"{shortened(text)!r}: {shortened(ast.unparse(node))!r} is not allowed; there are {known}")


def _named(names: Mapping[str, int], name: str) -> int:
    if name not in names:
        raise ValueError(f"{name!r} is not known; there are {', '.join(sorted(names))}")
    return names[name]


def _bounded(number: int) -> int:
    if abs(number) >= _LARGEST:
        raise ValueError("a number that is too large")
    return number


Condition = Callable[[Mapping[str, int]], bool]

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def parse_condition(text: str) -> Condition:
    """Whether ``text`` holds, given the values of its names: ``el > 32 and 32 * rows != 64``.

    It compares expressions of ``parse`` by ``<``, ``<=``, ``>``, ``>=``, ``==`` and ``!=``, and joins such by ``and``,
    ``or`` and ``not``. Raises ``ValueError`` for another text, as ``parse``; so does what is returned.
    """
    return _condition(_tree(text), text, 0)


def _condition(node: ast.expr, text: str, depth: int) -> Condition:
    if depth > _DEEPEST:
        raise ValueError(f"{shortened(text)!r} is nested too deep")
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            compare, one, other = _COMPARISONS[type(op)], *(_compiled(each, text, depth + 1) for each in (left, right))
            return lambda names: compare(one(names), other(names))
        case ast.BoolOp(op=op, values=values):
            every = [_condition(each, text, depth + 1) for each in values]
            decide = all if isinstance(op, ast.And) else any
            return lambda names: decide(each(names) for each in every)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _condition(operand, text, depth + 1)
            return lambda names: not inner(names)
    raise ValueError(
        f"{shortened(text)!r}: {shortened(ast.unparse(node))!r} is no condition; expected a comparison such as "
        "el > 32, with < <= > >= == != and, or, not"
    )


_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_THREADS = 1024
_MOST_SHARED = 1 << 20
_AXES = "xyz"

parsed = lru_cache(maxsize=1024)(parse)
_parsed_condition = lru_cache(maxsize=1024)(parse_condition)


def launched_as(row: GeometryRow, case: Case, launch: Launch, wave: int, where: str = "the geometry") -> Launch:
    """``launch`` with the port's geometry, in waves of ``wave``; raises ``ValueError`` that begins with ``where``,
    where it cannot be launched."""
    try:
        grid, block, shared = sizes_of(row, case, launch, wave)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    for what, size, most in (("grid", grid, _MOST_BLOCKS), ("block", block, (_MOST_THREADS,) * 3)):
        for axis, one, limit in zip(_AXES, size, most, strict=True):
            if not 1 <= one <= limit:
                raise ValueError(f"{where} makes {what} {axis} {one} here; it is from 1 to {limit}")
    threads = block[0] * block[1] * block[2]
    if threads > _MOST_THREADS:
        raise ValueError(f"{where} makes a block of {threads} threads here; {_MOST_THREADS} are the most")
    if not 0 <= shared <= _MOST_SHARED:
        raise ValueError(f"{where} asks for {shared} bytes of shared memory here; 0 to {_MOST_SHARED} can be")
    return replace(launch, grid=grid, block=block, shared=shared, own_geometry=row.is_own)


def is_launched(row: GeometryRow, case: Case, launch: Launch, wave: int) -> bool:
    """Whether the port launches ``case`` at all, in waves of ``wave``; raises ``ValueError``."""
    if row.when is None:
        return True
    try:
        return _parsed_condition(row.when)(names_of_launch(case, launch, wave))
    except ValueError as error:
        raise ValueError(f"{shortened(row.when)!r}: {error}") from None


def sizes_of(
    row: GeometryRow, case: Case, launch: Launch, wave: int
) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
    """Grid, block and shared memory as numbers, Candle's where the row has none; raises ``ValueError``."""
    names = names_of_launch(case, launch, wave)
    grid = launch.grid if row.grid is None else _size(row.grid, names)
    block = launch.block if row.block is None else _size(row.block, names)
    return grid, block, launch.shared if row.shared is None else _value(row.shared, names)


def _size(texts: tuple[str, str, str], names: Mapping[str, int]) -> tuple[int, int, int]:
    x, y, z = (_value(text, names) for text in texts)
    return x, y, z


def _value(text: str, names: Mapping[str, int]) -> int:
    try:
        return parsed(text)(names)
    except ValueError as error:
        raise ValueError(f"{shortened(text)!r}: {error}") from None


def names_of_launch(case: Case, launch: Launch, wave: int) -> dict[str, int]:
    """The integer arguments of the kernel, the whole numbers of the case's id, Candle's own geometry, ``wave``, and by
    ``info_is_null`` whether an argument is a null pointer, 1 or 0."""
    names = {"wave": wave, "shared": launch.shared}
    for what, size in (("grid", launch.grid), ("block", launch.block)):
        names |= {f"{what}_{axis}": one for axis, one in zip(_AXES, size, strict=True)}
    names |= {f"{arg.name}_is_null": int(isinstance(arg, Null)) for arg in launch.args}
    names |= {key: int(value) for key, value in case.fields if value.isdecimal() and value.isascii()}
    integers = [arg for arg in launch.args if isinstance(arg, Scalar) and arg.value.dtype.kind in "iu"]
    return names | {arg.name: int(arg.value) for arg in integers}
