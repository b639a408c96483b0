"""Processes killed or hanging, disks that are full, caches that are damaged: the record is the undisturbed one.

What comes out is compared with what an undisturbed run writes; no test asserts how long anything takes.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harm.running import (
    Place,
    Run,
    cli,
    command_of,
    differences,
    read_record,
    suppress_lookup,
    wait_until,
)
from tests.harm.trees import ROOT

EXECUTOR, JUDGE, COMPILER = "conformance.engine.executor", "conformance.engine.judge", "conformance.build.child"
MODULES = ("fill", "sort", "affine")
LIMIT = ["--compile-timeout", 120]
STOPS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""The signals that ask a run to end, and the exit code of each."""

SLOW = """
static __attribute__((noinline)) void wait_a_little() {
  if (blockIdx.x + threadIdx.x == 0)
    for (volatile int i = 0; i < 3000000; i = i + 1) {
    }
}
"""
"""Makes each launch of a kernel take milliseconds, so that there is a while to disturb a run in."""

SLOWED = ("fill_u8", "fill_f32", "fill_i64", "fill_u32")


def _slow_fill(folder: Path) -> None:
    parameters = {"u8": "u8", "f32": "f32", "i64": "i64", "u32": "u32"}
    lines = [f"#define {name} quick_{name}" for name in SLOWED]
    lines.append(f'#include "{ROOT}/kernels/fill.hip"')
    lines += [f"#undef {name}" for name in SLOWED]
    lines.append(SLOW)
    lines += [
        f'extern "C" __global__ void fill_{kind}({kind} *buf, {kind} value, const size_t numel) '
        f"{{ wait_a_little(); quick_fill_{kind}(buf, value, numel); }}"
        for kind in parameters
    ]
    (folder / "fill.hip").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Healthy kernels of three modules, some of them slow."""
    folder: Path = tmp_path_factory.mktemp("healthy") / "tree"
    folder.mkdir()
    _slow_fill(folder)
    for module in MODULES[1:]:
        (folder / f"{module}.hip").write_text(f'#include "{ROOT}/kernels/{module}.hip"\n')
    return folder


@pytest.fixture(scope="module")
def undisturbed(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The record of a run that nobody disturbs."""
    place = Place(tmp_path_factory.mktemp("undisturbed") / "place")
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    assert run.wait() == 1, run.out + run.err
    found = read_record(record)
    assert found["summary"]["pass"] == 48
    assert found["summary"]["missing"] == 700
    return found


def _words(tree: Path, record: Path, *more: object, jobs: int = 2) -> list[object]:
    return cli("run", "--runtime", "cpu", "--kernels", tree, "--json", record, "-j", jobs, *LIMIT, *more)


@pytest.fixture
def check(undisturbed: dict[str, Any], place: Place) -> Callable[..., None]:
    """``check(run, record)``: it ended, its record is the undisturbed one, and nothing is left."""

    def same(run: Run, record: Path, ends: int = 1) -> None:
        code = run.wait()
        assert record.exists(), f"exit {code}, no record: {run.out[-2000:]}{run.err[-2000:]}"
        assert differences(undisturbed, read_record(record)) == []
        assert code == ends
        assert "Traceback" not in run.err
        assert place.left_behind() == []

    return same


def _find(place: Place, run: Run, word: str, *, leaf: bool = False) -> int:
    """The newest process of the run with ``word`` in its command line, waited for; ``leaf``: one without children."""

    def found() -> int | None:
        pids = place.processes(word)
        if leaf:
            parents = {_parent(pid) for pid in place.processes()}
            pids = [pid for pid in pids if pid not in parents]
        return max(pids, default=None)

    pid = wait_until(lambda: found() or (run.process.poll() is not None and -1), seconds=120)
    assert isinstance(pid, int)
    assert pid > 0, f"no process with {word}; the run said {run.out[-500:]}{run.err[-500:]}"
    return pid


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _busy(run: Run, journal_of: Place) -> bool:
    """Whether the run has got as far as launching: an executor has used the processor for a while."""
    for pid in journal_of.processes(EXECUTOR):
        try:
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]
        except OSError:
            continue
        if int(ticks) > 60:
            return True
    return run.process.poll() is not None


def _hit(pid: int, number: signal.Signals) -> None:
    with suppress_lookup():
        os.kill(pid, number)


