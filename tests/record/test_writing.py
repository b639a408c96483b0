"""Output paths: regular files in one step, anything else written to as it stands."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.record import write_text
from conformance.writing import FileError


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path, umask: None) -> None:
    path = tmp_path / "new" / "record.json"
    write_text(path, "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("old")
    path.chmod(0o604)
    write_text(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o604)


def test_a_file_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("r" * 250 + ".json")
    write_text(path, "text")
    assert path.read_text() == "text"


@pytest.mark.parametrize("target", ["there/record.json", "there/absent.json", "link.json"])
def test_no_file_is_written_through_a_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "record.json").write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    with pytest.raises(FileError, match=r"link\.json: (is a symbolic link|cannot be written .*symbolic links)"):
        write_text(link, "new")
    assert (tmp_path / "there" / "record.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link.json", "record.json", "there"]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()), daemon=True)
    reader.start()
    write_text(path, "é" * 100_000)
    reader.join(30)
    assert got == ["é" * 100_000]
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "null"
    path.symlink_to("/dev/null")
    before = os.stat("/dev/null")
    write_text(path, "text")
    after = os.stat("/dev/null")
    assert path.is_symlink()
    assert (stat.S_ISCHR(after.st_mode), after.st_ino) == (True, before.st_ino)


def test_a_full_device_is_named(tmp_path: Path) -> None:
    # Through a link: a harness that replaces what it finds must not take the machine's own device.
    path = tmp_path / "full"
    path.symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"full: cannot be written \(No space left on device\)"):
        write_text(path, "text")
    assert path.is_symlink()
    assert stat.S_ISCHR(path.stat().st_mode)


WRITES = "import sys; from pathlib import Path; from conformance.record import write_text; "


@pytest.mark.slow("starts processes that write records")
@pytest.mark.parametrize("name", ["link", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"])
def test_standard_output_in_a_file_keeps_what_was_printed_before_and_after(tmp_path: Path, name: str) -> None:
    if name == "link":
        (tmp_path / "link").symlink_to("/dev/stdout")
        name = str(tmp_path / "link")
    code = WRITES + f"print('before'); write_text(Path({name!r}), 'text\\n'); print('after')"
    path = tmp_path / "out.txt"
    with path.open("w") as out:
        inode = os.fstat(out.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert path.read_text() == "before\ntext\nafter\n"
    assert path.stat().st_ino == inode


def test_a_socket_is_written_to_through_its_descriptor() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        write_text(Path(f"/dev/fd/{theirs.fileno()}"), "text")
        assert ours.recv(10) == b"text"


def test_a_descriptor_that_does_not_wait_gets_everything() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    got = bytearray()

    def read() -> None:
        while block := os.read(reading, 65536):
            got.extend(block)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    write_text(Path(f"/dev/fd/{writing}"), "x" * 1_000_000)
    os.close(writing)
    reader.join(30)
    os.close(reading)
    assert len(got) == 1_000_000


def test_a_descriptor_that_is_not_open_is_one_sentence() -> None:
    with pytest.raises(FileError, match="/dev/fd/987: cannot be written"):
        write_text(Path("/dev/fd/987"), "text")


def test_the_socket_of_a_server_is_named_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("here")
        with pytest.raises(FileError, match=r"here: cannot be written .*is a socket"):
            write_text(Path("here"), "text")
    assert stat.S_ISSOCK(os.lstat("here").st_mode)


def test_a_folder_is_named_as_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder; give the name of a file"):
        write_text(tmp_path, "text")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_and_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.json"
    path.write_text("old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(FileError) as caught:
        write_text(path, "new")
    monkeypatch.undo()
    assert str(caught.value) == (
        f"{path}: cannot be written (No space left on device): the disk of {tmp_path} is full; "
        "free some space or give a path on another disk"
    )
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_without_permission_to_write_is_named() -> None:
    # Root may write everywhere: a child process takes another user's rights, once everything is imported.
    code = (
        "import os; from conformance.record import FileError; "
        + WRITES
        + "os.getuid() or os.setuid(65534)\n"
        + "try: write_text(Path(sys.argv[1]), 'new')\nexcept FileError as error: print(error)"
    )
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "closed"
        folder.mkdir()
        path = folder / "record.json"
        path.write_text("old")
        os.chmod(top, 0o755)
        folder.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        folder.chmod(0o755)
        assert done.stdout == (
            f"{path}: cannot be written (Permission denied): the folder {folder} may not be written to; "
            "give a path in a folder that may\n"
        ), done.stderr
        assert path.read_text() == "old"


def test_an_interrupted_write_leaves_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "record.json", "text")
    assert list(tmp_path.iterdir()) == []
