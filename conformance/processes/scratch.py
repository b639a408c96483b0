"""Where temporary files can be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from conformance.files import cache_folder
from conformance.processes.errors import InfrastructureError

COMMON = Path("/tmp")
ROOM = 64 << 20
"""Bytes that a folder for temporary files should have; a compilation takes some 20 MiB."""

_PROBE = 64 << 10


def scratch_base() -> Path:
    """The first folder that takes files and has ``ROOM``, else the first that takes files.

    Tried are ``$TMPDIR`` where it is set, ``/tmp`` and the cache folder. ``take_warnings`` reports a ``TMPDIR`` that
    was passed over. Raises ``InfrastructureError`` where none takes files.
    """
    from conformance.notices import warn

    refused, narrow = [], []
    for folder, name in _candidates():
        why = _refusal(folder)
        if why is not None:
            refused.append(f"{name}: {why}")
        elif not has_room(folder):
            narrow.append(folder)
            refused.append(f"{name}: less than {ROOM >> 20} MiB left")
        else:
            if refused:
                warn(f"temporary files go to {folder} ({'; '.join(refused)})")
            return folder
    if narrow:
        return narrow[0]
    raise InfrastructureError(
        f"no folder for temporary files can be written ({'; '.join(refused)}); make room in one, or set TMPDIR to a "
        "folder that can be written"
    )


def has_room(folder: Path, size: int = ROOM) -> bool:
    """Whether ``size`` bytes more can be written in ``folder``; false where it is not there."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= size and (found.f_files == 0 or found.f_favail >= 100)


def _candidates() -> Iterator[tuple[Path, str]]:

    chosen = os.environ.get("TMPDIR")
    if chosen:
        yield Path(chosen).absolute(), f"TMPDIR={chosen}"
        yield cache_folder().absolute(), f"the cache folder {cache_folder()}"
    yield COMMON, str(COMMON)
    if not chosen:
        yield cache_folder().absolute(), f"the cache folder {cache_folder()}"


def _refusal(folder: Path) -> str | None:
    """Why a file of some size cannot be written in ``folder``."""
    probe = folder / f".candle-parity-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(probe, "xb", buffering=0) as file:
            if (file.write(bytes(_PROBE)) or 0) < _PROBE:
                return os.strerror(errno.ENOSPC)
    except OSError as error:
        return error.strerror
    finally:
        probe.unlink(missing_ok=True)
    return None
