"""Starts the command line or pytest as a user does, and looks at what a run leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harm.trees import ROOT

SECONDS = 1200
"""The longest that any wait of these tests takes; none asserts that something takes less."""

_MARK = "CANDLE_PARITY_HARM_TEST"


def wait_until(holds: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """What ``holds`` returns once it is true, or its last answer when ``seconds`` have passed."""
    end = time.monotonic() + seconds
    while not (answer := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return answer


def _default_signals() -> None:
    """Undo what a shell ignores for its background jobs and nohup for its command, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def command_of(pid: int) -> list[str]:
    """The words of a process's command line; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def _runs(pid: int, what: str) -> bool:
    """Whether a process runs the program ``what`` (``clang`` is also clang++-19) or Python code that names the module
    ``what``, or is a copy of the command that is called like the module; the names of files, in which test names occur,
    do not count."""
    with suppress(OSError):
        if Path(f"/proc/{pid}/comm").read_text().strip() == what.rpartition(".")[2]:
            return True
    program, *words = command_of(pid) or [""]
    names = [word for word in words if not word.startswith(("/", "--"))]
    return Path(program).name.startswith(what) or any(what in name for name in names)


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _mentions(pid: int, words: Sequence[bytes]) -> bool:
    """Whether the environment or the command line of a process holds one of ``words``."""
    for file in ("environ", "cmdline"):
        try:
            content = Path(f"/proc/{pid}/{file}").read_bytes()
        except OSError:
            continue
        if any(word in content for word in words):
            return True
    return False


def _processes() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _is_pytests(path: Path, folder: Path) -> bool:
    return path.relative_to(folder).parts[0].startswith("pytest-of-")


@dataclass
class Place:
    """Where a run happens: its working folder, its TMPDIR and its cache, and all that it may not leave behind."""

    folder: Path
    cache: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.mark = f"{_MARK}={uuid.uuid4().hex}"
        for name in ("cwd", "tmp"):
            (self.folder / name).mkdir()
        self.cwd, self.tmp = self.folder / "cwd", self.folder / "tmp"
        self._shared_memory = set(os.listdir("/dev/shm"))

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HIPCPU"))}
        own = dict([self.mark.split("=")], TMPDIR=str(self.tmp), PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
        own |= {"CANDLE_PARITY_CACHE": str(self.cache)} if self.cache else {}
        return {**inherited, **own, "CANDLE_PARITY_HANG_SECONDS": "6", "HIPCPU_TIMEOUT_MS": "1000", **self.settings}

    def start(self, words: Sequence[object], **options: Any) -> Run:
        """Start ``python WORDS`` in a session of its own; output goes to files, so that no pipe keeps it alive."""
        number = len(list(self.folder.glob("out-*")))
        out, err = (self.folder / f"{name}-{number}" for name in ("out", "err"))
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            defaults = {"stdin": subprocess.DEVNULL, "preexec_fn": _default_signals}
            streams = {**defaults, "stdout": stdout, "stderr": stderr, **options}
            process = subprocess.Popen(
                [sys.executable, *map(str, words)],
                cwd=self.cwd,
                env=self.environment(),
                start_new_session=True,
                **streams,
            )
        return Run(self, process, out, err)

    def processes(self, *words: str) -> list[int]:
        """The living processes of this place's runs, those that run every one of ``words``: a program or a module."""
        marks = (self.mark.encode(), str(self.tmp).encode())
        found = (pid for pid in _processes() if pid != os.getpid() and _mentions(pid, marks))
        return [pid for pid in found if all(_runs(pid, word) for word in words)]

    def left_behind(self) -> list[str]:
        """What the runs left: processes, files, shared memory; a line each. Waits for what is on its way out."""
        wait_until(lambda: not self._left(), seconds=20)
        return self._left()

    def _left(self) -> list[str]:
        left = [f"process {pid} {' '.join(command_of(pid))[:200]}" for pid in self.processes()]
        for folder in (self.tmp, self.cwd):
            # what every pytest with workers keeps is pytest's own
            left += [f"file {path}" for path in folder.rglob("*") if not _is_pytests(path, folder)]
        new = set(os.listdir("/dev/shm")) - self._shared_memory
        return left + [f"shared memory {name}" for name in new if not _in_use(Path("/dev/shm") / name)]

    def end(self) -> None:
        """Kill whatever of this place's runs still lives."""
        for pid in self.processes():
            with suppress_lookup():
                os.kill(pid, signal.SIGKILL)


@contextmanager
def suppress_lookup() -> Iterator[None]:
    """For signals to processes that may have ended."""
    with suppress(ProcessLookupError):
        yield


def _in_use(path: Path) -> bool:
    """Whether a living process has ``path`` open or mapped: then it is somebody else's, still at work."""
    for pid in _processes():
        try:
            if str(path) in Path(f"/proc/{pid}/maps").read_text(errors="replace"):
                return True
            if any(os.readlink(entry) == str(path) for entry in Path(f"/proc/{pid}/fd").iterdir()):
                return True
        except OSError:
            continue
    return False


@dataclass
class Run:
    """A run that was started, with the files that its output goes to."""

    place: Place
    process: subprocess.Popen[bytes]
    out_file: Path
    err_file: Path

    @property
    def out(self) -> str:
        return self.out_file.read_text(errors="replace")

    @property
    def err(self) -> str:
        return self.err_file.read_text(errors="replace")

    def wait(self) -> int:
        """The exit code; a run that does not end is killed and fails the test with what it said."""
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            alive = [" ".join(command_of(pid))[:200] for pid in self.place.processes()]
            self.place.end()
            self.process.wait()
            raise AssertionError(f"the run did not end; alive: {alive}; it said: {self.err[-2000:]}") from None

    def below(self) -> list[int]:
        """The processes of the run below the one that was started, the oldest first."""
        found = [self.process.pid]
        for pid in sorted(_processes()):
            if _parent_of(pid) in found:
                found.append(pid)
        return found[1:]

    def send(self, number: signal.Signals) -> None:
        with suppress_lookup():
            os.kill(self.process.pid, number)


def cli(*words: object) -> list[object]:
    """The words that start the command line."""
    return ["-m", "conformance.cli.main", *words]


def read_record(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


_TIMES = ("started", "seconds", "command", "jobs")


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what two runs of the same thing may differ in: times, and the number of workers."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if key not in _TIMES}
        return [bare(inner) for inner in value] if isinstance(value, list) else value

    return bare(record)


def differences(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """Where two records differ, bar times, a line each."""
    left, right = comparable(left), comparable(right)
    rows = {row["name"]: row for row in left["kernels"]}
    found = [
        f"{row['name']}: {rows.get(row['name'])} / {row}" for row in right["kernels"] if rows.get(row["name"]) != row
    ]
    rest = [key for key in {*left, *right} - {"kernels"} if left.get(key) != right.get(key)]
    return found + [f"{key}: {left.get(key)} / {right.get(key)}" for key in rest]
