"""What an expression may be, as far as kernel names depend on it: sets of possible values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from conformance.upstream.wiring.items import Type, Unit

MOST = 2048
"""Sets larger than this become unknown."""


@dataclass(frozen=True)
class Str:
    """A string.

    ``None`` among its parts stands for text that is not known; ``places`` are the literals it is made of.
    """

    parts: tuple[str | None, ...]
    places: tuple[str, ...] = ()

    @property
    def known(self) -> str | None:
        """The whole text, or ``None`` where a part is not known."""
        return "".join(part or "" for part in self.parts) if None not in self.parts else None

    @property
    def pattern(self) -> str:
        """The text with ``*`` for what is not known."""
        return "".join("*" if part is None else part for part in self.parts)

    def expression(self) -> re.Pattern[str]:
        """A regular expression for the strings that this may be."""
        return re.compile("".join("[A-Za-z0-9_]+" if part is None else re.escape(part) for part in self.parts))


@dataclass(frozen=True)
class Variant:
    """A variant of an enum, such as ``DType::U8``."""

    enum: str
    name: str


@dataclass(frozen=True)
class Tup:
    """A tuple or an array, by the possible values of each element."""

    items: tuple[Values, ...]


@dataclass(frozen=True)
class Range:
    """A whole number from ``low`` to ``high``, both included; ``None`` where there is no bound."""

    low: int | None
    high: int | None


@dataclass(frozen=True)
class Obj:
    """A value of which only the type is known."""

    type: Type


@dataclass(frozen=True)
class Known:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True)
class Special:
    """``unknown``: anything; ``error``: an ``Err`` on its way out; ``none``: a ``None``."""

    kind: str


@dataclass(frozen=True, eq=False)
class Closure:
    """A closure with the variables it sees; ``calls`` is empty until it is called."""

    unit: Unit
    node: Node
    variables: dict[str, Values] = field(repr=False)
    calls: list[bool] = field(default_factory=list)


Atom = Str | Variant | Tup | Range | Obj | Known | Special | Closure
Values = frozenset[Atom]

NEVER: Values = frozenset()
UNKNOWN: Values = frozenset({Special("unknown")})
ERROR: Values = frozenset({Special("error")})
NONE: Values = frozenset({Special("none")})
UNIT: Values = frozenset({Tup(())})


def union(several: Iterable[Values]) -> Values:
    """What any of ``several`` may be."""
    result = frozenset(itertools.chain.from_iterable(several))
    if len(result) > MOST:
        return UNKNOWN
    return result


def without_errors(values: Values) -> Values:
    """``values`` behind a ``?``."""
    return values - ERROR - NONE


def truth_of(values: Values) -> frozenset[bool]:
    """Whether a condition of ``values`` can hold, and whether it can fail."""
    if values and all(isinstance(atom, Known) for atom in values):
        return frozenset(atom.value for atom in values if isinstance(atom, Known))
    return frozenset((True, False))


def changeable(values: Values) -> Values:
    """``values`` of a variable that is counted on or switched later: any number, and either truth."""
    loose: set[Atom] = set()
    for atom in values:
        if isinstance(atom, Known):
            loose |= {Known(True), Known(False)}
        else:
            loose.add(Range(None, None) if isinstance(atom, Range) else atom)
    return frozenset(loose)


def counts(value: Values) -> bool:
    """Whether an argument can become part of a name."""
    return bool(value) and all(isinstance(atom, Str | Variant | Range | Known | Closure | Tup) for atom in value)


def texts(values: Values) -> list[Str]:
    """The strings that ``values`` print as; a value that is not known prints as unknown text, ``None`` never does."""
    found: list[Str] = []
    for atom in values - NONE:
        if isinstance(atom, Str):
            found.append(atom)
        elif isinstance(atom, Range) and atom.low is not None and atom.high is not None and atom.high - atom.low < 64:
            found += [Str((str(number),)) for number in range(atom.low, atom.high + 1)]
        elif isinstance(atom, Known):
            found.append(Str((str(atom.value).lower(),)))
        else:
            found.append(Str((None,)))
    return list(dict.fromkeys(found))


def joined(pieces: Sequence[Values]) -> Values:
    """Every string that ``pieces`` make one after the other."""
    lists = [texts(piece) for piece in pieces]
    count = 1
    for one in lists:
        count *= len(one)
    if count > MOST:
        return frozenset({Str((None,))})
    return frozenset(_glued(row) for row in itertools.product(*lists))


def _glued(row: Sequence[Str]) -> Str:
    parts: list[str | None] = []
    for part in itertools.chain.from_iterable(one.parts for one in row):
        if parts and part is not None and parts[-1] is not None:
            parts[-1] += part
        elif part is not None or not parts or parts[-1] is not None:
            parts.append(part)
    return Str(tuple(parts), tuple(dict.fromkeys(place for one in row for place in one.places)))
