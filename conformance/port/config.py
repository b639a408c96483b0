"""``candle-parity.toml``: what the authors of a port say of it, read and checked; docs/declaration.md has the keys.

The file lies in the tree or next to it, or is named with ``--config``. Paths in it are relative to the file. The table
``[tool.candle-parity]`` of a ``pyproject.toml`` in its place has the same keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.port import DIALECTS
from conformance.port.sources import SourceError
from conformance.reading import read_text, shortened
from conformance.runtimes import NAMES

OPTIONS_FILE = "candle-parity.toml"
PYPROJECT = "pyproject.toml"

_TABLE = "tool.candle-parity"
_MOST_BYTES = 16 << 10  # tomllib takes a time that grows with the square of a dotted key
_MOST_OF_PYPROJECT, _LONGEST_LINE = 64 << 10, 4 << 10  # no longer than for the former

_EXPRESSION = "an integer or an expression in quotes"


@dataclass(frozen=True)
class KnownFailure:
    """A failure that the authors know: of which kernels, in which cases (all), where (everywhere), why, and a link."""

    kernels: str
    reason: str
    case: str | None = None
    runtime: str | None = None
    arch: str | None = None
    link: str | None = None


@dataclass(frozen=True)
class GeometryRow:
    """Grid, block (x, y, z) and dynamic shared memory that the port launches ``kernels`` with, as expressions; ``None``
    where they are Candle's."""

    kernels: str
    grid: tuple[str, str, str] | None = None
    block: tuple[str, str, str] | None = None
    shared: str | None = None


@dataclass(frozen=True)
class Gate:
    """What a run of every kernel has to come to, where the command line does not say it."""

    fail_under: float | None = None
    strict: bool = False
    baseline: Path | None = None
    fail_under_launchers: float | None = None


@dataclass(frozen=True)
class Config:
    """The content of one file, with paths made absolute; nothing but its form is checked."""

    file: Path
    kernels: Path | None = None
    runtime: str | None = None
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    forced_includes: tuple[str, ...] = ()
    dialect: str | None = None
    std: str | None = None
    names: tuple[tuple[str, str], ...] = ()
    fixes: tuple[str, ...] = ()
    known_failures: tuple[KnownFailure, ...] = ()
    launch: tuple[GeometryRow, ...] = ()
    gate: Gate = Gate()


def config_beside(kernels: Path) -> Config | None:
    """The file of the tree at ``kernels``: in the folder (the file's folder, for a single file), else next to it.

    Raises ``SourceError``, as ``read_config``.
    """
    path = kernels.resolve()
    folders = [path.parent] if path.is_file() else [path, path.parent]
    return config_in(folders)


def config_in(folders: Iterable[Path]) -> Config | None:
    """What the first of ``folders`` with such a file declares; raises ``SourceError``, as ``read_config``."""
    file = next(filter(None, map(config_file_in, folders)), None)
    return None if file is None else read_config(file)


def config_file_in(folder: Path) -> Path | None:
    """The file in ``folder`` that declares a port, as ``folder`` is spelled; ``None`` where there is none.

    Raises ``SourceError`` where there are two, and for a ``pyproject.toml`` that names us and cannot be read.
    """
    own, shared = folder / OPTIONS_FILE, folder / PYPROJECT
    declared = _has_table(shared)
    if own.exists() and declared:
        raise SourceError(f"{own} and [{_TABLE}] in {shared} both declare the port; keep one of them")
    return own if own.exists() else shared if declared else None


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
    shared = file.name == PYPROJECT
    try:
        text = read_text(file, _MOST_OF_PYPROJECT if shared else _MOST_BYTES)
        if shared and any(len(line) > _LONGEST_LINE for line in text.splitlines()):
            raise SourceError(f"{file}: has a line of more than 4 KiB; declare the port in a {OPTIONS_FILE} instead")
        return tomllib.loads(text)
    except OSError as error:
        raise SourceError(f"{file}: cannot be read ({error.strerror})") from None
    except RecursionError:
        raise SourceError(f"{file}: cannot be read as TOML (nested too deep)") from None
    except ValueError as error:  # no UTF-8, no TOML, and an integer of more than 4,300 digits
        raise SourceError(f"{file}: cannot be read as TOML ({shortened(str(error))})") from None


def read_config(file: Path) -> Config:
    """The content of ``file``; raises ``SourceError`` for one that cannot be read or is not TOML, an unknown key, and a
    value of the wrong kind, naming file and key."""
    content: Any = _toml(file)
    where = str(file)
    if file.name == PYPROJECT:
        content = _own_table(content)
        where = f"{file} [{_TABLE}]"
        if not isinstance(content, dict):
            raise SourceError(f"{file}: has no table [{_TABLE}]; add one, or name a {OPTIONS_FILE}")
    values = _checked(content, _KEYS, where)
    base = file.resolve().parent
    if "kernels" in values:
        values["kernels"] = base / values["kernels"]
    gate = values.get("gate", Gate())
    if gate.baseline is not None:
        values["gate"] = replace(gate, baseline=base / gate.baseline)
    values["include_dirs"] = tuple(base / name for name in values.get("include_dirs", ()))
    return Config(file.resolve(), **values)


def _checked(content: Mapping[str, Any], keys: Mapping[str, Callable[[Any, str], Any]], where: str) -> dict[str, Any]:
    """The values of a table by their keys; raises ``SourceError``."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        if key not in keys:
            raise SourceError(f"{where}: unknown key {shortened(key)!r}; expected one of {', '.join(keys)}")
        found[key] = keys[key](value, f"{where}: {key}")
    return found


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


def _one_of(known: tuple[str, ...]) -> Callable[[Any, str], str]:
    def read(value: Any, where: str) -> str:
        if isinstance(value, str) and value in known:
            return value
        raise SourceError(f"{where} must be one of {', '.join(known)}, not {_shown(value)}")

    return read


def _percentage(value: Any, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        return float(value)
    raise SourceError(f"{where} must be a percentage, 0 to 100")


def _flag(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise SourceError(f"{where} must be true or false, not {_shown(value)}")


def _gate(value: Any, where: str) -> Gate:
    if not isinstance(value, dict):
        raise SourceError(f"{where} must be a table [gate], not {_shown(value)}")
    keys = {"fail_under": _percentage, "fail_under_launchers": _percentage, "strict": _flag, "baseline": _path}
    return Gate(**_checked(value, keys, where))


def _path(value: Any, where: str) -> Path:
    return Path(_string(value, where))


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


_KEYS: Mapping[str, Callable[[Any, str], Any]] = {
    "include_dirs": _strings,
    "defines": _strings,
    "forced_includes": _strings,
    "dialect": _one_of(DIALECTS),
    "undefines": _strings,
    "std": _string,
    "kernels": _string,
    "runtime": _one_of(NAMES),
    "names": _names,
    "fixes": _strings,
    "gate": _gate,
    "known_failures": _rows(
        KnownFailure,
        {
            **{key: _string for key in ("kernels", "reason", "case", "arch", "link")},
            "runtime": _one_of(NAMES),
        },
        ("kernels", "reason"),
    ),
    "launch": _rows(
        GeometryRow,
        {"kernels": _string, "grid": _size, "block": _size, "shared": _expression},
        ("kernels",),
        ("grid", "block", "shared"),
    ),
}


def _shown(value: Any) -> str:
    # Of the others no repr(): it may be too deep or too long for it.
    return repr(shortened(value)) if isinstance(value, str) else f"a value of type {type(value).__name__}"
