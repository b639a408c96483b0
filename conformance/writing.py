"""Writes output files: a regular file in one step; a device, pipe or open descriptor as it stands."""

from __future__ import annotations

import contextlib
import errno
import lzma
import os
import re
import secrets
import select
import stat
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath

from conformance.errors import UserError


class FileError(UserError):
    """A file that cannot be read or written; the message names the file, what is wrong and what to do."""


_DESCRIPTORS = re.compile(r"/proc/(?P<process>\d+)(/task/\d+)?/fd")
_LINKS = 40
"""Symbolic links that Linux follows in one path."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, compressed where the name ends in ``.xz`` or ``.zst``; as ``write_bytes``.
    Raises ``FileError``."""
    data = text.encode("utf-8", errors="backslashreplace")
    if path.suffix == ".xz":
        data = lzma.compress(data)
    elif path.suffix == ".zst":
        from conformance.zstd import compress

        data = compress(data)
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes ``data`` to ``path``.

    A regular file is replaced in one step: a reader sees the old file or the new one. It keeps its permissions; a new
    one has those that the umask leaves, and its folder is made. A symbolic link to a file is refused, for what it leads
    to may be anybody's. Everything else (``/dev/stdout``, a device, a pipe, a descriptor of this process) is written to
    and never replaced; a pipe waits for its reader. Raises ``FileError``.
    """
    try:
        descriptor = _own_descriptor(path)
        if descriptor is not None:
            _write_to_descriptor(descriptor, data)
        elif _is_replaced(path):
            if path.is_symlink():
                raise FileError(f"{path}: is a symbolic link, and no file is written through one; remove it")
            _replace(path, data)
        else:
            _write_in_place(path, data)
    except OSError as cause:
        raise FileError(f"{path}: cannot be written ({cause.strerror or cause}){_remedy(path, cause)}") from None


def write_inside(folder: Path, name: str | PurePath, data: bytes) -> None:
    """Write ``data`` to ``name`` below ``folder``, as ``write_bytes`` does.

    Raises ``FileError``, also where a folder on the way is a symbolic link.
    """
    refuse_links(folder, name)
    write_bytes(folder / name, data)


def refuse_links(folder: Path, name: str | PurePath) -> None:
    """Raises ``FileError`` where ``name`` below ``folder``, or a folder on the way, is a symbolic link."""
    path = folder
    for part in PurePath(name).parts:
        path /= part
        if path.is_symlink():
            raise FileError(f"{path}: is a symbolic link, and no file is written through one; remove it")


def make_links(folder: Path, links: Mapping[str, str]) -> list[str]:
    """Make symbolic links below ``folder``. ``links`` has, by path in ``folder``, what each leads to.

    Links that cannot be made are left out. So are those that would lead out of ``folder``, whose paths are returned.

    Call it when all files are written, so that no file is written through a link. Where a link leads is asked of the
    file system, because ``..`` behind another link is not the folder that the path seems to name.
    """
    made: list[str] = []
    out: set[str] = set()
    root = Path(os.path.realpath(folder))
    for path, target in links.items():
        place = root / path
        if not target or os.path.isabs(target) or Path(os.path.realpath(place.parent)) != place.parent:
            out.add(path)
            continue
        with contextlib.suppress(OSError, ValueError):  # a name that is too long, or a file in the place of a folder
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
            made.append(path)
    astray = [path for path in made if not Path(os.path.realpath(root / path)).is_relative_to(root)]
    for path in astray:
        (root / path).unlink()
    out.update(astray)
    return [path for path in links if path in out]


def discard(path: Path) -> None:
    """Remove the file at ``path`` that ``write_bytes`` would replace: a regular file, or a symbolic link (not its
    target).

    Raises ``FileError``.
    """
    try:
        if _own_descriptor(path) is None and _is_replaced(path):
            path.unlink(missing_ok=True)
    except NotADirectoryError:
        return  # writing it says so
    except OSError as cause:
        raise FileError(f"{path}: cannot be removed ({cause.strerror or cause}){_remedy(path, cause)}") from None


def _own_descriptor(path: Path) -> int | None:
    """The open descriptor of this process that ``path`` names, as ``/dev/stdout`` and ``/dev/fd/3`` do.

    Opening such a path would start at the file's first byte, and is refused for a socket.
    """
    for _ in range(_LINKS):
        folder = _DESCRIPTORS.fullmatch(os.path.realpath(path.parent))
        if folder is not None and int(folder["process"]) == os.getpid() and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def is_replaced(path: Path) -> bool:
    """Whether writing to ``path`` makes or replaces a file. It does not for a device, a pipe or an open descriptor."""
    try:
        return _own_descriptor(path) is None and _is_replaced(path)
    except OSError:  # a loop of links, a file in the place of a folder: writing it says so
        return True


def _is_replaced(path: Path) -> bool:
    """Whether ``path`` is a regular file or nothing yet. Raises ``OSError``."""
    if _DESCRIPTORS.fullmatch(os.path.realpath(path.parent)):
        return False  # another process's descriptor: its link leads to a file that may have lost its name
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".candle-parity-{secrets.token_hex(8)}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            _write_all(handle, data)
            if path.exists():
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode) & 0o777)
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_in_place(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _write_all(handle, data)
    finally:
        os.close(handle)


def _write_to_descriptor(descriptor: int, data: bytes) -> None:
    # What was printed before stands before it.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.flush()
    _write_all(descriptor, data)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(handle, rest) :]
        except BlockingIOError:
            select.select([], [handle], [])


def _remedy(path: Path, cause: OSError) -> str:
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        return f": {path} is a folder; give the name of a file"
    if path.is_socket():
        return f": {path} is a socket; give a file, a pipe or an open descriptor such as /dev/fd/3"
    if cause.errno in _FULL:
        return f": the disk of {folder} is full; free some space or give a path on another disk"
    if cause.errno in _CLOSED:
        return f": the folder {folder} may not be written to; give a path in a folder that may"
    return "; give a path that can be written to"
