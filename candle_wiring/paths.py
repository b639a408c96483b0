"""One way through the code at a time: what was decided on it, and the values that it gives.

A name is followed backwards from the call that loads it. Where it depends on something open (which variant an enum has,
which call a parameter comes from), one alternative is decided for the whole way; the next way takes the next one.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from tree_sitter import Node

from candle_wiring.index import Function, Scope
from conformance.upstream.rust import Type

ANY_NUMBER = 1 << 40
"""Stands for every number above those that are tried one by one."""

MOST_WAYS = 10_000

T = TypeVar("T")


class Dead(Exception):
    """This way does not lead to the load."""


class Nobodys(Dead):
    """The name is a parameter of a public function, which nothing here calls."""


class Undecided(Exception):
    """The value depends on something that this way has not decided."""


class TooMany(Exception):
    """There are more ways than can be followed."""


@dataclass(frozen=True)
class Str:
    """A string in parts. ``None`` stands for a part that is not known; ``places`` are the literals that it consists
    of."""

    parts: tuple[str | None, ...]
    places: tuple[str, ...] = ()

    @property
    def known(self) -> str | None:
        """The whole text; ``None`` where a part is not known."""
        return "".join(part or "" for part in self.parts) if None not in self.parts else None

    @property
    def pattern(self) -> str:
        """The text, with ``*`` for parts that are not known."""
        return "".join("*" if part is None else part for part in self.parts)

    def expression(self) -> re.Pattern[str]:
        """A regular expression that matches the strings it may be."""
        return re.compile("".join("[A-Za-z0-9_]+" if part is None else re.escape(part) for part in self.parts))

    def __add__(self, other: Str) -> Str:
        parts = list(self.parts)
        for part in other.parts:
            if part is not None and parts and parts[-1] is not None:
                parts[-1] += part
            elif part is not None or not parts or parts[-1] is not None:
                parts.append(part)
        return Str(tuple(parts), tuple(dict.fromkeys((*self.places, *other.places))))


@dataclass(frozen=True)
class Variant:
    """A variant of an enum. ``key`` names the value for which it was decided."""

    enum: str
    name: str
    key: Hashable = field(default=None, compare=False)


@dataclass(frozen=True)
class Obj:
    """A value of a known type, with the place (``literal``) where it was made. ``key`` tells it from other values."""

    type: Type
    key: Hashable = None
    literal: tuple[Node, Frame] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Tup:
    """The elements of a tuple or an array."""

    items: tuple[Thunk | Value, ...]


@dataclass(frozen=True, eq=False)
class Thunk:
    """An expression that is only evaluated when its value is needed."""

    node: Node
    frame: Frame


@dataclass(frozen=True, eq=False)
class Closure:
    """A closure, with the frame whose variables it sees."""

    node: Node
    frame: Frame


@dataclass(frozen=True)
class Special:
    """A ``None`` (``none``) or an ``Err`` (``error``)."""

    kind: str


Value = Str | Variant | Obj | Tup | Closure | Special | int
Bound = dict[str, Thunk | Value]
NONE, ERROR, UNIT = Special("none"), Special("error"), Special("unit")
UNKNOWN = Type("_")


@dataclass(eq=False)
class Frame:
    """One call of a function. ``call`` is the call, with the frame in which it stands.

    ``uncalled`` says that no call is known. ``closure`` is a closure's node and arguments, for a frame of its own
    inside of ``outer``.
    """

    function: Function | None
    scope: Scope
    number: int
    call: tuple[Node, Frame] | None = None
    uncalled: bool = False
    inlined: bool = False
    depth: int = 0
    self_type: Type | None = None
    types: dict[str, Type | None] = field(default_factory=dict)
    outer: Frame | None = None
    closure: tuple[Node, Sequence[Thunk | Value]] | None = None


class Returned(Exception):
    """The function of ``frame`` returns."""

    def __init__(self, value: Value, frame: Frame) -> None:
        super().__init__()
        self.value = value
        self.frame = frame


class Way:
    """The decisions of one way. ``script`` are those that it repeats from the way before."""

    def __init__(self, script: Sequence[int]) -> None:
        self.script = script
        self.taken: list[tuple[int, int]] = []
        self.decided: dict[Hashable, Any] = {}
        self.values: dict[Hashable, Value] = {}
        self.sites: list[tuple[Node, Frame]] = []  # that have to be reachable
        self.conditions: list[tuple[Node, Frame, bool]] = []
        self.handed: str | None = None  # the call that hands the name over
        self.open = True  # whether more may be decided
        self.frames = 0

    def decide(self, key: Hashable, options: Sequence[T]) -> T:
        """One of ``options``, always the same for ``key``. Raises ``Undecided`` where nothing may be decided."""
        if key in self.decided:
            return cast(T, self.decided[key])
        if not options:
            raise Dead
        if len(options) == 1:
            return options[0]
        if not self.open:
            raise Undecided
        at = len(self.taken)
        chosen = self.script[at] if at < len(self.script) else 0
        self.taken.append((chosen, len(options)))
        self.decided[key] = options[chosen]
        return options[chosen]

    def next_script(self) -> list[int] | None:
        """The decisions of the next way; ``None`` after the last one."""
        taken = list(self.taken)
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        return [*(chosen for chosen, _ in taken[:-1]), taken[-1][0] + 1] if taken else None

    def frame(self, function: Function | None, scope: Scope, **more: Any) -> Frame:
        """A new frame."""
        self.frames += 1
        return Frame(function, scope, self.frames, **more)
