"""A module's traces as one compressed file, ``MODULE.traces.xz``: the same cases and arrays in a third of the space.

Inside the xz stream: the length of the header as 8 bytes, little endian; the header, JSON with ``cases`` (as in
``MODULE.json``) and ``pool`` (rows of key, numpy dtype, number of elements); then the arrays in that order, each as
byte planes: the first byte of every element, then the second, and so on, which is what makes floats compress.

``python -m conformance.replay.archive SOURCE TARGET`` packs a folder of ``MODULE.json`` and ``MODULE.npz`` files.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SUFFIX = ".traces.xz"
_LENGTH_BYTES = 8

Pool = dict[str, NDArray[Any]]
Cases = list[dict[str, Any]]


def read_archive(path: Path) -> tuple[Cases, Pool]:
    """The cases and arrays of ``path``; raises ``ValueError`` when the file is cut short or no archive."""
    try:
        content = lzma.decompress(path.read_bytes())
        length = int.from_bytes(content[:_LENGTH_BYTES], "little")
        header = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length])
        cases: Cases = header["cases"]
        rows = [(str(key), np.dtype(kind), int(count)) for key, kind, count in header["pool"]]
    except (lzma.LZMAError, EOFError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"is no trace archive, or was cut short ({error!r})") from error
    position = _LENGTH_BYTES + length
    pool: Pool = {}
    for key, kind, count in rows:
        planes = np.frombuffer(content, np.uint8, count * kind.itemsize, position)
        pool[key] = np.ascontiguousarray(planes.reshape(kind.itemsize, count).T).reshape(-1).view(kind)
        position += planes.size
    if position != len(content):
        raise ValueError(f"is no trace archive: {len(content) - position} bytes follow the last array")
    return cases, pool


def write_archive(path: Path, cases: Cases, pool: Pool) -> None:
    """Write ``cases`` and the arrays that they name."""
    rows = [(key, array.dtype.str, int(array.size)) for key, array in pool.items()]
    header = json.dumps({"cases": cases, "pool": rows}, separators=(",", ":")).encode()
    parts = [len(header).to_bytes(_LENGTH_BYTES, "little"), header]
    for array in pool.values():
        flat = np.ascontiguousarray(array).reshape(-1)
        parts.append(np.ascontiguousarray(flat.view(np.uint8).reshape(-1, flat.itemsize).T).tobytes())
    path.write_bytes(lzma.compress(b"".join(parts), preset=9 | lzma.PRESET_EXTREME))


def pack(source: Path, target: Path) -> None:
    """Pack every module of ``source`` into ``target``."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.json")):
        with np.load(path.with_suffix(".npz")) as arrays:
            write_archive(target / f"{path.stem}{SUFFIX}", json.loads(path.read_text()), dict(arrays))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