# ---- a process below


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
@pytest.mark.parametrize("kind", [EXECUTOR, JUDGE])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_executor_or_a_judge_is_lost(
    tree: Path, place: Place, check: Callable[..., None], kind: str, number: signal.Signals, jobs: int
) -> None:
    place.settings["CANDLE_PARITY_HANG_SECONDS"] = "2"
    record = place.folder / "record.json"
    run = place.start(_words(tree, record, jobs=jobs))
    wait_until(lambda: _busy(run, place), seconds=120)
    _hit(_find(place, run, kind, leaf=True), number)
    check(run, record)


@pytest.mark.parametrize("times", [1, 3])
def test_executors_are_killed_again_and_again(
    tree: Path, place: Place, undisturbed: dict[str, Any], times: int
) -> None:
    """At most the kernels that lost their executor twice go without a verdict, and none gets a wrong one."""
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    for _ in range(times):
        wait_until(lambda: _busy(run, place), seconds=120)
        if run.process.poll() is None:
            for pid in place.processes(EXECUTOR):
                _hit(pid, signal.SIGKILL)
    code = run.wait()
    found = read_record(record)
    right = {row["name"]: row["status"] for row in undisturbed["kernels"]}
    wrong = [
        (row["name"], row["status"], row["message"])
        for row in found["kernels"]
        if row["status"] not in (right[row["name"]], "not_run")
    ]
    assert wrong == []
    assert code == (2 if found["summary"]["not_run"] else 1)
    assert place.left_behind() == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
@pytest.mark.parametrize("which", [COMPILER, "clang"])
def test_a_compiler_is_lost(
    tree: Path, place: Place, own_cache: Path, undisturbed: dict[str, Any], which: str, number: signal.Signals
) -> None:
    """Somebody kills a compiler: its file is compiled again or is not judged; it is never the port's fault."""
    place.cache = own_cache
    record = place.folder / "record.json"
    words = cli("run", "--runtime", "cpu", "--kernels", tree, "--json", record, "-j", 1, "--compile-timeout", 40)
    run = place.start(words)
    _hit(_find(place, run, which), number)
    code = run.wait()
    found = read_record(record)
    right = {row["name"]: row["status"] for row in undisturbed["kernels"]}
    changed = [row for row in found["kernels"] if row["status"] != right[row["name"]]]
    allowed = {"not_run", "compile_error"} if number == signal.SIGSTOP else {"not_run"}
    assert {row["status"] for row in changed} <= allowed, changed[:2]
    assert {row["module"] for row in changed} <= {changed[0]["module"]} if changed else True
    assert code == (2 if found["summary"]["not_run"] else 1)
    assert "Traceback" not in run.err
    assert place.left_behind() == []


# ---- the run itself


def _end_at(moment: str, run: Run, place: Place) -> None:
    if moment == "at the start":
        wait_until(lambda: place.processes(EXECUTOR) or run.process.poll() is not None, seconds=120)
    else:
        wait_until(lambda: _busy(run, place), seconds=120)


@pytest.mark.parametrize("moment", ["at the start", "in the middle"])
@pytest.mark.parametrize("number", [*STOPS, signal.SIGKILL], ids=lambda number: number.name)
def test_the_run_is_ended_and_resumed(
    tree: Path, place: Place, check: Callable[..., None], number: signal.Signals, moment: str
) -> None:
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    _end_at(moment, run, place)
    run.send(number)
    code = run.wait()
    assert code == STOPS.get(number, -number), run.err
    assert "Traceback" not in run.err
    left = place.left_behind()
    assert left == []
    if moment == "in the middle" and number in STOPS:
        assert "--resume" in run.err
        partial = read_record(record)
        assert len(partial["kernels"]) == 748
        assert partial["summary"]["not_run"] > 0
    record.unlink(missing_ok=True)
    check(place.start(_words(tree, record, "--resume")), record)


def test_the_run_is_ended_while_it_compiles(tree: Path, place: Place, own_cache: Path) -> None:
    for number, code in {**STOPS, signal.SIGKILL: -signal.SIGKILL}.items():
        place.cache = own_cache
        shutil.rmtree(own_cache / "objects", ignore_errors=True)
        run = place.start(_words(tree, place.folder / "record.json"))
        _find(place, run, "clang")
        run.send(number)
        assert run.wait() == code, run.err
        assert place.left_behind() == [], number.name


def test_ctrl_c_reaches_every_process_of_a_terminal(tree: Path, place: Place, check: Callable[..., None]) -> None:
    """A terminal sends SIGINT to the whole group, workers included."""
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    wait_until(lambda: _busy(run, place), seconds=120)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait() == 130
    assert "Traceback" not in run.err
    assert place.left_behind() == []
    check(place.start(_words(tree, record, "--resume")), record)


