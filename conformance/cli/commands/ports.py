"""``candle-parity ports``: judges the ports of a list, each at its commit, and names them in their records."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cli.gate import BAD_INPUT, MET
from conformance.cli.usage import UsageError
from conformance.files import own_module
from conformance.port.config import config_beside
from conformance.reading import read_text, shortened
from conformance.record import Port, read_record, write_record, write_text
from conformance.record.commits import commit_of

_OURS = {"name": str, "repository": str, "commit": str, "kernels": str, "runs": list}
_NAME = re.compile(r"\w[\w.-]{0,60}")


@dataclass(frozen=True)
class _Listed:
    """A row of the list; ``declares`` are the keys that go into the port's ``candle-parity.toml``."""

    name: str
    repository: str
    commit: str
    kernels: str
    runs: tuple[str, ...]
    declares: Mapping[str, Any]


def command(arguments: argparse.Namespace) -> int:
    listed = _read(arguments.list)
    unknown = set(arguments.only or ()) - {port.name for port in listed}
    if unknown:
        raise UsageError(f"{arguments.list}: has no port {min(unknown)!r}; it has {', '.join(p.name for p in listed)}")
    chosen = [port for port in listed if not arguments.only or port.name in arguments.only]
    for port in chosen:
        if port.declares and (arguments.checkouts / f"{port.name}.toml").resolve() == arguments.list.resolve():
            raise UsageError(f"{arguments.list}: the declaration of port {port.name!r} would take its place; move it")
    told = {port.name: _words(port, arguments.checkouts) for port in chosen}
    arguments.out.mkdir(exist_ok=True)
    lost = []
    for port, run in ((one, run) for one in chosen for run in one.runs):
        file = arguments.out / f"{port.name}.{re.sub(r'[^a-z0-9]+', '-', run.replace('--', '')).strip('-')}.json.xz"
        print(f"{port.name}: {run}", flush=True)
        if not _judged(port, [*told[port.name], *shlex.split(run)], arguments.checkouts, file.resolve()):
            lost.append(file.name)
    if lost:
        print(f"candle-parity: no record of {', '.join(lost)}; what is above says why", file=sys.stderr)
    return BAD_INPUT if lost else MET


def _read(path: Path) -> list[_Listed]:
    """The rows of the list; raises ``UsageError`` for one that is not as docs/board.md has it."""
    try:
        rows = tomllib.loads(read_text(path)).get("port")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise UsageError(f"{path}: cannot be read as TOML ({shortened(str(error))})") from None
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{path}: lists no port; add a [[port]] with {', '.join(_OURS)}")
    found = list(_rows(path, rows))
    if len({port.name for port in found}) < len(found):
        raise UsageError(f"{path}: two ports have the same name")
    return found


def _rows(path: Path, rows: list[Any]) -> Iterator[_Listed]:
    for number, row in enumerate(rows, 1):
        where = f"{path}: port {number}"
        for key, kind in _OURS.items():
            if not isinstance(row, dict) or not isinstance(row.get(key), kind) or not row[key]:
                raise UsageError(f"{where}: {key} must be a {'list' if kind is list else 'text'} that is not empty")
        if not _NAME.fullmatch(row["name"]) or not row["repository"].startswith("https://"):
            raise UsageError(f"{where}: name must be letters, digits, '.' and '-', and repository an https:// address")
        declares = {key: value for key, value in row.items() if key not in _OURS}
        yield _Listed(**{key: row[key] for key in _OURS if key != "runs"}, runs=tuple(row["runs"]), declares=declares)


def _words(port: _Listed, checkouts: Path) -> list[str]:
    """What tells ``run`` the port: its own declaration, else a file next to the checkouts that is written here.

    Raises ``UsageError`` where the checkout is absent or at another commit.
    """
    kernels = checkouts / port.kernels
    again = f"git clone {port.repository} {port.name} && git -C {port.name} checkout {port.commit}"
    if not kernels.exists():
        raise UsageError(f"{kernels}: there is no such folder; in {checkouts}: {again}")
    found = commit_of(kernels)
    if found is None or not port.commit.startswith(found):
        raise UsageError(f"{kernels}: is at {found or 'no commit'}, not at {port.commit[:12]}; in {checkouts}: {again}")
    own = config_beside(kernels)
    if own is not None and port.declares:
        raise UsageError(f"{own.file} declares the port; leave {', '.join(port.declares)} out of its row in the list")
    if not port.declares:
        return ["--kernels", port.kernels]
    lines = [f"{key} = {_toml(value)}" for key, value in {"kernels": port.kernels, **port.declares}.items()]
    write_text(checkouts / f"{port.name}.toml", "\n".join(lines) + "\n")
    return ["--config", f"{port.name}.toml"]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _judged(port: _Listed, words: list[str], checkouts: Path, file: Path) -> bool:
    """Whether the run left a record, which then names the port."""
    file.unlink(missing_ok=True)
    subprocess.run([*own_module("conformance"), "run", "-q", *words, "--json", str(file)], cwd=checkouts, check=False)
    if not file.exists():
        return False
    record = read_record(file)
    about = Port(name=port.name, repository=port.repository, commit=port.commit)
    write_record(record.model_copy(update={"run": record.run.model_copy(update={"port": about})}), file)
    return True
