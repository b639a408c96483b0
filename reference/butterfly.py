"""Sums over the threads of a block in the order of Candle's kernels: strips of a row, then lanes, then groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LANES = 32
"""Lanes of a CUDA warp, over which sums go in a butterfly."""


def strips(rows: Array, threads: int) -> Array:
    """``rows`` (of shape rows x columns) as rows x strips x threads, short strips filled up with zeros.

    Thread t visits the elements [:, :, t], in order of the strips.
    """
    count, columns = rows.shape
    full = -(-columns // threads)
    padded = np.zeros((count, full * threads), rows.dtype)
    padded[:, :columns] = rows
    return padded.reshape(count, full, threads)


def in_order(terms: Array) -> Array:
    """rows x strips x threads to the sum over the strips, added to +0 one after the other, each sum rounded."""
    return np.asarray(np.add.accumulate(terms + terms.dtype.type(0), axis=1)[:, -1])


def butterfly(x: Array, add: Callable[[Array, Array], Array] = np.add) -> Array:
    """The sum over the last axis (its size a power of two): lane t + lane t ^ m, for m = size / 2, ..., 2, 1."""
    lanes = np.arange(x.shape[-1])
    step = x.shape[-1] // 2
    while step:
        x = add(x, x[..., lanes ^ step])
        step //= 2
    return np.asarray(x[..., 0])


def over_block(x: Array) -> Array:
    """rows x threads to rows: over the lanes of every group of 32, then over the groups, filled up to 32 with zeros."""
    rows, threads = x.shape
    if threads <= LANES:
        return butterfly(x)
    groups = butterfly(x.reshape(rows, threads // LANES, LANES))
    shelf = np.zeros((rows, LANES), x.dtype)
    shelf[:, : groups.shape[1]] = groups
    return butterfly(shelf)