def test_resuming_several_times(tree: Path, place: Place, check: Callable[..., None]) -> None:
    record = place.folder / "record.json"
    more: list[object] = []
    for _ in range(3):
        run = place.start(_words(tree, record, *more, jobs=1))
        wait_until(lambda run=run: _busy(run, place), seconds=120)
        run.send(signal.SIGKILL)
        run.wait()
        more = ["--resume"]
    check(place.start(_words(tree, record, *more)), record)


@pytest.mark.parametrize("number", [*STOPS, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("workers", [0, 2])
def test_pytest_is_ended(tree: Path, place: Place, number: signal.Signals, workers: int) -> None:
    own = ["--parity-kernels", tree, "--parity-runtime", "cpu", "-n", workers]
    quiet = ["-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    run = place.start(["-m", "pytest", ROOT / "specs", *quiet, *own])
    wait_until(lambda: _busy(run, place), seconds=120)
    run.send(number)
    assert run.wait() not in (0, None)
    assert place.left_behind() == []


# ---- disks and folders


def test_a_record_that_cannot_be_written(tree: Path, place: Place) -> None:
    """/dev/full is a disk without room: it stays what it is, and the run says what went wrong."""
    run = place.start(_words(tree, Path("/dev/full"), "--module", "sort"))
    assert run.wait() == 2
    assert "/dev/full" in run.err
    assert "Traceback" not in run.err
    assert Path("/dev/full").is_char_device()
    assert "14 of 748 kernels at parity" in run.out
    assert place.left_behind() == []


def test_a_terminal_that_takes_nothing(tree: Path, place: Place) -> None:
    with open("/dev/full", "wb") as full:
        run = place.start(_words(tree, place.folder / "record.json", "--module", "sort"), stdout=full)
    run.wait()
    assert read_record(place.folder / "record.json")["summary"]["pass"] == 14
    assert "Traceback" not in run.err
    assert place.left_behind() == []


def test_tmpdir_is_missing(tree: Path, place: Place, check: Callable[..., None], own_cache: Path) -> None:
    """Python and the compilers look elsewhere; a port is not to blame."""
    place.settings["TMPDIR"] = str(place.folder / "not" / "there")
    place.cache = own_cache
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    if run.wait() == 2:
        assert "TMPDIR" in run.err or "temporary" in run.err
        assert "Traceback" not in run.err
    else:
        check(run, record)


def _is_infrastructure(found: dict[str, Any]) -> bool:
    return all(
        row["status"] in ("missing", "pass") or (row["status"] == "not_run" and "infrastructure" in row["message"])
        for row in found["kernels"]
    )


def _no_large_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_no_room_for_large_files(tree: Path, place: Place, own_cache: Path) -> None:
    """As on a full disk: compiled objects and records do not fit, small files do. Nothing is the port's fault."""
    place.cache = own_cache
    record = place.folder / "record.json"
    run = place.start(_words(tree, record, "--module", "affine"), preexec_fn=_no_large_files)
    code = run.wait()
    assert code in (1, 2)
    assert "Traceback" not in run.err
    if record.exists():
        assert _is_infrastructure(read_record(record))
    else:
        assert code == 2
    assert place.left_behind() == []


def test_the_cache_is_a_file(tree: Path, place: Place, tmp_path: Path) -> None:
    place.cache = tmp_path / "cache"
    place.cache.write_text("not a folder")
    run = place.start(_words(tree, place.folder / "record.json"))
    code = run.wait()
    assert "Traceback" not in run.err
    assert str(place.cache) in run.err
    assert code in (1, 2)
    assert place.cache.read_text() == "not a folder"
    assert place.left_behind() == []


@pytest.fixture
def mounted(place: Place, own_cache: Path) -> Callable[..., Run]:
    """``mounted(words, mounts)``: a run in a mount namespace of its own, in which ``mounts`` were done before."""

    def start(words: list[object], mounts: str) -> Run:
        probe = subprocess.run(["unshare", "-m", "sh", "-c", mounts], capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            pytest.skip(f"no mount namespace to be had: {probe.stderr.strip()}")
        script = f'{mounts} && exec "$@"'
        inside = ["import os, sys; os.execvp('unshare', sys.argv[1:])", "unshare", "-m", "sh", "-c", script, "sh"]
        return place.start(["-c", *inside, sys.executable, *words])

    return start


def test_the_cache_is_read_only(
    tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run], check: Callable[..., None]
) -> None:
    place.cache = own_cache
    before = place.start(_words(tree, place.folder / "before.json", "--module", "sort"))
    assert before.wait() == 0, before.err
    record = place.folder / "record.json"
    mounts = f"mount --bind {own_cache} {own_cache} && mount -o remount,ro,bind {own_cache}"
    check(mounted(_words(tree, record), mounts), record)


def test_the_disk_of_the_cache_is_full(tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run]) -> None:
    objects = own_cache / "objects"
    objects.mkdir(exist_ok=True)
    place.cache = own_cache
    record = place.folder / "record.json"
    run = mounted(_words(tree, record, "--module", "affine"), f"mount -t tmpfs -o size=64k tmpfs {objects}")
    run.wait()
    assert "Traceback" not in run.err
    assert _is_infrastructure(read_record(record))
    assert place.left_behind() == []


def test_the_disk_of_tmpdir_is_full(tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run]) -> None:
    place.cache = own_cache
    record = place.folder / "record.json"
    run = mounted(_words(tree, record, "--module", "affine"), f"mount -t tmpfs -o size=16k tmpfs {place.tmp}")
    run.wait()
    assert "Traceback" not in run.err
    assert _is_infrastructure(read_record(record))
    assert place.left_behind() == []


# ---- the cache


def _flip(file: Path, where: float) -> None:
    content = bytearray(file.read_bytes())
    at = int(len(content) * where)
    content[at] ^= 0xFF
    content[at + 1] ^= 0xFF
    file.write_bytes(bytes(content))


def _cut(file: Path, where: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * where)])


