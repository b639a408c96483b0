"""``candle-parity.toml``: what the authors of a port say of it, read and checked; docs/declaration.md has the keys.

The file lies in the tree or next to it, or is named with ``--config``. Paths in it are relative to the file. The table
``[tool.candle-parity]`` of a ``pyproject.toml`` in its place has the same keys.
"""

from __future__ import annotations

import os
import re
import tomllib
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.adapter import AdapterRow, OwnParameter, OwnValue
from conformance.files import kernels_path
from conformance.geometry import GeometryRow
from conformance.option import Option, percentage
from conformance.own import OwnFolders
from conformance.port.sources import SourceError
from conformance.reading import read_text, shortened
from conformance.settings import NO_GATE, NO_SETTINGS, RUN_ON, Gate, Settings

OPTIONS_FILE = "candle-parity.toml"
PYPROJECT = "pyproject.toml"

_TABLE = "tool.candle-parity"
_MOST_BYTES = 64 << 10
_ANY_LINES, _LONGEST_LINE = 16 << 10, 4 << 10
"""tomllib takes a time that grows with the square of a dotted key, which stands in one line. So a file may have either
``_ANY_LINES`` bytes, or ``_MOST_BYTES`` without a line of more than ``_LONGEST_LINE`` characters."""

_PATHS = (Path, kernels_path)
"""What reads a word that is a path: in the file it is relative to the file's folder."""

_MISNAMED = re.compile(r"\W*candle[-_ .]?parity[-_ .]*(toml|ya?ml)(\.txt)?", re.IGNORECASE)

_EXPRESSION = "an integer or an expression in quotes"


@dataclass(frozen=True)
class KnownFailure:
    """A failure that the port declares: a row ``[[known_failures]]``.

    ``kernels`` is a pattern. ``case``, ``runtime`` and ``arch`` restrict the row; ``None`` stands for all. ``reason``
    says why it fails, ``link`` is an address about it.
    """

    kernels: str
    reason: str
    case: str | None = None
    runtime: str | None = None
    arch: str | None = None
    link: str | None = None


@dataclass(frozen=True)
class Excluded:
    """Kernels and launchers that the port does not have, and why: a row ``[[exclude]]``."""

    kernels: str
    reason: str


@dataclass(frozen=True)
class Config:
    """The content of one ``candle-parity.toml``. Paths are absolute. Only the form of the content was checked.

    ``settings`` are the options that the file gives. ``forced_includes`` in them are spelled as in the file.
    """

    file: Path
    settings: Settings = NO_SETTINGS
    gate: Gate = NO_GATE
    names: tuple[tuple[str, str], ...] = ()
    fixes: tuple[str, ...] = ()
    candle_before: str | None = None
    known_failures: tuple[KnownFailure, ...] = ()
    launch: tuple[GeometryRow, ...] = ()
    exclude: tuple[Excluded, ...] = ()
    adapter: tuple[AdapterRow, ...] = ()
    own: OwnFolders | None = None


def config_beside(kernels: Path) -> Config | None:
    """The declaration of the tree at ``kernels``: in the folder (for a single file: its folder), else in the folder
    above.

    ``None`` where there is none. Raises ``SourceError`` as ``read_config``.
    """
    return config_in(folders_of(kernels))


def config_in(folders: Iterable[Path]) -> Config | None:
    """The declaration in the first of ``folders`` that has one; ``None`` for none. Raises ``SourceError`` as
    ``read_config``."""
    file = next(filter(None, map(config_file_in, folders)), None)
    return None if file is None else read_config(file)


def config_file_in(folder: Path) -> Path | None:
    """The file in ``folder`` that declares a port; ``None`` where there is none.

    Raises ``SourceError`` where there are two, and for a ``pyproject.toml`` that names us and cannot be read.
    """
    own, shared = folder / OPTIONS_FILE, folder / PYPROJECT
    declared = _has_table(shared)
    if own.exists() and declared:
        raise SourceError(f"{own} and [{_TABLE}] in {shared} both declare the port; keep one of them")
    return own if own.exists() else shared if declared else None


