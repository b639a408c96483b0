"""``candle-parity ports``: judge the ports of a list (docs/board.md).

Each is judged at the commit that the list gives, and its record names it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cache import locked
from conformance.cli.usage import CommandParser
from conformance.errors import UsageError
from conformance.files import own_module
from conformance.option import CHOICE, OUTPUT, RUN
from conformance.port.config import config_beside
from conformance.reading import read_text, shortened
from conformance.record import Port, read_record, write_record, write_text
from conformance.record.commits import SHOWN, whole_commit_of
from conformance.report.again import fetched, is_listed
from conformance.session.gate import BAD_INPUT, MET

_OURS = {"name": str, "repository": str, "commit": str, "kernels": str, "runs": list}

_OPTIONS = (
    *("--runtime", "--wave", "--arch", "--perturb", "--order", "--compiler", "--compile-timeout", "--seed-salt"),
    *("--module", "--jobs"),
)
"""What a run of a row may be given, each with a value: how kernels are judged, never which, by what guard or to where.
A row comes from whoever proposes it."""

_VALUE = re.compile(r"[\w.,:*?+-]+", re.ASCII)
_PATTERN = re.compile(r"[\w*?\[][\w*?\[\]().,=-]*", re.ASCII)


@dataclass(frozen=True)
class _Listed:
    """A row of the list; ``declares`` are the keys that go into the port's ``candle-parity.toml``."""

    name: str
    repository: str
    commit: str
    kernels: str
    runs: tuple[str, ...]
    declares: Mapping[str, Any]


EXAMPLES = (
    (
        "candle-parity ports ports.toml --checkouts checkouts --out records --fetch",
        "fetch the ports of a list at their commits, and judge them",
    ),
    ("candle-parity ports ports.toml --checkouts checkouts --out records --only mine", "judge one of them again"),
)
EXIT_CODES = (
    "0 every run left a record, whatever its verdict; 2 a run left none, or bad usage or bad input, such as a checkout "
    "at another commit than the list's"
)


def options(parser: CommandParser) -> None:
    parser.description = (
        "Judges each port of a list at the commit that the list names, by each of the runs that it asks for, and "
        "writes a record for each run, from which board makes a page. docs/board.md has the format of the list."
    )
    choice = parser.group(CHOICE)
    parser.add_argument(
        "list", type=Path, metavar="LIST", help="a TOML file with a table [[port]] for each port, such as ports.toml"
    )
    choice.add_argument(
        "--checkouts",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder of the ports' repositories, each in a folder with the port's name",
    )
    choice.add_argument(
        "--only", action="append", metavar="NAME", help="judge only the port of this name; may be given several times"
    )
    parser.group(RUN).add_argument(
        "--fetch",
        action="store_true",
        help="first fetch, by git over https, the ports that are not among the checkouts",
    )
    parser.group(OUTPUT).add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder for the records, which is made where it is missing",
    )


def command(arguments: argparse.Namespace) -> int:
    listed = _read(arguments.list)
    unknown = set(arguments.only or ()) - {port.name for port in listed}
    if unknown:
        raise UsageError(f"{arguments.list}: has no port {min(unknown)!r}; it has {', '.join(p.name for p in listed)}")
    chosen = [port for port in listed if not arguments.only or port.name in arguments.only]
    for port in chosen:
        if port.declares and (arguments.checkouts / f"{port.name}.toml").resolve() == arguments.list.resolve():
            raise UsageError(f"{arguments.list}: the declaration of port {port.name!r} would overwrite it; move it")
    files = _files(arguments.list, chosen, arguments.out)
    if arguments.fetch:
        for port in chosen:
            _fetch(port, arguments.checkouts)
    told = {port.name: _args_of(port, arguments.checkouts) for port in chosen}
    arguments.out.mkdir(exist_ok=True)
    lost = []
    for file, (port, run) in files.items():
        print(f"{port.name}: {run}", flush=True)
        if not _judged(port, [*told[port.name], *shlex.split(run)], arguments.checkouts, file):
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
    ports = list(_rows(path, rows))
    if len({port.name for port in ports}) < len(ports):
        raise UsageError(f"{path}: two ports have the same name")
    return ports


def _rows(path: Path, rows: list[Any]) -> Iterator[_Listed]:
    for number, row in enumerate(rows, 1):
        where = f"{path}: port {number}"
        for key, kind in _OURS.items():
            if not isinstance(row, dict) or not isinstance(row.get(key), kind) or not row[key]:
                raise UsageError(f"{where}: {key} must be a {'list' if kind is list else 'text'} that is not empty")
        if not is_listed(row["name"], row["repository"], row["commit"]):
            raise UsageError(
                f"{where}: name must be letters, digits, '.' and '-', repository an https:// address, and commit a "
                "whole one of 40 digits from 0 to f"
            )
        kernels = Path(row["kernels"])
        if kernels.parts[0] != row["name"] or ".." in kernels.parts:
            raise UsageError(f"{where}: kernels must be a path in the port's own folder, {row['name']}/...")
        for run in row["runs"]:
            _check_run(where, run)
        declares = {key: value for key, value in row.items() if key not in _OURS}
        yield _Listed(**{key: row[key] for key in _OURS if key != "runs"}, runs=tuple(row["runs"]), declares=declares)


