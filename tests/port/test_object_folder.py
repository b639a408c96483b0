"""Damaged objects, a folder that cannot be written, interrupted processes: no verdict depends on any of it."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import cache
from conformance.cache import ObjectFolder
from conformance.notices import take_warnings

CODE = b"\x7fELF" + bytes(range(256)) * 16
KEY = "0123456789abcdef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    take_warnings()
    return tmp_path / "objects"


def kept(folder: Path, code: bytes = CODE) -> ObjectFolder:
    found = ObjectFolder(folder)
    with found.turn(KEY, 60) as ours:
        assert ours
        found.keep(KEY, code)
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_object_is_read_back_and_nothing_else_is_left(folder: Path) -> None:
    assert ObjectFolder(folder).read(KEY) is None
    for code in (CODE, b""):
        assert kept(folder, code).read(KEY) == code
    assert names(folder) == [KEY + cache.SUFFIX]
    assert take_warnings() == []


def cut_off(entry: Path) -> None:
    os.truncate(entry, entry.stat().st_size - 1)


def empty(entry: Path) -> None:
    os.truncate(entry, 0)


def flip_a_bit(entry: Path) -> None:
    content = bytearray(entry.read_bytes())
    content[-7] ^= 4
    entry.write_bytes(content)


def be_bare(entry: Path) -> None:
    entry.write_bytes(CODE)


def be_a_folder(entry: Path) -> None:
    entry.unlink()
    entry.mkdir()
    (entry / "inside").touch()


def be_a_fifo(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def be_a_link_to_a_folder(entry: Path) -> None:
    entry.unlink()
    entry.symlink_to(entry.parent.parent)


@pytest.mark.parametrize("damage", [cut_off, empty, flip_a_bit, be_bare, be_a_folder, be_a_fifo, be_a_link_to_a_folder])
def test_damage_is_noticed_named_and_thrown_away(folder: Path, damage: Callable[[Path], None]) -> None:
    found = kept(folder)
    damage(found.path(KEY))
    assert found.read(KEY) is None
    (said,) = take_warnings()
    assert str(found.path(KEY)) in said
    assert "is damaged" in said
    assert "compiled again" in said
    assert names(folder) == []
    assert kept(folder).read(KEY) == CODE
    assert take_warnings() == []


def test_a_folder_that_cannot_be_made_costs_a_warning(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").touch()
    found = ObjectFolder(tmp_path / "file" / "objects")
    for _ in range(2):
        assert found.read(KEY) is None or pytest.fail("there is none")
        with found.turn(KEY, 60) as ours:
            assert not ours
    said = take_warnings()
    assert [text for text in said if "cannot be written (Not a directory)" in text] == [said[-1]]
    assert "CANDLE_PARITY_CACHE" in said[-1]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_folder_costs_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(self: Path, content: bytes) -> int:
        with open(self, "wb") as file:
            file.write(content[:10])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert kept(folder).read(KEY) is None
    assert names(folder) == []
    (said,) = take_warnings()
    assert f"cannot be written ({os.strerror(code)})" in said


def test_what_interrupted_processes_left_is_removed(folder: Path) -> None:
    kept(folder)
    for name in ("a.lock", "a.part", "b.part", "c.lock", "d.part", "d.lock"):
        (folder / name).write_bytes(b"half")
    theirs = cache._try_lock(folder / "d.lock")
    assert theirs is not None
    cache._swept.clear()
    with ObjectFolder(folder).turn(KEY, 60) as ours:
        assert ours
        assert names(folder) == [KEY + ".lock", KEY + cache.SUFFIX, "d.lock", "d.part"]
    os.close(theirs)


def test_one_makes_an_object_while_the_others_wait(folder: Path) -> None:
    made: list[bytes] = []

    def make() -> None:
        found = ObjectFolder(folder)
        with found.turn(KEY, 60) as ours:
            assert ours
            if found.read(KEY) is None:
                time.sleep(0.05)
                made.append(CODE)
                found.keep(KEY, CODE)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert made == [CODE]
    assert names(folder) == [KEY + cache.SUFFIX]


def test_nobody_waits_for_ever(folder: Path) -> None:
    found = ObjectFolder(folder)
    with found.turn(KEY, 60) as first, found.turn(KEY, 0.2) as second, found.turn("another", 60) as third:
        assert (first, second, third) == (True, False, True)
    assert names(folder) == []
    shutil.rmtree(folder)
    with found.turn(KEY, 60) as ours:
        assert ours
