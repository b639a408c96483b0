"""Writing traces: the cases of one kernel as a part, the parts of a module as one archive.

A part is written by the worker that launched the kernel, so that no process holds more than a module's arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.case import Case
from conformance.cases.launch import POISON_BYTE, Argument, Launch, Null, Scalar, Stream
from conformance.dtypes import dtype
from conformance.replay.archive import FAST, SUFFIX, Cases, Pool, read_archive, write_archive, write_archive_in_place
from conformance.spec.entry import Entry

GENERATED = "generated"
"""Begins the label of a generated case; its fields follow: ``uneg_f32(trace=generated,shape=[3],values=unit)``."""

PART_SUFFIX = ".traces"
_KEY_BYTES = 8


class Recorder:
    """Collects the recorded launches of one kernel.

    ``call`` is what a call of a host function is recorded as (``launcher`` or ``library``); a kernel's launch has none.
    """

    def __init__(self, call: Entry = "launcher") -> None:
        self._call = call
        self._cases: Cases = []
        self._pool: Pool = {}

    def add(self, case: Case, launch: Launch, after: Mapping[str, NDArray[Any]], label: str | None = None) -> None:
        """Add one launch. ``after`` has the whole content of every buffer after it, by parameter name.

        ``label`` names the trace; by default it is made from the generated case.
        """
        self._cases.append(
            {
                "kernel": launch.kernel,
                "case": ",".join(filter(None, (GENERATED, case.text))) if label is None else label,
                **(
                    {"entry": self._call}
                    if launch.types
                    else {"grid": launch.grid, "block": launch.block, "shared": launch.shared}
                ),
                "args": [self._row(argument, after) for argument in launch.args],
            }
        )

    def write(self, folder: Path, kernel: str) -> None:
        """Write what was added, if anything, to a part of ``kernel`` in ``folder``."""
        if self._cases:
            write_archive(folder / f"{kernel}{PART_SUFFIX}", self._cases, self._pool)

    def _row(self, argument: Argument, after: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        if isinstance(argument, Null):
            return {"kind": "null"}
        if isinstance(argument, Scalar):
            row = dtype(argument.dtype)
            # Types that numpy itself lacks, and f16 with them, travel as the unsigned integers of their bits.
            kind = row.bits if row.kind == "float" and row.size < 4 else row.numpy
            return {"kind": "scalar", "dtype": kind.name, "value": argument.value.tobytes().hex()}
        if isinstance(argument, Stream):
            return {"kind": "stream", "name": argument.name}
        if argument.role == "scratch":
            # The executor fills it, whatever the case holds.
            return {"kind": "scratch", "name": argument.name, "bytes": argument.data.nbytes, "fill": POISON_BYTE}
        data = argument.data
        described: dict[str, Any] = {"kind": "buf", "name": argument.name, "role": argument.role}
        described |= {"dtype": data.dtype.name, "n": data.size}
        if argument.start:
            described["start"] = argument.start
        image = data.view(np.uint8)
        if argument.role == "out" and image.size and (image == image[0]).all():
            described |= {"data": None, "fill": int(image[0])}
        else:
            described["data"] = self._pooled(data)
        left = after.get(argument.name, data)
        # The very array says that nobody has written to it.
        overwritten = left is not data and not np.array_equal(np.ascontiguousarray(left).view(np.uint8), image)
        if argument.role != "in" or overwritten:
            described["expect"] = self._pooled(after[argument.name])
        return described

    def _pooled(self, array: NDArray[Any]) -> str:
        """The key of ``array`` in the pool: made of its bytes, so that equal arrays are stored once."""
        words = array.view(f"u{array.itemsize}")
        key = hashlib.blake2b(words.tobytes(), digest_size=_KEY_BYTES).hexdigest()
        self._pool.setdefault(key, words)
        return key


def pack_parts(parts: Sequence[Path], folder: Path, module: str, recording: Mapping[str, Any]) -> int:
    """Pack those of ``parts`` that exist into the archive of ``module`` in ``folder``; returns the number of cases."""
    cases: Cases = []
    pool: Pool = {}
    for part in parts:
        if part.exists():
            mine, arrays = read_archive(part)
            cases += mine
            pool |= arrays
    if cases:
        write_archive_in_place(folder / f"{module}{SUFFIX}", cases, pool, recording, FAST)
    return len(cases)
