"""What recorded traces may ask of the machine, checked before memory is taken: a short file can unpack to any size."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conformance.reading import MIB, kind_of

Read = TypeVar("Read")

MOST_HEADER = 256 * MIB
"""Bytes of an archive's header; one of all generated cases has 20 MiB."""


def check_room(size: int) -> None:
    """Raises ``ValueError`` where arrays of ``size`` bytes would take more than half of the machine's memory."""
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if size > room:
        raise ValueError(
            f"its arrays have {size // MIB} MiB, over the {room // MIB} MiB that are half of the memory here"
        )


def check_array(key: str, array: NDArray[Any]) -> None:
    """Raises ``ValueError`` for an array that is not a list of unsigned integers, as all of a pool are."""
    if array.ndim != 1 or array.dtype.kind != "u" or not array.dtype.isnative:
        raise ValueError(f"array {key} has {array.ndim} dimensions of type {array.dtype}, not one of unsigned integers")


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file; raises ``OSError``, and ``ValueError`` for everything that it must not be."""
    kind = kind_of(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    members = _undamaged(lambda: _members(path))
    if any(member.flag_bits & 1 for member in members):
        raise ValueError("it is encrypted")
    check_room(sum(member.file_size for member in members))
    pool = _undamaged(lambda: _arrays(path))
    for key, array in pool.items():
        check_array(key, array)
    return pool


def _members(path: Path) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(path) as file:
        return file.infolist()


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _undamaged(read: Callable[[], Read]) -> Read:
    """``read()``; zipfile and numpy raise nearly anything on a damaged file, which becomes ``ValueError`` here."""
    try:
        return read()
    except (OSError, MemoryError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())
        raise ValueError(f"it is damaged: {type(error).__name__} ({why})") from None
