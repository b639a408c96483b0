"""What a command may write to: one rule for every option that names an output, asked before anything is read or judged.

An output is a file in a folder that exists, and neither a folder, nor a symbolic link, nor a file that the command
reads, nor another output. Devices, pipes and open descriptors (``/dev/stdout``, ``/dev/fd/3``) are written to as they
stand. A tree of a stranger may hold a link under any name; it must not decide what is overwritten.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import UsageError
from conformance.files import kernels_folder, spec_folder, traces_folder
from conformance.option import COMPILING
from conformance.report.files import report_files
from conformance.writing import discard, is_replaced

OWN_FOLDER = ".parity"
"""Where our files for CI services write to, in the working directory: it is made where it does not exist."""

_FOLDERS = {
    "build": ("out", "--out"),
    "record": ("out", "OUT"),
    "ports": ("out", "--out"),
    "export": ("safetensors", "--safetensors"),
}
"""By command, the name among its arguments of the folder that it writes into, and the option."""

_READ_FILES = {
    "records": "RECORD",
    "old": "OLD",
    "new": "NEW",
    "rendered": "--from",
    "wiring": "--wiring",
    "baseline": "--baseline",
    "config": "--config",
    "forced_includes": "--include",
    "list": "LIST",
}
_READ_FOLDERS = {
    "specs": ("--specs", (".yaml",)),
    "traces": ("TRACE_DIR", (".traces.xz",)),
    "candle": ("--candle", (".rs", ".cu", ".cuh", ".h", ".toml")),
}
"""Arguments that name what is read; of a folder, the files whose names end so."""


_BEGIN_ANEW = ("run", "replay", "build", "capture", "compare")


@dataclass(frozen=True)
class _Input:
    """What ``word`` names: ``has`` says whether a file, whose path is resolved, is read for it."""

    word: str
    has: Callable[[Path], bool]


def check_outputs(arguments: argparse.Namespace, prefix: str = "--") -> None:
    """Raises ``UsageError`` for an output that cannot be one, or that would overwrite a file the command reads or
    writes.

    ``prefix`` begins the options' names in messages (``--parity-`` for pytest).
    """
    files = list(outputs(arguments, prefix))
    for option, path in files:
        _check_file(option, path)
    folder, option = _FOLDERS.get(arguments.command, ("", ""))
    if folder:
        _check_folder(option, getattr(arguments, folder))
    files = [(option, path) for option, path in files if is_replaced(path)]
    _check_twice(files)
    standing = [(option, path) for option, path in files if path.exists()]
    if not standing:
        return
    for read in _inputs(arguments, prefix):
        for option, path in standing:
            if read.word != option and read.has(path.resolve()):
                raise UsageError(f"{option} {path} would overwrite a file of what {read.word} names; give another file")


def begin_outputs(arguments: argparse.Namespace) -> None:
    """Remove the files that this command is going to write, so that none of an earlier run is taken for its own.

    A file that the command reads too stays. Raises ``FileError``.
    """
    if arguments.command not in _BEGIN_ANEW:
        return
    standing = [path for _, path in outputs(arguments) if os.path.lexists(path)]
    if not standing:
        return  # what the run reads is not looked for in vain
    inputs = list(_inputs(arguments, "--"))
    for path in standing:
        if not any(read.has(path.resolve()) for read in inputs):
            discard(path)


def outputs(arguments: argparse.Namespace, prefix: str = "--") -> Iterator[tuple[str, Path]]:
    """The options that name an output, each with its file: ``("--json", Path("record.json"))`` and so on."""
    for name in ("json", *(report.name for report in report_files()), "badge"):
        path = getattr(arguments, name, None)
        if isinstance(path, Path):
            yield f"{prefix}{name}", path
    if getattr(arguments, "update_baseline", None) and getattr(arguments, "baseline", None) is not None:
        yield f"{prefix}baseline", arguments.baseline


def _check_file(option: str, path: Path) -> None:
    if str(path) == "-":
        here = "no record is written to standard output here"
        why = here if option.endswith("json") else "standard output is for --json alone"
        raise UsageError(f"{option} -: {why}; give the name of a file")
    if path.is_dir():
        raise UsageError(f"{option} {path}: it is a folder; give the name of a file")
    if is_replaced(path):
        _check_place(option, path)


def _check_folder(option: str, path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path}: it is not a folder; give the name of one")
    _check_place(option, path)


def _check_place(option: str, path: Path) -> None:
    """Raises ``UsageError`` for a link, and for a place in a folder that is not there."""
    own = Path(OWN_FOLDER)
    for link in [path, *([own] if path.is_relative_to(own) else [])]:
        if link.is_symlink():
            raise UsageError(
                f"{option} {path}: {link} is a symbolic link, and no output is written through one; remove it"
            )
    if not (path.parent.is_dir() or path.is_relative_to(own)):
        what = "is not a folder" if path.parent.exists() else "does not exist"
        raise UsageError(f"{option} {path}: the folder {path.parent} {what}; make it first")


def _check_twice(files: list[tuple[str, Path]]) -> None:
    seen: dict[Path, str] = {}
    for option, path in files:
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise UsageError(f"{other} and {option} both name {path}; give each a file of its own")


def _inputs(arguments: argparse.Namespace, prefix: str) -> Iterator[_Input]:
    """What the command reads, as far as its arguments and the declaration of the port say."""
    for name, word in _READ_FILES.items():
        given = getattr(arguments, name, None)
        paths = given if isinstance(given, list | tuple) else [given]
        read = {path.resolve() for path in paths if isinstance(path, Path)}
        yield _Input(word.replace("--", prefix), read.__contains__)
    for name, (word, endings) in _READ_FOLDERS.items():
        if hasattr(arguments, name):
            given = getattr(arguments, name) or {"specs": spec_folder(), "traces": traces_folder()}.get(name)
            if given is not None:
                yield _Input(word.replace("--", prefix), _below(Path(given), endings))
    if arguments.command in (*COMPILING, "wiring"):
        yield from _of_the_port(arguments, prefix)


def _below(folder: Path, endings: tuple[str, ...]) -> Callable[[Path], bool]:
    root = folder.resolve()
    return lambda path: path.is_relative_to(root) and path.name.endswith(endings)


def _of_the_port(arguments: argparse.Namespace, prefix: str) -> Iterator[_Input]:
    """The declaration and what it names, the sources of each tree, and what these include."""
    # Here, for commands that compile nothing do without it, and few outputs exist already.
    from conformance.port.config import OPTIONS_FILE, Config, config_file_in, folders_of, read_config
    from conformance.port.digest import files_of
    from conformance.port.options import options_for
    from conformance.port.sources import SourceError
    from conformance.settings import Settings

    settings = Settings.of(vars(arguments))
    folders = [Path()] if settings.kernels is None else folders_of(settings.kernels)
    try:
        file = settings.config or next(filter(None, map(config_file_in, folders)), None)
        config = Config(Path(OPTIONS_FILE)) if file is None else read_config(file)
        options = options_for(settings, config)
    except SourceError:
        return  # the command says so, and writes nothing
    declared = {config.file, config.gate.baseline}
    if getattr(arguments, "update_baseline", None) and arguments.baseline is not None:
        # Who names the declared baseline as the one to be updated means that very file.
        declared.discard(arguments.baseline.resolve())
    yield _Input(f"{config.file.name}, the declaration,", declared.__contains__)
    kernels = settings.kernels or config.settings.kernels or kernels_folder()
    for word, tree in ((f"{prefix}kernels", kernels), (f"{prefix}against", getattr(arguments, "against", None))):
        if tree is not None:
            read = {Path(os.path.realpath(path)) for path in files_of(tree, options)}
            yield _Input(word, read.__contains__)
