"""argsort of rows by a bitonic network, whose order of equal values (and of NaN) is part of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.result import contiguous
from reference.softmax import whole_rows

Array = NDArray[Any]


@np.errstate(all="ignore")
def argsort(
    variant: Mapping[str, str], library_ulp: int, *, x: Array, dst: Array, ncols: int, ncols_pad: int
) -> dict[str, Expected]:
    """``x`` is all rows: rows x ncols, row-major; raises ``ValueError`` where it is not a whole number of rows.

    The network runs over ``ncols_pad`` columns (a power of two); those from ``ncols`` on are padding and go last.
    """
    columns, padded = int(ncols), int(ncols_pad)
    rows = whole_rows(x, columns)
    index = np.tile(np.arange(padded), (rows, 1))
    key = np.zeros((rows, padded), _comparable(x).dtype)
    key[:, :columns] = _comparable(x).reshape(rows, columns)
    merged = 2
    while merged <= padded:
        distance = merged // 2
        while distance:
            _stage(index, key, columns, merged, distance, variant["op"] == "desc")
            distance //= 2
        merged *= 2
    return {"dst": contiguous(dst, index[:, :columns].reshape(-1).astype(np.uint32))}


def equivalent(variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Array]) -> dict[str, Array]:
    """Which elements of a written buffer are as right as the reference's: any order of equal values is.

    ``arguments`` are the kernel's own by name, ``got`` the content of ``dst`` after the launch. An element is right
    where its row names every column once and the value it names equals the one that belongs there.
    """
    columns = int(arguments["ncols"])
    x = _comparable(arguments["x"])
    rows = whole_rows(x, columns)
    keys, found = x.reshape(rows, columns), got["dst"][: rows * columns].reshape(rows, columns).astype(np.int64)
    permuted = (np.sort(found, axis=1) == np.arange(columns)).all(axis=1)
    named = np.take_along_axis(keys, np.where(permuted[:, None], found, 0), axis=1)
    ordered = np.sort(keys, axis=1)  # NaN equals nothing: where it belongs no element is right
    right = permuted[:, None] & (named == (ordered[:, ::-1] if variant["op"] == "desc" else ordered))
    mask = np.zeros(got["dst"].size, np.bool_)
    mask[: rows * columns] = right.reshape(-1)
    return {"dst": mask}


def _comparable(x: Array) -> Array:
    """Exact, in a type that numpy compares: float16 and bfloat16 as float32."""
    return x if x.dtype.kind in "iu" or x.dtype.itemsize >= 4 else x.astype(np.float32)


def _stage(index: Array, key: Array, columns: int, merged: int, distance: int, descending: bool) -> None:
    """One stage, in place: every column against the column ``distance`` on, in runs of ``merged`` columns.

    Runs sort in alternating directions. Comparisons are strict: equal values stay, and so does what meets a NaN.
    """
    rows, padded = index.shape
    pairs = (rows, padded // (2 * distance), 2, distance)
    indices, keys = index.reshape(pairs), key.reshape(pairs)
    low, high = indices[:, :, 0], indices[:, :, 1]
    first, second = keys[:, :, 0], keys[:, :, 1]
    ascend = (np.arange(pairs[1]) * 2 * distance & merged) == 0
    after, before = (first < second, first > second) if descending else (first > second, first < second)
    low_padding, high_padding = low >= columns, high >= columns
    exchanged = np.where(
        ascend[None, :, None],
        low_padding | (~high_padding & after),
        high_padding | (~low_padding & before),
    )
    for pair in (indices, keys):
        pair[:, :, 0], pair[:, :, 1] = (
            np.where(exchanged, pair[:, :, 1], pair[:, :, 0]),
            np.where(exchanged, pair[:, :, 0], pair[:, :, 1]),
        )
