"""Launch geometry of a port's own, by expressions over what a launch has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from conformance.cases import cases_for, has_cases, launch_for
from conformance.cases.case import Case
from conformance.cases.launch import Launch, Scalar
from conformance.port.config import OPTIONS_FILE, GeometryRow
from conformance.port.declared.known import matches
from conformance.port.sources import SourceError
from conformance.reading import shortened
from conformance.spec.kernel import Kernel

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|[-+*(),]))", re.ASCII)
_LONGEST, _DEEPEST, _LARGEST = 500, 50, 1 << 62

Value = Callable[[Mapping[str, int]], int]


@dataclass(frozen=True)
class Expression:
    """A text and what it comes to; ``value`` raises ``ValueError`` for an unknown name, a division by 0 and a number
    that is too large."""

    text: str
    value: Value


def parse(text: str) -> Expression:
    """The expression that ``text`` is; raises ``ValueError`` saying what it is not."""
    if len(text) > _LONGEST:
        raise ValueError(f"{shortened(text)!r} is longer than {_LONGEST} characters")
    parser = _Parser(text)
    value = parser.sum(0)
    if parser.token:
        raise ValueError(f"{text!r}: {parser.token!r} is not expected there")
    return Expression(text, value)


def _divided(a: int, b: int) -> int:
    if b == 0:
        raise ValueError("a division by 0")
    return a // b


_FUNCTIONS: dict[str, Callable[..., int]] = {"ceildiv": lambda a, b: -_divided(-a, b), "min": min, "max": max}
_SUMS: dict[str, Callable[[int, int], int]] = {"+": lambda a, b: a + b, "-": lambda a, b: a - b}
_PRODUCTS: dict[str, Callable[[int, int], int]] = {"*": lambda a, b: a * b, "//": _divided}


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.token = ""
        self._next()

    def _next(self) -> str:
        """The token that was met last; the one after it becomes ``token``, empty at the end."""
        last = self.token
        if not self._text[self._at :].strip():
            self.token = ""
            return last
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ValueError(f"{self._text!r}: {self._text[self._at :].strip()[0]!r} is not allowed")
        self.token, self._at = match[0].strip(), match.end()
        return last

    def sum(self, depth: int) -> Value:
        return self._chain(_SUMS, lambda: self._chain(_PRODUCTS, lambda: self._operand(depth + 1)))

    def _chain(self, operators: Mapping[str, Callable[[int, int], int]], operand: Callable[[], Value]) -> Value:
        value = operand()
        while self.token in operators:
            value = _applied(operators[self._next()], value, operand())
        return value

    def _operand(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise ValueError(f"{shortened(self._text)!r} is nested too deep")
        token = self._next()
        if token == "-":
            return _applied(_SUMS["-"], lambda _: 0, self._operand(depth + 1))
        if token == "(":
            value = self.sum(depth)
            self._expect(")")
            return value
        if token.isdigit():
            number = int(token) if len(token) < 20 else _LARGEST
            return _applied(lambda a: a, lambda _: number)
        if self.token == "(" and token in _FUNCTIONS:
            return self._call(token, depth)
        if re.fullmatch(r"[A-Za-z_]\w*", token):
            return lambda names: _named(names, token)
        raise ValueError(
            f"{self._text!r}: a number or a name is expected {f'before {token!r}' if token else 'at its end'}"
        )

    def _call(self, function: str, depth: int) -> Value:
        self._next()
        given = [self.sum(depth)]
        while self.token == ",":
            self._next()
            given.append(self.sum(depth))
        self._expect(")")
        if function == "ceildiv" and len(given) != 2:
            raise ValueError(f"{self._text!r}: ceildiv takes two numbers, not {len(given)}")
        return _applied(_FUNCTIONS[function], *given) if len(given) > 1 else given[0]

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ValueError(f"{self._text!r}: {token!r} is missing")


def _named(names: Mapping[str, int], name: str) -> int:
    if name not in names:
        raise ValueError(f"{name!r} is not known; there are {', '.join(sorted(names))}")
    return names[name]


def _applied(function: Callable[..., int], *operands: Value) -> Value:
    def value(names: Mapping[str, int]) -> int:
        result = function(*(operand(names) for operand in operands))
        if abs(result) >= _LARGEST:
            raise ValueError("a number that is too large")
        return result

    return value


_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_THREADS = 1024
_MOST_SHARED = 1 << 20
_WAVES = (32, 64)
_AXES = "xyz"

_parsed = lru_cache(maxsize=1024)(parse)


def check_geometry(rows: Sequence[GeometryRow], kernels: Mapping[str, Kernel], where: str) -> None:
    """Raises ``SourceError`` for an expression that is none or has a name that is not known, a row that matches no
    kernel, and two that match the same."""
    taken: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        place = f"{where}: launch, row {number}"
        for text in (*(row.grid or ()), *(row.block or ()), *([] if row.shared is None else [row.shared])):
            _expression(text, place)
        named = [kernel for name, kernel in kernels.items() if matches(row.kernels, name)]
        if not named:
            what = f"{shortened(row.kernels)!r} matches none of the {len(kernels)} kernels of the specs"
            raise SourceError(f"{place}: {what}; correct it, or remove the row")
        for kernel in named:
            other = taken.setdefault(kernel.name, number)
            if other != number:
                raise SourceError(f"{place}: {kernel.name} is ambiguous: row {other} matches it too; make one narrower")
            if has_cases(kernel):
                case = next(iter(cases_for(kernel)))
                try:
                    sizes_of(row, case, launch_for(kernel, case), _WAVES[-1])
                except ValueError as error:
                    raise SourceError(f"{place}: {error}") from None


def geometry_of(rows: Sequence[GeometryRow], kernel: str) -> GeometryRow | None:
    """The row for ``kernel``, if any."""
    return next((row for row in rows if matches(row.kernels, kernel)), None)


def described(row: GeometryRow) -> str:
    """``grid (ceildiv(nrows_x, 128), 1, 1), block (32, 8, 1)``: what of a launch is the port's own."""
    parts = [f"{what} ({', '.join(size)})" for what, size in (("grid", row.grid), ("block", row.block)) if size]
    return ", ".join([*parts, *([] if row.shared is None else [f"{row.shared} bytes of shared memory"])])