def _check_run(where: str, run: Any) -> None:
    """Raises ``UsageError`` for a run that is not options of ``_OPTIONS`` with their values, and patterns."""
    try:
        args = shlex.split(run) if isinstance(run, str) and run.isprintable() else [""]
    except ValueError:
        args = [""]
    while args:
        word = args.pop(0)
        option, equals, value = word.partition("=")
        if option in _OPTIONS:
            value = value if equals else args.pop(0) if args else ""
            good = _VALUE.fullmatch(value) is not None and (bool(equals) or not value.startswith("-"))
        else:
            good = _PATTERN.fullmatch(word) is not None
        if not good:
            raise UsageError(
                f"{where}: runs: {shortened(repr(run))}: {shortened(repr(word))} is not taken; a run is kernel "
                f"patterns and, each with a value, {', '.join(_OPTIONS)}"
            )


def _files(path: Path, chosen: list[_Listed], out: Path) -> dict[Path, tuple[_Listed, str]]:
    """Each run with the file of its record; raises ``UsageError`` where two would write the same one."""
    runs: dict[Path, tuple[_Listed, str]] = {}
    for port, run in ((one, run) for one in chosen for run in one.runs):
        slug = re.sub(r"[^a-z0-9]+", "-", run.replace("--", "").lower()).strip("-") or "run"
        file = (out / f"{port.name}.{slug}.json.xz").absolute()
        if file in runs:
            other, same = runs[file]
            raise UsageError(
                f"{path}: {other.name}: {same} and {port.name}: {run} would both write {file.name}; leave one out"
            )
        runs[file] = port, run
    return runs


def _fetch(port: _Listed, checkouts: Path) -> None:
    """The port at its commit, alone, in a new folder among the checkouts; one that is there is left as it is.

    Raises ``UsageError`` where git cannot fetch it.
    """
    folder = checkouts / port.name
    if os.path.lexists(folder):
        return
    # An https address may lead elsewhere, and no hook of a template is to run.
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": os.environ.get("GIT_ALLOW_PROTOCOL", "https")}
    git = ["git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]
    try:
        for command in (
            [*git, "init", "--quiet", "--template=", "--", str(folder)],
            [*git, "-C", str(folder), "fetch", "--quiet", "--depth", "1", "--", port.repository, port.commit],
            [*git, "-C", str(folder), "checkout", "--quiet", "--detach", port.commit],
        ):
            subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{port.name}: {port.repository} at {port.commit} cannot be fetched ({error})") from None


def _args_of(port: _Listed, checkouts: Path) -> list[str]:
    """What tells ``run`` the port: its own declaration, else a file next to the checkouts that is written here.

    Raises ``UsageError`` where the checkout is absent or at another commit.
    """
    kernels, folder = checkouts / port.kernels, checkouts / port.name
    again = fetched(port.name, port.repository, port.commit)
    if not kernels.exists():
        raise UsageError(f"{kernels}: there is no such folder; in {checkouts}: {again}")
    if not kernels.resolve().is_relative_to(folder.resolve()) or folder.is_symlink():
        raise UsageError(f"{kernels}: leads out of the checkout {folder}; a port's kernels lie in its own repository")
    found = whole_commit_of(kernels)
    if found is None or found != (port.commit, False):
        at = "no commit" if found is None else found[0][:SHOWN] + ("-dirty" if found[1] else "")
        raise UsageError(f"{kernels}: is at {at}, not at {port.commit[:SHOWN]}; in {checkouts}: {again}")
    own = config_beside(kernels)
    if own is not None and port.declares:
        raise UsageError(f"{own.file} declares the port; leave {', '.join(port.declares)} out of its row in the list")
    if not port.declares:
        return ["--kernels", port.kernels]
    lines = [line for key, value in {"kernels": port.kernels, **port.declares}.items() for line in _lines(key, value)]
    declaration = checkouts / f"{port.name}.toml"
    if declaration.is_symlink():
        raise UsageError(f"{declaration}: is a symbolic link, and the port's declaration goes there; remove it")
    write_text(declaration, "\n".join(lines) + "\n")
    return ["--config", declaration.name]


def _lines(key: str, value: Any) -> list[str]:
    """A key of the declaration, each name and each row in a line of its own: a declaration has no very long lines."""
    head = json.dumps(key)
    if isinstance(value, dict):
        return [f"{head}.{json.dumps(name)} = {_toml(one)}" for name, one in value.items()]
    if isinstance(value, list):
        return [f"{head} = [", *(f"  {_toml(one)}," for one in value), "]"]
    return [f"{head} = {_toml(value)}"]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _judged(port: _Listed, args: list[str], checkouts: Path, file: Path) -> bool:
    """Whether the run left a record, which then names the port. Raises ``UsageError`` while another one writes it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.with_suffix(".lock"), 0.0) as ours:
        if not ours:
            raise UsageError(f"{file}: another candle-parity ports is writing it; wait for it, or give another --out")
        file.unlink(missing_ok=True)
        run = [*own_module("conformance"), "run", "-q", *args, "--json", str(file)]
        subprocess.run(run, cwd=checkouts, check=False)
        if not file.exists():
            return False
        record = read_record(file)
        about = Port(name=port.name, repository=port.repository, commit=port.commit)
        write_record(record.model_copy(update={"run": record.run.model_copy(update={"port": about})}), file)
        return True
