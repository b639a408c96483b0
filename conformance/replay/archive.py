"""A module's traces as one compressed file, ``MODULE.traces.xz``: the same cases and arrays in a third of the space.

Inside the xz stream: the length of the header as 8 bytes, little endian; the header, JSON with ``cases`` (as
``conformance.replay.traces`` has them), ``pool`` (rows of key, numpy dtype, number of elements) and, where it is known,
``recording`` (what the answers were recorded on, an object of text and numbers); then the arrays in that order, each as
byte planes: the first byte of every element, then the second, and so on, which is what makes floats compress. A file
without the suffix ``.xz`` is the same, uncompressed.
"""

from __future__ import annotations

import json
import lzma
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from conformance.reading import MIB, kind_of, shortened

SUFFIX = ".traces.xz"
SMALLEST = 9 | lzma.PRESET_EXTREME
FAST = 1
"""Generated cases are random data: preset 6 makes them 5% smaller, in three times the time and ten times the memory."""

_MOST_HEADER = 256 * MIB
"""Bytes of an archive's header; one of all generated cases has 20 MiB."""

_LENGTH_BYTES = 8
_XZ_END = b"YZ"
_TOO_BIG = (OverflowError, MemoryError)

Pool = dict[str, NDArray[Any]]
Cases = list[dict[str, Any]]


@dataclass(frozen=True)
class Header:
    """The header of an archive: its cases, and a row for each array (key, dtype, number of elements). ``recording``
    says what the answers were recorded on."""

    cases: Cases
    rows: list[tuple[str, np.dtype[Any], int]]
    recording: dict[str, Any]


def read_header(path: Path) -> Header:
    """The header of the archive ``path``, without its arrays. Raises ``ValueError`` for a file that is cut short or no
    archive."""
    with _read(path) as stream:
        return _header(stream)


def read_archive(path: Path) -> tuple[Cases, Pool]:
    """The cases and the arrays (one-dimensional, of unsigned integers, by key) of the archive ``path``.

    Raises ``ValueError`` for a file that is cut short or no archive, or whose arrays exceed half of the memory.
    """
    with _read(path) as stream:
        header = _header(stream)
        pool: Pool = {}
        _check_room(sum(count * kind.itemsize for _, kind, count in header.rows))
        for key, kind, count in header.rows:
            planes = np.frombuffer(stream.read(count * kind.itemsize), np.uint8)
            if planes.size != count * kind.itemsize:
                raise EOFError(f"array {key} is incomplete")
            pool[key] = np.ascontiguousarray(planes.reshape(kind.itemsize, count).T).reshape(-1).view(kind)
        if stream.read(1):
            raise EOFError("bytes follow the last array")
        return header.cases, pool


def write_archive(
    path: Path, cases: Cases, pool: Pool, recording: Mapping[str, Any] | None = None, preset: int = SMALLEST
) -> None:
    """Write ``cases`` and ``pool``, the arrays that they name, to ``path``. A path that ends in ``.xz`` is compressed,
    with xz's ``preset``."""
    rows = [(key, array.dtype.str, int(array.size)) for key, array in pool.items()]
    content = {"cases": cases, "pool": rows} | ({"recording": dict(recording)} if recording else {})
    header = json.dumps(content, separators=(",", ":")).encode()
    with lzma.open(path, "wb", preset=preset) if path.suffix == ".xz" else path.open("wb") as stream:
        stream.write(len(header).to_bytes(_LENGTH_BYTES, "little") + header)
        for array in pool.values():
            flat = np.ascontiguousarray(array).reshape(-1)
            stream.write(np.ascontiguousarray(flat.view(np.uint8).reshape(-1, flat.itemsize).T).tobytes())


def write_archive_in_place(
    target: Path, cases: Cases, pool: Pool, recording: Mapping[str, Any] | None = None, preset: int = SMALLEST
) -> None:
    """``write_archive``, but ``target`` is replaced in one step: a reader sees the old file or the new one."""
    # A name that nobody can have put a link under, for what that leads to is not ours to write; and that no reader of
    # the folder takes for an archive.
    unfinished = target.with_name(f".{secrets.token_hex(4)}.part{target.suffix}")
    try:
        write_archive(unfinished, cases, pool, recording, preset)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _check_room(size: int) -> None:
    """Raises ``ValueError`` where arrays of ``size`` bytes would take more than half of the machine's memory."""
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if size > room:
        raise ValueError(
            f"its arrays have {size // MIB} MiB, over the {room // MIB} MiB that are half of the memory here"
        )


@contextmanager
def _read(path: Path) -> Iterator[BinaryIO]:
    try:
        if path.suffix == ".xz":
            if kind_of(path) is not None:
                raise EOFError(f"it is {kind_of(path)}, not a regular file")
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - len(_XZ_END)))
                if file.read() != _XZ_END:
                    raise EOFError("it does not end as an xz file does")
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
            yield cast(BinaryIO, stream)
    except (
        lzma.LZMAError,
        EOFError,
        AttributeError,
        KeyError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
        *_TOO_BIG,
    ) as error:
        raise ValueError(f"is not a trace archive, or was cut short ({shortened(repr(error))})") from None


def _header(stream: BinaryIO) -> Header:
    length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
    if length > _MOST_HEADER:
        raise EOFError(f"a header of {length} bytes")
    text = stream.read(length)
    if len(text) < length:
        raise EOFError("the header is incomplete")
    header = json.loads(text)
    rows = [(str(key), np.dtype(kind), count) for key, kind, count in header["pool"]]
    for key, kind, count in rows:
        if kind.kind != "u" or not kind.isnative or not isinstance(count, int) or count < 0:
            raise TypeError(f"array {key} is {count!r} elements of type {kind}, not a number of unsigned integers")
    recording = header.get("recording")
    return Header(header["cases"], rows, recording if isinstance(recording, dict) else {})