def launched_as(row: GeometryRow, case: Case, launch: Launch, wave: int, where: str = OPTIONS_FILE) -> Launch:
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
    return replace(launch, grid=grid, block=block, shared=shared, own_geometry=True)


def sizes_of(
    row: GeometryRow, case: Case, launch: Launch, wave: int
) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
    """Grid, block and shared memory as numbers, Candle's where the row has none; raises ``ValueError``."""
    names = _names(case, launch, wave)
    grid = launch.grid if row.grid is None else _size(row.grid, names)
    block = launch.block if row.block is None else _size(row.block, names)
    return grid, block, launch.shared if row.shared is None else _value(row.shared, names)


def _size(texts: tuple[str, str, str], names: Mapping[str, int]) -> tuple[int, int, int]:
    x, y, z = (_value(text, names) for text in texts)
    return x, y, z


def _value(text: str, names: Mapping[str, int]) -> int:
    try:
        return _parsed(text).value(names)
    except ValueError as error:
        raise ValueError(f"{shortened(text)!r}: {error}") from None


def _names(case: Case, launch: Launch, wave: int) -> dict[str, int]:
    """The integer arguments of the kernel, the whole numbers of the case's id, Candle's own geometry, and ``wave``."""
    names = {"wave": wave, "shared": launch.shared}
    for what, size in (("grid", launch.grid), ("block", launch.block)):
        names |= {f"{what}_{axis}": one for axis, one in zip(_AXES, size, strict=True)}
    names |= {key: int(value) for key, value in case.fields if value.isdecimal() and value.isascii()}
    integers = [arg for arg in launch.args if isinstance(arg, Scalar) and arg.value.dtype.kind in "iu"]
    return names | {arg.name: int(arg.value) for arg in integers}


def _expression(text: str, place: str) -> Expression:
    try:
        return _parsed(text)
    except ValueError as error:
        raise SourceError(f"{place}: {error}") from None
