"""Trees of the harness whose figures are measured: this one, and one of another commit in a worktree of git."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edits import edited

ROOT = Path(__file__).resolve().parents[2]

_NOT_INHERITED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX")
"""Without byte code each process would compile all that it imports: 0.4 s of a run that nobody has who installs it."""


@dataclass(frozen=True)
class Timed:
    """One command: wall seconds, CPU seconds of all its processes, the largest memory of them together in MiB (shared
    pages counted once; 0 where it was not watched), and its record where it wrote one."""

    seconds: float
    cpu: float
    peak_mib: float = 0.0
    record: dict[str, Any] | None = None

    def __str__(self) -> str:
        digits = 2 if self.seconds < 10 else 1
        return f"{self.seconds:.{digits}f} s, {self.cpu:.{digits}f} s of CPU"


@dataclass(frozen=True)
class Tree:
    """A checkout at ``root``, with a cache and a copy of its kernels that are its own and go with it."""

    name: str
    root: Path
    own: Path
    """The folder of cache and kernels."""

    @property
    def kernels(self) -> Path:
        return self.own / "kernels"

    @classmethod
    @contextmanager
    def at(cls, name: str, root: Path) -> Iterator[Tree]:
        """The tree at ``root`` while it is measured."""
        with tempfile.TemporaryDirectory(prefix="candle-parity-speed-") as folder:
            tree = cls(name, root, Path(folder))
            shutil.copytree(root / "kernels", tree.kernels)
            yield tree

    def edit(self, number: int) -> None:
        """Change ``uexp_f32`` in the copy of the kernels, for each ``number`` otherwise. Raises ``CannotEdit``."""
        text = (self.root / "kernels" / "unary.hip").read_text()
        (self.kernels / "unary.hip").write_text(edited(text, number))

    def timed(self, *words: object, cache: Path | None = None, watched: bool = False) -> Timed:
        """Run ``candle-parity WORDS`` of this tree; raises ``RuntimeError`` with what it said where it could not."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "record.json"
            more = ["--json", str(file)] if words[0] in ("run", "replay") else []
            command = [sys.executable, "-m", "conformance.cli.main", *map(str, words), *more]
            inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
            environment = {**inherited, "CANDLE_PARITY_CACHE": str(cache or self.own / "cache")}
            began, used = time.perf_counter(), _cpu()
            process = subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            peak = [0.0]
            watch = threading.Thread(target=_watch, args=(process, peak) if watched else (None, peak))
            watch.start()
            said, _ = process.communicate()
            seconds = time.perf_counter() - began
            watch.join()
            if process.returncode not in (0, 1) or (more and not file.exists()):
                raise RuntimeError(f"{self.name}: {' '.join(map(str, words))}: {said.decode(errors='replace').strip()}")
            record = json.loads(file.read_text()) if more else None
            return Timed(seconds, _cpu() - used, peak[0], record)


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """A worktree of this repository at ``revision``, removed in the end; raises ``RuntimeError`` where there is no such
    commit."""
    with tempfile.TemporaryDirectory(prefix="candle-parity-speed-") as folder:
        place = Path(folder) / "tree"
        made = _git("worktree", "add", "--detach", str(place), revision)
        if made.returncode:
            raise RuntimeError(f"--against {revision}: {made.stderr.strip()}")
        try:
            yield place
        finally:
            _git("worktree", "remove", "--force", str(place))


def commit_of(root: Path) -> str:
    """The commit of the checkout at ``root``, with ``-dirty`` where files differ from it."""
    return _git("describe", "--always", "--dirty", "--exclude=*", root=root).stdout.strip() or "no commit"


def _git(*words: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)


def fastest(trees: Sequence[Tree], rounds: int, words: Sequence[object], edit: bool = False) -> list[Timed]:
    """The fastest of ``rounds`` runs of ``words`` by each of ``trees``, which take turns; with ``edit`` on the copies
    of their kernels, changed before each run."""
    found: list[list[Timed]] = [[] for _ in trees]
    for number in range(rounds):
        for tree, times in zip(trees, found, strict=True):
            if edit:
                tree.edit(number)
            times.append(tree.timed(*words, *(["--kernels", tree.kernels] if edit else [])))
    return [min(times, key=lambda one: one.seconds) for times in found]


def _cpu() -> float:
    """CPU seconds of the processes that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _watch(process: subprocess.Popen[bytes] | None, peak: list[float]) -> None:
    while process is not None and process.poll() is None:
        peak[0] = max(peak[0], sum(_proportional(pid) for pid in _family(process.pid)))
        time.sleep(0.2)


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in children for found in _family(int(child)))]


def _proportional(pid: int) -> float:
    """MiB of a process, of pages that several have its part."""
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 2**10