@pytest.fixture
def warm(tree: Path, place: Place, own_cache: Path) -> Path:
    """A cache with everything that the tree needs."""
    place.cache = own_cache
    run = place.start(_words(tree, place.folder / "warm.json"))
    assert run.wait() == 1, run.err
    assert len(list((own_cache / "objects").glob("*.co"))) == len(MODULES)
    return own_cache


@pytest.mark.parametrize("damage", [_flip, _cut], ids=["flipped", "cut"])
@pytest.mark.parametrize("where", [0.001, 0.5, 0.999])
def test_damaged_objects(
    tree: Path, place: Place, warm: Path, check: Callable[..., None], damage: Callable[..., None], where: float
) -> None:
    entries = sorted((warm / "objects").glob("*.co"))
    for entry in entries:
        damage(entry, where)
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    check(run, record)
    assert [entry.name for entry in entries if entry.stem not in run.err] == []
    again = place.start(_words(tree, record))
    check(again, record)
    assert again.err.count("damaged") == 0


@pytest.mark.parametrize("make", ["folder", "empty", "other object"])
def test_an_entry_that_is_something_else(
    tree: Path, place: Place, warm: Path, check: Callable[..., None], make: str
) -> None:
    first, second = sorted((warm / "objects").glob("*.co"))[:2]
    if make == "other object":
        shutil.copy(second, first)
    else:
        first.unlink()
        first.mkdir() if make == "folder" else first.touch()
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    check(run, record)
    assert first.stem in run.err


@pytest.mark.parametrize("damage", [_flip, _cut], ids=["flipped", "cut"])
def test_damaged_runtime_libraries(
    tree: Path, place: Place, warm: Path, check: Callable[..., None], damage: Callable[..., None]
) -> None:
    libraries = [path for path in (warm / "runtime").rglob("*.so*") if path.is_file() and not path.is_symlink()]
    assert libraries
    for library in libraries:
        damage(library, 0.6)
    record = place.folder / "record.json"
    run = place.start(_words(tree, record))
    check(run, record)
    assert str(warm / "runtime") in run.err


def test_a_cache_entry_is_damaged_while_the_run_goes_on(
    tree: Path, place: Place, warm: Path, check: Callable[..., None]
) -> None:
    record = place.folder / "record.json"
    run = place.start(_words(tree, record, jobs=1))
    wait_until(lambda: _busy(run, place), seconds=120)
    for entry in (warm / "objects").glob("*.co"):
        _cut(entry, 0.5)
    check(run, record)


def test_the_processes_have_the_names_that_these_tests_look_for(tree: Path, place: Place, own_cache: Path) -> None:
    place.cache = own_cache
    run = place.start(_words(tree, place.folder / "record.json"))
    seen: set[str] = set()

    def look() -> bool:
        for pid in place.processes():
            words = " ".join(command_of(pid))
            seen.update(word for word in (EXECUTOR, JUDGE, COMPILER) if word in words)
        return len(seen) == 3 or run.process.poll() is not None

    wait_until(look)
    run.wait()
    assert seen == {EXECUTOR, JUDGE, COMPILER}
