"""How a message becomes what ``conformance.engine.ipc`` carries, and back: a map with its number, kind and data.

    {"id": 3, "kind": "LoadCode", "data": {"arena": 0, "mapped": 4194304, "size": 9120, "label": "unary.hip", ...}}

A type travels once its module has said so, by ``add_kinds``: a frozen dataclass of plain values, which is checked here,
or a type that pydantic checks (``conformance.engine.messages``). Nothing else can be sent, and what arrives and is not
exactly one of them is ``Garbled``.

Without numpy and pydantic, as all of an executor.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from conformance.engine.ipc import Channel, Garbled


@dataclass(frozen=True)
class Kind:
    """A type of message. ``encode`` turns a message into plain data, ``decode`` turns plain data into one or raises
    ``ValueError``."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    type: type[Any] | None = None
    """``None`` where its module is not imported yet."""


KINDS: dict[str, Kind] = {}
"""What may travel, by the name of its class."""


def add_kinds(*types: type[Any]) -> None:
    """Allow these frozen dataclasses of plain values as messages. ``decoder`` says what plain values are."""
    KINDS.update({one.__name__: Kind(vars, partial(_decoded, one), one) for one in types})


def add_kinds_of(module: str, *names: str) -> None:
    """Allow the message types ``names`` of ``module``, which is imported when the first message of such a type
    arrives."""

    def imported(name: str, data: Any) -> Any:
        import_module(module)
        return KINDS[name].decode(data)

    for name in names:  # there is none to encode before the module is imported
        KINDS.setdefault(name, Kind(vars, partial(imported, name)))


def to_map(message: object) -> dict[str, Any]:
    """The map for ``message``, whose type is one of ``KINDS``: ``{"kind": NAME, "data": ...}``."""
    name = type(message).__name__
    return {"kind": name, "data": KINDS[name].encode(message)}


def from_map(content: Mapping[str, Any]) -> Any:
    """The message of a map that ``to_map`` made. Raises ``ValueError`` for anything else."""
    name = content.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"{str(name)[:100]!r} is not a kind of message")
    return KINDS[name].decode(content.get("data"))


Message = TypeVar("Message")


class Expected(Generic[Message]):
    """The types of message that are allowed to come: ``kinds``.

    ``receive`` gives the message as one of these types, so that mypy reports a type that is not handled:

        FROM_HOST: Expected[CannotOpen | ExecutorReady | ExecutorEnded] = Expected(
            CannotOpen, ExecutorReady, ExecutorEnded
        )

    A message of another type is refused by its name alone and not decoded, since a kernel may control the process that
    sent it.
    """

    def __init__(self, *kinds: type[Message]) -> None:
        self.kinds = kinds
        self._names = frozenset(kind.__name__ for kind in kinds)

    def take(self, content: Mapping[str, Any]) -> Message:
        """The message of ``content``. Raises ``Garbled`` for one of another type, and ``ValueError`` for what is no
        message."""
        name = content.get("kind")
        if not isinstance(name, str) or name not in self._names:
            raise Garbled("it is of another kind than was asked for")
        message: Message = from_map(content)
        return message


class ExpectedBase(Expected[Message]):
    """Allows every message that is an instance of ``base``. The module of its type may be imported for that.

    It is for messages from the command's own process, in which nothing of a port runs.
    """

    def take(self, content: Mapping[str, Any]) -> Message:
        message = from_map(content)
        if not isinstance(message, self.kinds):
            raise Garbled("it is of another kind than was asked for")
        return message


class Received(NamedTuple, Generic[Message]):
    """A message that arrived, its number (an answer has the number of its request), and the file descriptors that came
    with it. The receiver has to close these."""

    message: Message
    number: int
    descriptors: list[int]


def send(
    channel: Channel, message: object, number: int = 0, descriptors: Sequence[int] = (), seconds: float | None = None
) -> None:
    """Send ``message`` with copies of ``descriptors``. Raises as ``Channel.send``."""
    channel.send({"id": number, **to_map(message)}, descriptors, seconds)


def receive(
    channel: Channel, expected: Expected[Message], seconds: float | None = None, descriptors: bool = False
) -> Received[Message]:
    """The next message, which has to be one of ``expected``. It may only have file descriptors if ``descriptors`` says
    so.

    Raises as ``Channel.receive``, and ``Garbled`` for any other message.
    """
    content, given = channel.receive(seconds)
    try:
        number = content.get("id")
        if type(number) is not int:
            raise Garbled("it has no number")
        message = expected.take(content)
        if given and not descriptors:
            raise Garbled("it carries file descriptors")
        return Received(message, number, given)
    except BaseException as error:
        for descriptor in given:
            os.close(descriptor)
        if isinstance(error, ValueError):
            raise Garbled(str(error).partition("\n")[0]) from None
        raise


# ---- dataclasses of plain values


@dataclass(frozen=True)
class Longest:
    """A bound for texts: in ``Annotated[str, Longest(n)]`` at most ``n`` characters."""

    most: int

    def holds(self, value: Any) -> bool:
        return len(value) <= self.most


@dataclass(frozen=True)
class Least:
    """A bound for numbers: in ``Annotated[int, Least(n)]`` at least ``n``."""

    least: int

    def holds(self, value: Any) -> bool:
        return bool(value >= self.least)


