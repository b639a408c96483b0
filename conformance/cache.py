"""Folders of what took long to make: each with its digest, written whole or not at all, checked whenever it is read.

Nothing in an ``ObjectFolder`` raises for a folder that is damaged, full or read-only: the object is made again, and
``take_warnings`` says why. ``locked`` is how processes wait for the one that makes what they need.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from conformance.notices import warn
from conformance.reading import kind_of, read_bytes

SUFFIX = ".object"
_MAGIC = b"candle-parity object 2 "
_LOCK, _PART = ".lock", ".part"
_POLL = 0.05
_HEADER = len(_MAGIC) + 64 + 1
_swept: set[Path] = set()


def _digest(key: str, code: bytes) -> bytes:
    """Over the key too: a sound object under another one's name is not what was written there."""
    return hashlib.sha256(key.encode() + b"\0" + code).hexdigest().encode()


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[bool]:
    """A context in which this process holds the lock file ``path``, if it gets it within ``seconds``.

    Yields whether it did. Raises ``OSError`` where the file cannot be made.

        with locked(file, 60.0) as ours:
            if ours:
                ...
    """
    end = time.monotonic() + seconds
    while (lock := _try_lock(path)) is None and time.monotonic() < end:
        time.sleep(_POLL)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            with suppress(OSError):
                path.unlink()  # while it is ours: the others see that theirs is another file
            os.close(lock)


class ObjectFolder:
    """A folder of objects by key. The file of an object is a line with its SHA-256, then its bytes.

    ``made`` is the word for how objects come about ("compiled"), for messages. Once the objects have more than
    ``most_bytes``, the oldest are removed before a process adds its first one.
    """

    def __init__(self, folder: Path, made: str = "compiled", most_bytes: int | None = None) -> None:
        self._folder = folder
        self._made = made
        self._most_bytes = most_bytes

    def path(self, key: str) -> Path:
        """The file of the object ``key``, whether or not it is there."""
        return self._folder / (key + SUFFIX)

    def read(self, key: str) -> bytes | None:
        """The bytes of the object ``key``. ``None`` where there is none, or where it was damaged, in which case it is
        removed."""
        entry = self.path(key)
        try:
            content = read_bytes(entry, entry.stat().st_size)
        except FileNotFoundError:
            return None
        except OSError as error:
            if kind_of(entry) is not None:
                self._throw_away(entry, "it is not a file")
                return None
            warn(f"{entry} cannot be read ({error.strerror}): it is {self._made} again")
            return None
        digest, code = content[len(_MAGIC) : _HEADER - 1], content[_HEADER:]
        if content.startswith(_MAGIC) and digest == _digest(key, code):
            return code
        self._throw_away(entry, "its content is not what was written")
        return None

    @contextmanager
    def turn(self, key: str, seconds: float) -> Iterator[bool]:
        """A context that waits until no other process makes the object ``key``. Yields whether this process may
        ``keep`` it.

        It may not after waiting ``seconds`` in vain, and where the folder cannot be written.
        """
        with ExitStack() as stack:
            ours = False
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._sweep()
                ours = stack.enter_context(locked(self._path(key, _LOCK), seconds))
            except OSError as error:
                self._cannot_keep(error)
            yield ours

    def keep(self, key: str, code: bytes) -> None:
        """Write ``code`` as the object ``key``. Call it in a ``turn`` that yielded true; never raises."""
        part = self._path(key, _PART)
        try:
            part.write_bytes(_MAGIC + _digest(key, code) + b"\n" + code)
            os.replace(part, self.path(key))
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            self._cannot_keep(error)

    def _sweep(self) -> None:
        """Remove what interrupted processes left, and what there is beyond ``most_bytes``, once per process."""
        if self._folder in _swept:
            return
        _swept.add(self._folder)
        if self._most_bytes is not None:
            self._trim(self._most_bytes)
        for entry in self._folder.iterdir():
            if entry.suffix in (_LOCK, _PART):
                path = entry.with_suffix(_LOCK)
                lock = _try_lock(path)
                if lock is not None:
                    entry.with_suffix(_PART).unlink(missing_ok=True)
                    path.unlink(missing_ok=True)
                    os.close(lock)

    def _trim(self, most_bytes: int) -> None:
        """Remove the oldest objects beyond ``most_bytes``; another process may be doing the same."""
        with suppress(OSError):
            entries = [(entry.stat(), entry) for entry in self._folder.glob(f"*{SUFFIX}")]
            for status, entry in sorted(entries, key=lambda one: one[0].st_mtime, reverse=True):
                most_bytes -= status.st_size
                if most_bytes < 0:
                    entry.unlink(missing_ok=True)

    def _throw_away(self, entry: Path, what: str) -> None:
        warn(f"{entry} is damaged ({what}): it is thrown away and {self._made} again")
        try:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        except FileNotFoundError:
            pass  # another process was faster
        except OSError as error:
            warn(f"{entry} cannot be removed ({error.strerror}); remove it, or it is {self._made} again in every run")

    def _cannot_keep(self, error: OSError) -> None:
        warn(
            f"the cache folder {self._folder} cannot be written ({error.strerror}): what is {self._made} is not kept; "
            "make room there, or name another folder in CANDLE_PARITY_CACHE"
        )

    def _path(self, key: str, suffix: str) -> Path:
        return self._folder / (key + suffix)


def _try_lock(path: Path) -> int | None:
    """A descriptor of the lock file, locked; ``None`` while another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its last holder may have removed it between our two calls: then another can lock a new one.
        if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