def misnamed_in(folders: Iterable[Path]) -> list[Path]:
    """The files in ``folders`` that were probably meant as the declaration and that nothing reads, by their names:
    ``candle_parity.toml``, ``.candle-parity.toml``, ``Candle-Parity.toml``, ``candle-parity.yml``."""
    misnamed = []
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        misnamed += [folder / name for name in names if name != OPTIONS_FILE and _MISNAMED.fullmatch(name)]
    return misnamed


def unread(config: Config | None, folders: Iterable[Path]) -> list[str]:
    """A sentence for each file of ``misnamed_in`` in ``folders``.

    Raises ``SourceError`` where there is no declaration beside it (``config`` is ``None``), as what the authors declare
    would be missing from the verdict.
    """
    sentences = [
        f"{file} is not read: a port is declared in a file called {OPTIONS_FILE}, or in {PYPROJECT}"
        for file in misnamed_in(folders)
    ]
    if sentences and config is None:
        raise SourceError(f"{sentences[0]}; rename it, or remove it")
    return [f"{text}; {config.file.name} is read" for text in sentences if config is not None]


def folders_of(kernels: Path) -> list[Path]:
    """The folders in which the tree at ``kernels`` may be declared: the folder itself (for a single file: its folder),
    then the one above."""
    path = kernels.resolve()
    return [path.parent] if path.is_file() else [path, path.parent]


def _has_table(file: Path) -> bool:
    """Whether ``file`` is a ``pyproject.toml`` with our table; one that does not name us is not parsed, as it is some
    other program's."""
    try:
        text = read_text(file, 64 << 20)
    except (OSError, ValueError):
        return False
    return "candle-parity" in text and _own_table(_toml(file)) is not None


def _own_table(content: Mapping[str, Any]) -> Any:
    tools = content.get("tool")
    return tools.get("candle-parity") if isinstance(tools, dict) else None