@dataclass(frozen=True)
class Exactly:
    """A bound for tuples: in ``Annotated[tuple[int, ...], Exactly(n)]`` exactly ``n`` values."""

    count: int

    def holds(self, value: Any) -> bool:
        return len(value) == self.count


_Check = Callable[[Any], Any]
_PLAIN = (int, str, bytes, bool, type(None))


@cache
def decoder(kind: Any) -> _Check:
    """A function that turns what msgpack decoded into a value of the type ``kind``, or raises ``ValueError``.

    ``kind`` is a dataclass whose fields are numbers, texts, bytes, ``bool``, ``None``, ``Literal`` texts, tuples,
    dataclasses or unions of these. Nothing is converted: neither ``True`` nor ``"1"`` is a number. A map has to have
    exactly the names of the fields, by which the dataclasses of a union are told apart. Raises ``TypeError`` for any
    other type.
    """
    by_type = _by_type(kind)
    if all(check is _itself for check in by_type.values()):
        plain = frozenset(by_type)

        def only(value: Any) -> Any:
            if type(value) in plain:
                return value
            raise _unfit(value, kind)

        return only

    def check(value: Any) -> Any:
        found = by_type.get(type(value))
        if found is None:
            raise _unfit(value, kind)
        return found(value)

    return check


def _decoded(kind: Any, data: Any) -> Any:
    """A value of ``kind``, whose ``decoder`` is made when it is used first."""
    return decoder(kind)(data)


def _unfit(value: object, kind: Any) -> ValueError:
    return ValueError(f"{type(value).__name__} in place of {getattr(kind, '__name__', kind)}")


def _itself(value: Any) -> Any:
    return value


def _by_type(kind: Any) -> dict[type[Any], _Check]:
    """What decodes a value of ``kind``, by the type that msgpack gives it."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return {kind: _itself}
    if origin in (Union, types.UnionType):
        return _union([_by_type(one) for one in inner])
    if origin is Annotated:
        return {one: _limited(check, inner[1:], inner[0]) for one, check in _by_type(inner[0]).items()}
    if origin is Literal:
        return {str: _one_of(inner)}
    if origin is tuple:
        several = _tuple(inner, kind)
        return {list: several, tuple: several}
    if isinstance(kind, type) and is_dataclass(kind):
        return {dict: _Record([kind])}
    raise TypeError(f"{kind} cannot be in a message")


def _union(alternatives: Sequence[dict[type[Any], _Check]]) -> dict[type[Any], _Check]:
    together: dict[type[Any], _Check] = {}
    records: list[type[Any]] = []
    for each in alternatives:
        of_maps = each.pop(dict, None)
        if isinstance(of_maps, _Record):
            records += of_maps.kinds
        elif of_maps is not None:
            raise TypeError("a dataclass with a limit is no alternative of a union")
        if together.keys() & each.keys():
            raise TypeError("alternatives of a union that look alike")
        together.update(each)
    if records:
        together[dict] = _Record(records)
    return together


def _limited(check: _Check, limits: Sequence[Longest | Least | Exactly], kind: Any) -> _Check:
    def limited(value: Any) -> Any:
        for limit in limits:
            if not limit.holds(value):
                raise ValueError(f"{getattr(kind, '__name__', kind)} that is not {limit}")
        return check(value)

    return limited


def _one_of(choices: Sequence[str]) -> _Check:
    def one_of(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"a text that is none of {', '.join(choices)}")
        return value

    return one_of


def _tuple(inner: Sequence[Any], kind: Any) -> _Check:
    if len(inner) == 2 and inner[1] is Ellipsis:
        each = decoder(inner[0])
        return lambda values: tuple(map(each, values))
    checks = tuple(map(decoder, inner))

    def exactly(values: Any) -> Any:
        if tuple(map(type, values)) == inner:  # plain values, such as a buffer's place: most tuples of a launch
            return tuple(values)
        if len(values) != len(checks):
            raise ValueError(f"{len(values)} values in place of {kind}")
        return tuple(check(value) for check, value in zip(checks, values, strict=True))

    return exactly


class _Record:
    """A map that is one of the dataclasses ``kinds``: that of its keys."""

    def __init__(self, kinds: Sequence[type[Any]]) -> None:
        self.kinds = kinds
        self._by_names: dict[frozenset[str], tuple[type[Any], tuple[tuple[str, _Check], ...]]] = {}
        for kind in kinds:
            hints = get_type_hints(kind, include_extras=True)
            checks = tuple((field.name, decoder(hints[field.name])) for field in fields(kind))
            self._by_names[frozenset(name for name, _ in checks)] = (kind, checks)
        if len(self._by_names) < len(kinds):
            raise TypeError(f"dataclasses of a union with the same fields: {kinds}")

    def __call__(self, value: dict[Any, Any]) -> Any:
        matching = self._by_names.get(frozenset(value))
        if matching is None:
            names = " or ".join(kind.__name__ for kind in self.kinds)
            raise ValueError(f"a map with other names than {names}")
        kind, checks = matching
        made = object.__new__(kind)
        vars(made).update([(name, check(value[name])) for name, check in checks])
        return made
