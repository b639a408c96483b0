"""``run --watch``: judges again, in a process of its own, whenever a file of the port changes.

A new process each time, for then nothing that an earlier run has read can be out of date. A change while one runs ends
it: its verdict would be on files that are not there any more.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.cli.ending import what_stopped
from conformance.engine.modes import Tree
from conformance.errors import UsageError
from conformance.extras import missing
from conformance.files import cache_folder, own_python
from conformance.option import STDOUT
from conformance.port.config import OPTIONS_FILE, PYPROJECT
from conformance.port.definitions.mentioned import mentioned
from conformance.port.sources import SourceError
from conformance.processes import parent_word
from conformance.session.outputs import outputs
from conformance.session.setup import config_from, specs_from, tree_from
from conformance.settings import Settings
from conformance.text import counted, one_line, some

_LOOK_MS = 100
"""Between two looks at whether a run has ended; a change is noticed at once."""

_ENDING = 30.0
"""Seconds that a run may take to end its processes."""

_NAMED = 3
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


@dataclass(frozen=True)
class Watched:
    """The files that a verdict depends on: everything below ``root``, and ``others`` (headers, the declaration).

    ``folders`` are those in which all of them lie; each is watched without its subfolders.
    """

    root: Path
    others: frozenset[Path]
    folders: frozenset[Path]

    @classmethod
    def of(cls, tree: Tree, config: Path | None, own: Iterable[Path] = ()) -> Watched:
        """The files for ``tree``. ``config`` is the file that declares it, or that may come to; ``own`` are the folders
        of its own kernels."""
        root = tree.path.resolve()
        folder = root if root.is_dir() else root.parent
        starts = [*tree.options.forced, *(source.path for source in tree.sources if not source.is_code_object)]
        others = set(mentioned(starts, (folder, *tree.options.include_dirs), "\n".join(tree.options.defines)).files)
        others |= {place / name for place in (folder, folder.parent) for name in (OPTIONS_FILE, PYPROJECT)}
        others |= set() if config is None else {config.resolve()}
        others |= {file.resolve() for place in own for file in place.rglob("*") if file.suffix in (".yaml", ".py")}
        below = _below(root) if root.is_dir() else [folder]
        return cls(root, frozenset(others), frozenset((*below, *(file.parent for file in others))))

    def has(self, file: Path) -> bool:
        """Whether a verdict may depend on ``file``. Hidden names do not count: no source has one, and a file that is
        being written does."""
        if file.name.startswith("."):
            return False
        return file in self.others or file == self.root or (self.root.is_dir() and file.is_relative_to(self.root))


def _below(root: Path) -> Iterator[Path]:
    from watchfiles import DefaultFilter

    for folder, below, _ in os.walk(root):
        below[:] = [name for name in below if name not in DefaultFilter.ignore_dirs]
        yield Path(folder)


def watch(arguments: argparse.Namespace) -> int:
    """Judge, and judge again at each change. It ends by Ctrl-C only, with ``KeyboardInterrupt``.

    Raises ``UsageError`` where the package that watches is not installed, and ``SourceError`` where there is nothing to
    watch. What becomes unreadable later is reported and waited for.
    """
    try:
        from watchfiles import watch as changes_in
    except ModuleNotFoundError as error:
        raise missing(error, "run") or error from None
    if arguments.json == STDOUT:
        raise UsageError("--watch prints a verdict after each change, and --json - one record; name a file for it")
    written = {path.resolve() for _, path in outputs(arguments)}
    watched, run, changed = _watched(arguments), _Run(arguments.argv), [""]
    try:
        while True:
            # The watcher is there before the run starts: what changes while it reads is a change.
            for found in changes_in(
                *watched.folders, recursive=False, rust_timeout=_LOOK_MS, yield_on_timeout=True, raise_interrupt=True
            ):
                files = {Path(name) for _, name in found} - written
                files = {file for file in files if not file.is_relative_to(cache_folder().resolve())}
                changed += sorted(_shown(file, watched.root) for file in files if watched.has(file))
                if changed:
                    before, watched = watched, _watched(arguments, watched)
                    if watched.folders != before.folders:
                        break  # and watch those first
                    run.start_again(changed)
                    changed = []
                run.look(watched.root)
    except KeyboardInterrupt:  # watchfiles makes one of whatever a signal raises
        raise what_stopped() from None
    finally:
        run.end()


def _watched(arguments: argparse.Namespace, before: Watched | None = None) -> Watched:
    """What to watch now, as ``before`` where the port cannot be read: the run says why."""
    try:
        settings = Settings.of(vars(arguments))
        config = config_from(settings)
        tree = tree_from(settings, specs_from(settings, config), config)
        own = config.own.folders if config is not None and config.own is not None else ()
        return Watched.of(tree, config.file if config else None, own)
    except (SourceError, UsageError):
        if before is None:
            raise
        return before


def _shown(file: Path, root: Path) -> str:
    folder = root if root.is_dir() else root.parent
    return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else os.path.relpath(file)


class _Run:
    """The run of the files as they are now, in a process group of its own: Ctrl-C comes to this process, which ends
    the run."""

    def __init__(self, args: Sequence[str]) -> None:
        command, *rest = args
        begin = f"from conformance.processes import die_with_parent; die_with_parent({parent_word()}); "
        program = own_python(f"{begin}from conformance.cli.main import main; sys.exit(main())")
        self._command = [*program, command, "--watched", *rest]
        self._process: subprocess.Popen[bytes] | None = None

    def start_again(self, changed: Iterable[str]) -> None:
        """Clear the screen, say what has ``changed``, and judge."""
        self.end()
        names = [one_line(name) for name in dict.fromkeys(changed) if name]
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        if names:
            print(f"candle-parity: {counted(len(names), 'file')} changed: {some(names, _NAMED)}", flush=True)
        sys.stdout.flush()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, process_group=0)

    def look(self, root: Path) -> None:
        """Where the run has ended, say what comes next."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
            print(f"candle-parity: watching {one_line(os.path.relpath(root))}; Ctrl-C ends", flush=True)

    def end(self) -> None:
        """End the run, if one goes on, with all of its processes."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
