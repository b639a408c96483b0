"""Disks that are full, folders that are missing, damaged caches: named as what they are, and no verdict lost."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harm.healthy import MODULES, Check, words
from tests.harm.running import Place, Run, read_record, wait_until

pytestmark = pytest.mark.nightly("damages caches and fills disks under whole runs")

# ---- disks and folders


def test_a_record_that_cannot_be_written(tree: Path, place: Place) -> None:
    """/dev/full is a disk without room: it stays what it is, and the run says what went wrong."""
    run = place.start(words(tree, Path("/dev/full"), "--module", "sort"))
    assert run.wait() == 2
    assert "/dev/full" in run.err
    assert "Traceback" not in run.err
    assert Path("/dev/full").is_char_device()
    assert "14 of 748 kernels at parity" in run.out
    assert place.left_behind() == []


def test_a_terminal_that_takes_nothing(tree: Path, place: Place) -> None:
    with open("/dev/full", "wb") as full:
        run = place.start(words(tree, place.folder / "record.json", "--module", "sort"), stdout=full)
    run.wait()
    assert read_record(place.folder / "record.json")["summary"]["pass"] == 14
    assert "Traceback" not in run.err
    assert place.left_behind() == []


def test_tmpdir_is_missing(tree: Path, place: Place, check: Check, own_cache: Path) -> None:
    """Python and the compilers look elsewhere; a port is not to blame."""
    place.settings["TMPDIR"] = str(place.folder / "not" / "there")
    place.cache = own_cache
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    if run.wait() == 2:
        assert "TMPDIR" in run.err or "temporary" in run.err
        assert "Traceback" not in run.err
    else:
        check(run, record)


def _is_infrastructure(found: dict[str, Any]) -> bool:
    """Whether every kernel of the module on trial passed, or was not run for a reason that is not its own."""
    return all(
        row["status"] == "pass" or (row["status"] == "not_run" and "infrastructure" in (row["message"] or ""))
        for row in found["kernels"]
        if row["module"] == "affine"
    )


def _no_large_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_no_room_for_large_files(tree: Path, place: Place, own_cache: Path) -> None:
    """As on a full disk: compiled objects and records do not fit, small files do. Nothing is the port's fault."""
    place.cache = own_cache
    record = place.folder / "record.json"
    run = place.start(words(tree, record, "--module", "affine"), preexec_fn=_no_large_files)
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
    run = place.start(words(tree, place.folder / "record.json"))
    code = run.wait()
    assert "Traceback" not in run.err
    assert str(place.cache) in run.err
    assert code in (1, 2)
    assert place.cache.read_text() == "not a folder"
    assert place.left_behind() == []


@pytest.fixture
def mounted(place: Place, own_cache: Path) -> Callable[..., Run]:
    """``mounted(words, mounts)``: a run in a mount namespace of its own, in which ``mounts`` were done before."""

    def start(command: list[object], mounts: str) -> Run:
        probe = subprocess.run(["unshare", "-m", "sh", "-c", mounts], capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            pytest.skip(f"no mount namespace to be had: {probe.stderr.strip()}")
        script = f'{mounts} && exec "$@"'
        inside = ["import os, sys; os.execvp('unshare', sys.argv[1:])", "unshare", "-m", "sh", "-c", script, "sh"]
        return place.start(["-c", *inside, sys.executable, *command])

    return start


def test_the_cache_is_read_only(
    tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run], check: Check
) -> None:
    place.cache = own_cache
    before = place.start(words(tree, place.folder / "before.json", "--module", "sort"))
    assert before.wait() == 0, before.err
    record = place.folder / "record.json"
    mounts = f"mount --bind {own_cache} {own_cache} && mount -o remount,ro,bind {own_cache}"
    check(mounted(words(tree, record), mounts), record)


def test_the_disk_of_the_cache_is_full(tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run]) -> None:
    objects = own_cache / "objects"
    objects.mkdir(exist_ok=True)
    _lost_for_a_full_disk(tree, place, own_cache, mounted, f"size=64k tmpfs {objects}")


def test_the_disk_of_tmpdir_is_full(tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run]) -> None:
    _lost_for_a_full_disk(tree, place, own_cache, mounted, f"size=16k tmpfs {place.tmp}")


def _lost_for_a_full_disk(tree: Path, place: Place, own_cache: Path, mounted: Callable[..., Run], small: str) -> None:
    place.cache = own_cache
    record = place.folder / "record.json"
    run = mounted(words(tree, record, "--module", "affine"), f"mount -t tmpfs -o {small}")
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
    run = place.start(words(tree, place.folder / "warm.json"))
    assert run.wait() == 1, run.err
    # Of each module an object, and the list of what it was made from.
    assert len(list((own_cache / "objects").glob("*.object"))) == 2 * len(MODULES)
    return own_cache


@pytest.mark.parametrize("damage", [_flip, _cut], ids=["flipped", "cut"])
@pytest.mark.parametrize("where", [0.001, 0.5, 0.999])
@pytest.mark.parametrize("lists", [False, True], ids=["objects", "lists of what they were made from"])
def test_damaged_objects(
    tree: Path, place: Place, warm: Path, check: Check, damage: Callable[..., None], where: float, lists: bool
) -> None:
    """An object is only looked for by a list that is whole, so they are damaged apart."""
    every = sorted((warm / "objects").glob("*.object"))
    entries = [entry for entry in every if (b'{"files": ' in entry.read_bytes()) == lists]
    assert len(entries) == len(MODULES)
    for entry in entries:
        damage(entry, where)
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    check(run, record)
    assert [entry.name for entry in entries if entry.stem not in run.err] == []
    again = place.start(words(tree, record))
    check(again, record)
    assert again.err.count("damaged") == 0


@pytest.mark.parametrize("make", ["folder", "empty", "other object"])
def test_an_entry_that_is_something_else(tree: Path, place: Place, warm: Path, check: Check, make: str) -> None:
    first, second = sorted((warm / "objects").glob("*.object"))[:2]
    if make == "other object":
        shutil.copy(second, first)
    else:
        first.unlink()
        first.mkdir() if make == "folder" else first.touch()
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    check(run, record)
    assert first.stem in run.err


@pytest.mark.parametrize("damage", [_flip, _cut], ids=["flipped", "cut"])
def test_damaged_runtime_libraries(
    tree: Path, place: Place, warm: Path, check: Check, damage: Callable[..., None]
) -> None:
    libraries = [path for path in (warm / "runtime").rglob("*.so*") if path.is_file() and not path.is_symlink()]
    assert libraries
    for library in libraries:
        damage(library, 0.6)
    record = place.folder / "record.json"
    run = place.start(words(tree, record))
    check(run, record)
    assert str(warm / "runtime") in run.err


def test_a_cache_entry_is_damaged_while_the_run_goes_on(tree: Path, place: Place, warm: Path, check: Check) -> None:
    record = place.folder / "record.json"
    run = place.start(words(tree, record, jobs=1))
    wait_until(lambda: len(place.processes("conformance.engine.executor")) > 1 or run.process.poll() is not None)
    for entry in (warm / "objects").glob("*.object"):
        _cut(entry, 0.5)
    check(run, record)
