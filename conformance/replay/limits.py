"""What recorded traces may ask of the machine, checked before memory is taken: a short file can unpack to any size."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.reading import MIB

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
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as members:
            rows = members.infolist()
            if any(row.flag_bits & 1 for row in rows):
                raise ValueError("it is encrypted")
            check_room(sum(row.file_size for row in rows))
        with np.load(path, allow_pickle=False) as arrays:
            pool = {key: arrays[key] for key in arrays.files}
    except (OSError, MemoryError):
        raise
    except Exception as error:  # zipfile and numpy raise nearly anything on a damaged file
        raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from None
    for key, array in pool.items():
        check_array(key, array)
    return pool
