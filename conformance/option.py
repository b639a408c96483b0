"""A row of ``conformance.settings``: what an option is, how its value is read, and the fields that are options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from conformance.reading import shortened

JUDGING = ("run", "replay")
LAUNCHING = (*JUDGING, "record", "bench", "compare")
COMPILING = (*LAUNCHING, "check", "build")
REPORTING = (*JUDGING, "report")
"""Commands with options in common."""

CHOICE = "what is judged"
RUN = "how it runs"
COMPILATION = "how it is compiled"
GATE = "what it has to come to"
OUTPUT = "what is printed and written"
GROUPS = (CHOICE, RUN, COMPILATION, GATE, OUTPUT)
"""The headings under which ``--help`` and the man page have the options, in order."""

STDOUT = Path("/dev/stdout")
"""What ``--json -`` writes to."""


@dataclass(frozen=True)
class Shard:
    """The ``index``-th of ``of`` parts, counted from 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def percentage(text: str) -> float:
    """The percentage that a word names; this and the next raise ``argparse.ArgumentTypeError``."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage (0 to 100)")
    return value


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of seconds (more than 0)")
    return value


def workers(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of workers (1 or more)")
    return int(text)


def seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 1 << 32):
        raise argparse.ArgumentTypeError(f"{text} is not a seed (0 to {(1 << 32) - 1})")
    return int(text)


def shard_of(text: str) -> Shard:
    index, slash, of = text.partition("/")
    plain = all(part.isascii() and part.isdecimal() and len(part) < 6 for part in (index, of))
    if slash and plain and 1 <= int(index) <= int(of):
        return Shard(int(index), int(of))
    raise argparse.ArgumentTypeError(f"{text!r} is not a shard; expected I/N with I from 1 to N, such as 2/4")


def json_file(text: str) -> Path:
    """The file that ``--json`` names; ``-`` is standard output, where nothing else stands then."""
    return STDOUT if text == "-" else Path(text)


def header(text: str) -> Path:
    """A header's path, or a name that the compiler finds; in ``candle-parity.toml`` not made absolute."""
    return Path(text)


@dataclass(frozen=True)
class Option:
    """How a value is given and where it goes.

    ``flags`` are those of the command line, the long one last; ``read`` makes a value of a word (``bool``: the flag
    takes none), ``write`` a word of a value. ``group`` is one of ``GROUPS``. ``in_file`` says that
    ``candle-parity.toml`` has a key of its name; ``compiles`` that it decides which sources are compiled and how, in
    which file and command line both have a say. A ``repeated`` option stands in the command that reproduces a failure.
    Verdicts depend on a ``recorded`` one, for which the record has no field of its own: it stands among its
    ``run.options``.
    """

    flags: tuple[str, ...]
    help: str
    commands: tuple[str, ...]
    group: str
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str
    metavar: str | None = None
    choices: tuple[Any, ...] = ()
    in_file: bool = False
    pytest: bool = False
    compiles: bool = False
    repeated: bool = False
    recorded: bool = False
    name: str = ""
    default: Any = None

    @property
    def long(self) -> str:
        return self.flags[-1]

    @property
    def many(self) -> bool:
        """Whether it may be given several times."""
        return isinstance(self.default, tuple)

    def arguments(self, prefix: str = "") -> dict[str, Any]:
        """What ``add_argument`` takes besides the flags. Without the option the value is ``None``, not the default."""
        about: dict[str, Any] = {"dest": prefix + self.name, "help": self.help, "default": None}
        if self.read is bool:
            toggle = self.default is None and not prefix
            return about | ({"action": argparse.BooleanOptionalAction} if toggle else _constant(not self.default))
        about |= {"type": self.read} if self.read is not str else {}
        about |= {"action": "append"} if self.many else {}
        return about | ({"choices": self.choices} if self.choices else {"metavar": self.metavar})

    def args(self, value: Any) -> list[str]:
        """``value`` as on the command line; nothing for the default."""
        if value == self.default:
            return []
        if self.read is bool:  # of those with three values, None is that the file decides
            return [self.long if value is not False or self.default is True else self.long.replace("--", "--no-", 1)]
        flag, values = self.flags[0], map(self.write, value if self.many else [value])
        return [word for one in values for word in ([f"{flag}={one}"] if one.startswith("-") else [flag, one])]


def _constant(value: bool) -> dict[str, Any]:
    return {"action": "store_const", "const": value}


def option(default: Any, *flags: str, **about: Any) -> Any:
    """A field that is an option."""
    return field(default=default, metadata={"option": Option(flags, **about)})


def judging(default: Any, *flags: str, group: str = RUN, commands: tuple[str, ...] = JUDGING, **about: Any) -> Any:
    return option(default, *flags, commands=commands, group=group, **about)


def launching(default: Any, *flags: str, group: str = RUN, **about: Any) -> Any:
    return option(default, *flags, commands=LAUNCHING, group=group, **about)


def compiling(default: Any, *flags: str, **about: Any) -> Any:
    return option(default, *flags, commands=COMPILING, group=COMPILATION, compiles=True, repeated=True, **about)


def reporting(default: Any, *flags: str, group: str = OUTPUT, **about: Any) -> Any:
    return option(default, *flags, commands=REPORTING, group=group, **about)


@dataclass(frozen=True)
class Options:
    """The base of dataclasses of options."""

    @classmethod
    def rows(cls) -> tuple[Option, ...]:
        """The options, in order."""
        found = ((one.metadata.get("option"), one) for one in fields(cls))
        return tuple(replace(row, name=one.name, default=one.default) for row, one in found if row is not None)

    @classmethod
    def of(cls, values: Mapping[str, Any], prefix: str = "") -> Self:
        """What ``values``, by name behind ``prefix``, say; those that are absent or ``None`` have their defaults."""
        given = ((row.name, values.get(prefix + row.name)) for row in cls.rows())
        return cls(**{name: tuple(one) if isinstance(one, list) else one for name, one in given if one is not None})
