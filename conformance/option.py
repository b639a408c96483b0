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

CHOICE = "which kernels and cases"
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
    """A part of a run that several machines share: part ``index`` of ``of``, counted from 1. Its text is ``2/4``."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def percentage(text: str) -> float:
    """The number from 0 to 100 that ``text`` spells.

    Raises ``argparse.ArgumentTypeError``, whose message says what is allowed, as all functions here that read a value.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage (0 to 100)")
    return value


def seconds(text: str) -> float:
    """The seconds that ``text`` spells: more than 0, below a million. Raises ``argparse.ArgumentTypeError``."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of seconds (more than 0)")
    return value


def workers(text: str) -> int:
    """The number of processes that ``text`` spells: 1 to 99,999. Raises ``argparse.ArgumentTypeError``."""
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of workers (1 or more)")
    return int(text)


def seed(text: str) -> int:
    """The seed that ``text`` spells, an unsigned number of 32 bits. Raises ``argparse.ArgumentTypeError``."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 1 << 32):
        raise argparse.ArgumentTypeError(f"{text} is not a seed (0 to {(1 << 32) - 1})")
    return int(text)


def shard_of(text: str) -> Shard:
    """The shard that ``text`` spells as ``I/N``, such as ``2/4``. Raises ``argparse.ArgumentTypeError``."""
    index, slash, of = text.partition("/")
    plain = all(part.isascii() and part.isdecimal() and len(part) < 6 for part in (index, of))
    if slash and plain and 1 <= int(index) <= int(of):
        return Shard(int(index), int(of))
    raise argparse.ArgumentTypeError(f"{text!r} is not a shard; expected I/N with I from 1 to N, such as 2/4")


def json_file(text: str) -> Path:
    """The file that ``--json`` names. ``-`` stands for standard output, to which the command then writes nothing
    else."""
    return STDOUT if text == "-" else Path(text)


def header(text: str) -> Path:
    """The header that ``--include`` names: a path, or a name such as ``hip/hip_fp16.h`` that the compiler looks up.

    In ``candle-parity.toml`` it is not made absolute, for the same reason.
    """
    return Path(text)


@dataclass(frozen=True)
class Option:
    """One option: how its value is given, and where the value goes.

    ``flags`` are its names on the command line, the long one last. ``read`` turns a word into a value (``bool`` means
    that the flag takes no word), ``write`` turns a value back into a word. ``group`` is the heading of ``--help`` that
    it stands under, one of ``GROUPS``, and ``commands`` are the commands that have it.

    ``in_file`` says that ``candle-parity.toml`` has a key of the same name, ``pytest`` that pytest has the option as
    ``--parity-...``. A ``compiles`` option decides which sources are compiled and how; there the file and the command
    line are combined (``conformance.port.options``). A ``repeated`` option is part of the command that reproduces a
    failure. A ``recorded`` option changes verdicts and has no field of its own in a record: it is listed in
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
        """The long flag, such as ``--wave``."""
        return self.flags[-1]

    @property
    def many(self) -> bool:
        """Whether the option may be given several times; its value is a tuple then."""
        return isinstance(self.default, tuple)

    def arguments(self, prefix: str = "") -> dict[str, Any]:
        """The keyword arguments of argparse's and pytest's ``add_argument``, with ``prefix`` before the name of the
        value.

        An option that is not given has the value ``None`` and not its default, so that the file's value can take its
        place.
        """
        about: dict[str, Any] = {"dest": prefix + self.name, "help": self.help, "default": None}
        if self.read is bool:
            toggle = self.default is None and not prefix
            return about | ({"action": argparse.BooleanOptionalAction} if toggle else _constant(not self.default))
        about |= {"type": self.read} if self.read is not str else {}
        about |= {"action": "append"} if self.many else {}
        return about | ({"choices": self.choices} if self.choices else {"metavar": self.metavar})

    def args(self, value: Any) -> list[str]:
        """The words of the command line that give ``value``, such as ``["--wave", "32"]``; none for the default."""
        if value == self.default:
            return []
        if self.read is bool:  # of those with three values, None is that the file decides
            return [self.long if value is not False or self.default is True else self.long.replace("--", "--no-", 1)]
        flag, values = self.flags[0], map(self.write, value if self.many else [value])
        return [word for one in values for word in ([f"{flag}={one}"] if one.startswith("-") else [flag, one])]


def _constant(value: bool) -> dict[str, Any]:
    return {"action": "store_const", "const": value}


def option(default: Any, *flags: str, **about: Any) -> Any:
    """A dataclass field with the default ``default`` that is an option; the rest are the fields of ``Option``."""
    return field(default=default, metadata={"option": Option(flags, **about)})


def judging(default: Any, *flags: str, group: str = RUN, commands: tuple[str, ...] = JUDGING, **about: Any) -> Any:
    """An option of the commands that judge (``run``, ``replay``), unless ``commands`` says otherwise; see
    ``option``."""
    return option(default, *flags, commands=commands, group=group, **about)


def launching(default: Any, *flags: str, group: str = RUN, **about: Any) -> Any:
    """An option of the commands that launch kernels (``LAUNCHING``); see ``option``."""
    return option(default, *flags, commands=LAUNCHING, group=group, **about)


def compiling(default: Any, *flags: str, **about: Any) -> Any:
    """An option for the compiler, of the commands that compile (``COMPILING``); see ``option``."""
    return option(default, *flags, commands=COMPILING, group=COMPILATION, compiles=True, repeated=True, **about)


def reporting(default: Any, *flags: str, group: str = OUTPUT, **about: Any) -> Any:
    """An option of the commands that end in a report (``REPORTING``); see ``option``."""
    return option(default, *flags, commands=REPORTING, group=group, **about)


@dataclass(frozen=True)
class Options:
    """The base of the dataclasses whose fields are options."""

    @classmethod
    def rows(cls) -> tuple[Option, ...]:
        """The options of this class with their names and defaults, in the order of the fields."""
        options = ((one.metadata.get("option"), one) for one in fields(cls))
        return tuple(replace(row, name=one.name, default=one.default) for row, one in options if row is not None)

    @classmethod
    def of(cls, values: Mapping[str, Any], prefix: str = "") -> Self:
        """An instance from ``values``: each option's value is looked up under ``prefix`` and its name.

        An option that is absent or ``None`` there has its default. Lists become tuples.
        """
        given = ((row.name, values.get(prefix + row.name)) for row in cls.rows())
        return cls(**{name: tuple(one) if isinstance(one, list) else one for name, one in given if one is not None})
