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
    """One type of message: ``encode`` makes plain data of one, ``decode`` the reverse or raises ``ValueError``."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    type: type[Any] | None = None
    """``None`` where its module is not imported yet."""


KINDS: dict[str, Kind] = {}
"""What may travel, by the name of its class."""


def add_kinds(*types: type[Any]) -> None:
    """Let frozen dataclasses of plain values travel: see ``decoder``."""
    KINDS.update({one.__name__: Kind(vars, partial(_decoded, one), one) for one in types})


def add_kinds_of(module: str, *names: str) -> None:
    """Let the kinds ``names`` travel, which ``module`` adds: it is imported when the first of them comes."""

    def imported(name: str, data: Any) -> Any:
        import_module(module)
        return KINDS[name].decode(data)

    for name in names:  # there is none to encode before the module is imported
        KINDS.setdefault(name, Kind(vars, partial(imported, name)))


def to_map(message: object) -> dict[str, Any]:
    """``message``, one of ``KINDS``, as a map that names its kind."""
    name = type(message).__name__
    return {"kind": name, "data": KINDS[name].encode(message)}


def from_map(content: Mapping[str, Any]) -> Any:
    """What ``to_map`` made a map of; raises ``ValueError`` for anything else."""
    name = content.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"{str(name)[:100]!r} is not a kind of message")
    return KINDS[name].decode(content.get("data"))


Message = TypeVar("Message")


class Expected(Generic[Message]):
    """Of which ``kinds`` a message has to be; ``receive`` returns it as their type, so that mypy sees a kind that is
    not handled:

        FROM_HOST: Expected[CannotOpen | ExecutorReady | ExecutorEnded] = Expected(
            CannotOpen, ExecutorReady, ExecutorEnded
        )

    Another kind is refused by its name, and nothing of it is decoded: a kernel may own the process that sends.
    """

    def __init__(self, *kinds: type[Message]) -> None:
        self.kinds = kinds
        self._names = frozenset(kind.__name__ for kind in kinds)

    def take(self, content: Mapping[str, Any]) -> Message:
        """The message that ``to_map`` made ``content`` of; raises ``Garbled`` for one of another kind, and
        ``ValueError`` for what is none."""
        name = content.get("kind")
        if not isinstance(name, str) or name not in self._names:
            raise Garbled("it is of another kind than was asked for")
        message: Message = from_map(content)
        return message


class ExpectedBase(Expected[Message]):
    """Any message that is an instance of ``base``, whose module may have to be imported first: what the command says,
    which runs nothing of a port."""

    def take(self, content: Mapping[str, Any]) -> Message:
        message = from_map(content)
        if not isinstance(message, self.kinds):
            raise Garbled("it is of another kind than was asked for")
        return message


class Received(NamedTuple, Generic[Message]):
    """A message, its number (an answer has that of its request), and descriptors, which are the caller's to close."""

    message: Message
    number: int
    descriptors: list[int]


def send(
    channel: Channel, message: object, number: int = 0, descriptors: Sequence[int] = (), seconds: float | None = None
) -> None:
    """Send ``message``, with copies of ``descriptors``; raises as ``Channel.send``."""
    channel.send({"id": number, **to_map(message)}, descriptors, seconds)


def receive(
    channel: Channel, expected: Expected[Message], seconds: float | None = None, descriptors: bool = False
) -> Received[Message]:
    """The next message, which has to be as ``expected`` and comes without descriptors unless they are allowed.

    Raises as ``Channel.receive``, and ``Garbled`` for anything else.
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
    """In ``Annotated[str, Longest(n)]``: a text of at most ``n`` characters."""

    most: int

    def holds(self, value: Any) -> bool:
        return len(value) <= self.most


@dataclass(frozen=True)
class Least:
    """In ``Annotated[int, Least(n)]``: a number from ``n`` on."""

    least: int

    def holds(self, value: Any) -> bool:
        return bool(value >= self.least)


@dataclass(frozen=True)
class Exactly:
    """In ``Annotated[tuple[int, ...], Exactly(n)]``: ``n`` values."""

    count: int

    def holds(self, value: Any) -> bool:
        return len(value) == self.count


_Check = Callable[[Any], Any]
_PLAIN = (int, str, bytes, bool, type(None))


@cache
def decoder(kind: Any) -> _Check:
    """What makes a value of the type ``kind`` of msgpack's or raises ``ValueError``.

    ``kind`` is a dataclass whose fields are numbers, texts, bytes, ``bool``, ``None``, ``Literal`` texts, tuples,
    dataclasses, or unions of such. Nothing is converted: ``True`` and ``"1"`` are no numbers. A map has to have exactly
    the names of the fields, by which dataclasses of a union are told apart. Raises ``TypeError`` for other types.
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
        found = self._by_names.get(frozenset(value))
        if found is None:
            names = " or ".join(kind.__name__ for kind in self.kinds)
            raise ValueError(f"a map with other names than {names}")
        kind, checks = found
        made = object.__new__(kind)
        vars(made).update([(name, check(value[name])) for name, check in checks])
        return made
