"""fast_sum, fast_min, fast_max, fast_argmin, fast_argmax: every block reduces one row by a fixed tree.

A float sum may be added up in any order, in the type itself or in a wider one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype as dtype_row
from reference.arithmetic import ARITHMETIC
from reference.expected import Expected
from reference.result import contiguous, placed
from reference.strided import layout, read
from reference.summation import along, any_order, storing

Array = NDArray[Any]

MAX_THREADS = 1024
IDLE = 0xFFFFFFFF
"""The index of a thread that had no element."""


def threads_of(length: int) -> int:
    """The threads that Candle starts for rows of ``length`` elements: a power of two, 1024 at most."""
    return 1 << (min(MAX_THREADS, max(1, length)) - 1).bit_length()


@np.errstate(all="ignore")
def fast_reduce(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    el_to_sum_per_block: int,
    num_dims: int,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Row b holds elements b * el .. (b + 1) * el - 1 of ``src`` in row-major order; ``dst`` has an element per row.

    With el = 0, the rows are those of the dimensions before the first empty one. Raises ``ValueError`` when
    ``src_numel`` is not a multiple of ``el_to_sum_per_block``.
    """
    x, dims = _rows(int(src_numel), int(el_to_sum_per_block), num_dims, info, src)
    op, dtype = variant["op"], variant["dtype"]
    if op in ("argmin", "argmax"):
        value = _position(x, op == "argmax", dims[-1] if dims else 1, variant.get("fixed") == "lowest-index")
    elif op == "sum":
        value = _sum(x, dtype)
        if dtype in ARITHMETIC:
            found = any_order(along(x, 1), dtype_row(dtype), value, storing(dtype))
            return {"dst": placed(dst, found)}
    else:
        value = _extreme(x, dtype, op == "max")
    return {"dst": contiguous(dst, value)}


def equivalent(variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Array]) -> dict[str, Array]:
    """Which of the indices in ``dst`` are of an element with the extreme value, of which there may be several: which of
    them Candle gives depends on the tree. NaN is not an extreme. Empty for other reductions, and where the lowest index
    is to win.
    """
    if variant.get("op") not in ("argmin", "argmax") or "fixed" in variant:
        return {}
    names = ("src_numel", "el_to_sum_per_block", "num_dims", "info", "src")
    numel, length, *others = (arguments[name] for name in names)
    x, dims = _rows(int(numel), int(length), *others)
    values = _comparable(x)
    mask = np.zeros(got["dst"].size, np.bool_)
    if values.size:
        extreme = (np.fmax if variant["op"] == "argmax" else np.fmin).reduce(values, axis=1)
        index = np.arange(values.size).reshape(values.shape) % dims[-1]
        named = index == got["dst"][: len(values), None]
        mask[: len(values)] = (named & (values == extreme[:, None])).any(axis=1)
    return {"dst": mask}


def _rows(numel: int, length: int, num_dims: int, info: Array, src: Array) -> tuple[Array, tuple[int, ...]]:
    """The elements that each block reduces, a row each, and the dimensions."""
    shape = layout(info, num_dims)
    assert shape is not None
    dims, strides = shape[0], shape[1][0]
    if length and numel % length:
        raise ValueError(f"{numel} elements are not a whole number of rows of {length}")
    rows = numel // length if length else math.prod(dims[: dims.index(0)])
    return read(src, numel, dims, strides).reshape(rows, length), tuple(dims)


def _starts(length: int, threads: int) -> range:
    """The first element of each strip: thread t visits elements start + t."""
    return range(0, length, threads)


def _sum(x: Array, dtype: str) -> Array:
    """In Candle's order. In the type itself: float16 and bfloat16 round at every step, integers wrap."""
    a = ARITHMETIC.get(dtype)
    settle = (lambda part: part) if a is None else a.settle
    values = x if a is None else a.load(x)
    threads = threads_of(x.shape[1])
    held = np.zeros((x.shape[0], threads), values.dtype)
    for start in _starts(x.shape[1], threads):
        strip = values[:, start : start + threads]
        held[:, : strip.shape[1]] = _settled(settle, held[:, : strip.shape[1]] + strip)
    while threads > 1:
        threads //= 2
        held = _settled(settle, held[:, :threads] + held[:, threads:])
    return held[:, 0] if a is None else np.asarray(a.store(np.ascontiguousarray(held[:, 0])))


def _settled(settle: Any, x: Array) -> Array:
    return np.asarray(settle(x.reshape(-1)).reshape(x.shape))


def _comparable(x: Array) -> Array:
    """Exact, in a type that numpy compares: float16 and bfloat16 as float32."""
    return x if x.dtype.kind in "iu" or x.dtype.itemsize >= 4 else x.astype(np.float32)


def _extreme(x: Array, dtype: str, greatest: bool) -> Array:
    """Independent of the order. +0 is greater than -0; a NaN is skipped in float32 and float64, else it wins."""
    values = _comparable(x)
    if values.dtype.kind in "iu":
        return np.asarray(values.max(axis=1) if greatest else values.min(axis=1))
    if not ARITHMETIC[dtype].nan_maximum:
        # Signalling ones too, which np.fmax and np.fmin do not skip. A row without a number keeps what it started with.
        values = np.where(np.isnan(values), values.dtype.type(-np.inf if greatest else np.inf), values)
    found = (np.maximum if greatest else np.minimum).reduce(values, axis=1)
    zeros = np.where(values == 0, np.signbit(values), greatest)
    negative = zeros.all(axis=1) if greatest else zeros.any(axis=1)
    signed = np.where(found == 0, np.where(negative, -0.0, 0.0).astype(found.dtype), found)
    return signed.astype(x.dtype)


def _position(x: Array, greatest: bool, innermost: int, lowest: bool) -> Array:
    """A thread takes its first element whatever it is and then strictly better ones; so does the tree.

    With ``lowest`` it is the first of the best elements, but for rows with a NaN.
    """
    values = _comparable(x)
    rows, length = x.shape
    threads = threads_of(length)
    held = np.full((rows, threads), _worst(values.dtype, greatest), values.dtype)
    at = np.full((rows, threads), -1, np.int64)
    for start in _starts(length, threads):
        strip = values[:, start : start + threads]
        width = strip.shape[1]
        taken = _better(strip, held[:, :width], greatest) | (start == 0)
        held[:, :width] = np.where(taken, strip, held[:, :width])
        at[:, :width] = np.where(taken, start + np.arange(width), at[:, :width])
    while threads > 1:
        threads //= 2
        taken = _better(held[:, threads:], held[:, :threads], greatest)
        held = np.where(taken, held[:, threads:], held[:, :threads])
        at = np.where(taken, at[:, threads:], at[:, :threads])
    if lowest and length:
        nan = np.isnan(values).any(axis=1) if values.dtype.kind == "f" else np.zeros(rows, bool)
        at[:, 0] = np.where(nan, at[:, 0], values.argmax(axis=1) if greatest else values.argmin(axis=1))
    # The position in the row-major order of all elements, modulo the innermost dimension.
    flat = np.arange(rows) * length + at[:, 0]
    return np.where(at[:, 0] < 0, IDLE, flat % innermost).astype(np.uint32)


def _better(x: Array, y: Array, greatest: bool) -> Array:
    return np.asarray(x > y if greatest else x < y)


def _worst(dtype: np.dtype[Any], greatest: bool) -> Any:
    if dtype.kind == "f":
        return -np.inf if greatest else np.inf
    limits = np.iinfo(dtype)
    return limits.min if greatest else limits.max