def _toml(file: Path) -> dict[str, Any]:
    try:
        text = read_text(file, _MOST_BYTES)
    except OSError as error:
        raise SourceError(f"{file}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # no UTF-8
        raise SourceError(f"{file}: cannot be read as TOML ({shortened(str(error))})") from None
    if any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        if file.name == PYPROJECT:
            raise SourceError(f"{file}: has a line of more than 4 KiB; declare the port in a {OPTIONS_FILE} instead")
        if len(text) > _ANY_LINES:
            raise SourceError(f"{file}: is larger than 16 KiB and has a line of more than 4 KiB; break that line")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SourceError(f"{file}: cannot be read as TOML (nested too deep)") from None
    except ValueError as error:  # no TOML, and an integer of more than 4,300 digits
        raise SourceError(f"{file}: cannot be read as TOML ({shortened(str(error))})") from None


def read_config(file: Path) -> Config:
    """The content of ``file``. Raises ``SourceError``, which names file and key.

    It does so for a file that cannot be read or is not TOML, for an unknown key, and for a value of the wrong kind.
    """
    content: Any = _toml(file)
    where = str(file)
    if file.name == PYPROJECT:
        content = _own_table(content)
        where = f"{file} [{_TABLE}]"
        if not isinstance(content, dict):
            raise SourceError(f"{file}: has no table [{_TABLE}]; add one, or name a {OPTIONS_FILE}")
    values = _checked(content, _KEYS, where)
    base = file.resolve().parent
    folders = values.pop("own", None)
    own = {} if folders is None else {key: base / folder for key, folder in folders.items()}
    return Config(
        file.resolve(),
        Settings(**_placed(_SETTINGS, values, base)),
        Gate(**_placed(_GATE, values.get("gate", {}), base)),
        **{key: value for key, value in values.items() if key in _DECLARED},
        own=OwnFolders(file.resolve(), **own) if own else None,
    )


def _placed(rows: Sequence[Option], values: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """The values of ``rows`` among ``values``; paths are relative to ``base``."""
    placed = {}
    for row in rows:
        if row.name in values:
            value, read = values[row.name], base.joinpath if row.read in _PATHS else row.read
            placed[row.name] = tuple(map(read, value)) if row.many else read(value) if isinstance(value, str) else value
    return placed


def _checked(content: Mapping[str, Any], keys: Mapping[str, Callable[[Any, str], Any]], where: str) -> dict[str, Any]:
    """The values of a table by their keys; raises ``SourceError``."""
    checked: dict[str, Any] = {}
    for key, value in content.items():
        if key not in keys:
            raise SourceError(f"{where}: unknown key {shortened(key)!r}; expected one of {', '.join(keys)}")
        checked[key] = keys[key](value, f"{where}: {key}")
    return checked


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise SourceError(f"{where} must be a string, not {_shown(value)}")
    if not value or "\0" in value:
        raise SourceError(f"{where} must be a string {'without NUL' if value else 'that is not empty'}")
    return value


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise SourceError(f"{where} must be a list of strings, not {_shown(value)}")


def _one_of(known: tuple[Any, ...]) -> Callable[[Any, str], Any]:
    def read(value: Any, where: str) -> Any:
        if type(value) in set(map(type, known)) and value in known:
            return value
        raise SourceError(f"{where} must be one of {', '.join(map(str, known))}, not {_shown(value)}")

    return read


def _percentage(value: Any, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        return float(value)
    raise SourceError(f"{where} must be a percentage, 0 to 100")


def _flag(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise SourceError(f"{where} must be true or false, not {_shown(value)}")


def _word(read: Callable[[str], Any]) -> Callable[[Any, str], Any]:
    """What ``read`` makes of a word of the command line, for a string or a number of the file."""

    def of_file(value: Any, where: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise SourceError(f"{where} must be a string or a number, not {_shown(value)}")
        try:
            return read(shortened(str(value)))
        except ArgumentTypeError as error:
            raise SourceError(f"{where}: {error}") from None

    return of_file


def _reader_of(row: Option) -> Callable[[Any, str], Any]:
    """What reads the value of an option in the file; one that is the default needs no key."""
    if row.choices:
        return _one_of(tuple(choice for choice in row.choices if choice != row.default))
    if row.many:
        return _strings
    if row.read in _PATHS:
        return _string
    return {bool: _flag, str: _string, percentage: _percentage}.get(row.read) or _word(row.read)


def _gate(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SourceError(f"{where} must be a table [gate], not {_shown(value)}")
    return _checked(value, {row.name: _reader_of(row) for row in _GATE}, where)


def _own(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise SourceError(f"{where} must be a table [own] with folders, not {_shown(value)}")
    keys = ("specs", "reference", "families", "dtypes")
    folders: dict[str, str] = _checked(value, dict.fromkeys(keys, _string), where)
    for key in ("specs", "reference"):
        if key not in folders:
            raise SourceError(f'{where} has no {key}; add {key} = "FOLDER" under [own]')
    return folders


def _names(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise SourceError(f'{where} must be a table of lines "Candle\'s name" = "the port\'s", not {_shown(value)}')
    return tuple((key, _string(name, f"{where}: {shortened(key)!r}")) for key, name in value.items())


def _expression(value: Any, where: str) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63):
        return str(value)
    raise SourceError(f"{where} must be {_EXPRESSION}, not {_shown(value)}")


def _size(value: Any, where: str) -> tuple[str, str, str]:
    """x, y and z; those that are not given are 1."""
    given = value if isinstance(value, list) else [value]
    if not 1 <= len(given) <= 3:
        raise SourceError(f"{where} must be a list of one to three sizes, x, y and z, not of {len(given)}")
    x, y, z = [*(_expression(one, where) for one in given), "1", "1"][:3]
    return x, y, z


def _rows(
    make: Callable[..., Any],
    keys: Mapping[str, Callable[[Any, str], Any]],
    required: tuple[str, ...],
    one_of: tuple[str, ...] = (),
) -> Callable[[Any, str], tuple[Any, ...]]:
    def read(value: Any, where: str) -> tuple[Any, ...]:
        if not (isinstance(value, list) and all(isinstance(row, dict) for row in value)):
            name = f"{_TABLE}." * (f"[{_TABLE}]: " in where) + where.rpartition(" ")[2]
            raise SourceError(f"{where} must be tables, each under its [[{name}]], not {_shown(value)}")
        made = []
        for number, row in enumerate(value, 1):
            values = _checked(row, keys, f"{where}, row {number}")
            for key in required:
                if key not in values:
                    raise SourceError(f"{where}, row {number} has no {key}; add {key} = ...")
            if one_of and not values.keys() & set(one_of):
                raise SourceError(f"{where}, row {number} changes nothing; add one of {', '.join(one_of)}")
            made.append(make(**values))
        return tuple(made)

    return read


def _value(table: Mapping[str, Any], where: str) -> OwnValue:
    """A value of a parameter, or a field of a struct."""
    texts, expressions = ("type", "array", "scalar", "bits"), ("value", "first", "count", "at")
    keys = {key: _string for key in texts} | {key: _expression for key in expressions}
    found = _checked(table, {**keys, "room": _room}, where)
    if frozenset(found) - {"first", "room"} not in _VALUES or (
        "count" not in found and {"first", "room"} & found.keys()
    ):
        raise SourceError(
            f"{where} must have a type, and one of value, scalar, bits, array and at, or array and count (with first "
            f"and room if need be), not {' and '.join(found) or 'nothing'}"
        )
    return OwnValue(**found)


_VALUES = {
    frozenset(("type", *keys)) for keys in (("value",), ("scalar",), ("bits",), ("array", "at"), ("array", "count"))
}
"""The keys that a value has, but for ``first`` and ``room``, which go with ``count``."""


def _field(value: Any, where: str) -> OwnValue:
    """A field of a struct: the name of one of Candle's arguments, or a value."""
    return OwnValue(candle=_string(value, where)) if isinstance(value, str) else _value(value, where)


def _room(value: Any, where: str) -> int:
    if type(value) is int and 1 <= value <= 1024:
        return value
    raise SourceError(f"{where} must be a number of elements, 1 to 1024")


def _parameters(value: Any, where: str) -> tuple[OwnParameter, ...]:
    if not isinstance(value, list) or not value:
        raise SourceError(f"{where} must be a list of the port's parameters, in order")
    found = []
    for number, one in enumerate(value, 1):
        place = f"{where}, parameter {number}"
        if isinstance(one, str):
            found.append(OwnParameter(candle=_string(one, place)))
        elif isinstance(one, dict) and isinstance(one.get("struct"), list) and one["struct"] and len(one) == 1:
            fields = enumerate(one["struct"], 1)
            if not all(isinstance(field, dict | str) for field in one["struct"]):
                raise SourceError(
                    f"{place}: struct must be a list of names of Candle's arguments, and of tables, each with a type "
                    "and value or array"
                )
            found.append(OwnParameter(struct=tuple(_field(field, f"{place}, field {at}") for at, field in fields)))
        elif isinstance(one, dict):
            found.append(OwnParameter(value=_value(one, place)))
        else:
            raise SourceError(f"{place} must be the name of an argument of Candle's, or a table, not {_shown(one)}")
    return tuple(found)


_SETTINGS, _GATE = ([row for row in kind.rows() if row.in_file] for kind in (Settings, Gate))
_DECLARED: Mapping[str, Callable[[Any, str], Any]] = {
    "own": _own,
    "names": _names,
    "fixes": _strings,
    "candle_before": _string,
    "known_failures": _rows(
        KnownFailure,
        {**{key: _string for key in ("kernels", "reason", "case", "arch", "link")}, "runtime": _one_of(RUN_ON)},
        ("kernels", "reason"),
    ),
    "launch": _rows(
        GeometryRow,
        {"kernels": _string, "grid": _size, "block": _size, "shared": _expression, "when": _string},
        ("kernels",),
        ("grid", "block", "shared", "when"),
    ),
    "adapter": _rows(AdapterRow, {"kernels": _string, "params": _parameters}, ("kernels", "params")),
    "exclude": _rows(Excluded, {"kernels": _string, "reason": _string}, ("kernels", "reason")),
}
_KEYS = {**{row.name: _reader_of(row) for row in _SETTINGS}, "gate": _gate, **_DECLARED}


def _shown(value: Any) -> str:
    # Of the others no repr(): it may be too deep or too long for it.
    return repr(shortened(value)) if isinstance(value, str) else f"a value of type {type(value).__name__}"
