"""Candle's ``info`` arrays: dimensions, then one set of strides per operand, outermost first, in elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def layout(info: Array | None, num_dims: int, operands: int = 1) -> tuple[list[int], list[list[int]]] | None:
    """Dimensions and the strides of each operand; ``None`` for a null ``info``, which means contiguous.

    Raises ``ValueError`` when ``info`` is shorter than ``num_dims * (1 + operands)``.
    """
    if info is None:
        return None
    n = int(num_dims)
    if info.size < n * (1 + operands):
        raise ValueError(f"info has {info.size} elements; {n} dimensions and {operands} operands take more")
    numbers = info[: n * (1 + operands)].tolist()
    return numbers[:n], [numbers[n * k : n * (k + 1)] for k in range(1, operands + 1)]


def bits(array: Array) -> Array:
    """The array's elements as unsigned integers of the same width, without a copy."""
    return array.view(f"u{array.dtype.itemsize}")


def read(buffer: Array, numel: int, dims: Sequence[int] | None, strides: Sequence[int] | None) -> Array:
    """The ``numel`` elements that threads 0.. read, in order, as a 1-D array (a view where contiguous).

    Raises ``ValueError`` when an element lies beyond the buffer.
    """
    count = int(numel)
    if dims is None or strides is None or count == 0:
        if count > buffer.size:
            raise ValueError(f"{count} elements asked of a buffer of {buffer.size}")
        return buffer[:count]
    raw = bits(buffer)
    flat = view(raw, leading(dims, count), strides).reshape(-1)
    if flat.size != count:
        # A thread's index wraps at the product of the dimensions.
        flat = np.resize(flat, count)
    return flat.view(buffer.dtype)


def one_operand(numel: int, num_dims: int, info: Array | None, inp: Array | None, out: Array) -> Array:
    """The elements that a one-operand kernel reads, in order: of ``inp``, or of ``out`` where ``inp`` is null."""
    if inp is None:
        return read(out, numel, None, None)
    shape = layout(info, num_dims)
    return read(inp, numel, *((None, None) if shape is None else (shape[0], shape[1][0])))


def write(buffer: Array, numel: int, dims: Sequence[int], strides: Sequence[int], value: Any) -> None:
    """Stores the scalar ``value`` at the elements that threads 0..numel-1 address; other elements stay.

    Raises ``ValueError`` when an element lies beyond the buffer.
    """
    count = int(numel)
    if count == 0:
        return
    scalar = bits(np.asarray(value, dtype=buffer.dtype).reshape(1))[0]
    raw = bits(buffer)
    dims = leading(dims, count)
    if count >= math.prod(dims):
        view(raw, dims, strides)[...] = scalar
    else:
        index = np.arange(raw.size, dtype=np.int64)
        raw[view(index, dims, strides).reshape(-1)[:count]] = scalar


def leading(dims: Sequence[int], count: int) -> list[int]:
    """``dims`` as far as the first ``count`` elements (1 or more) reach: outer dimensions that they do not get through
    are cut."""
    cut, needed = list(dims), count
    for axis in range(len(cut) - 1, -1, -1):
        cut[axis] = min(cut[axis], needed)
        needed = -(-needed // max(1, cut[axis]))
    return cut


def view(raw: Array, dims: Sequence[int], strides: Sequence[int]) -> Array:
    """``raw`` (a numpy dtype, 1-D) seen with ``dims`` and ``strides`` in elements, sharing its memory.

    Raises ``ValueError`` when an element lies beyond ``raw``.
    """
    size = raw.dtype.itemsize
    try:
        return np.ndarray(tuple(dims), raw.dtype, raw, 0, tuple(stride * size for stride in strides))
    except (TypeError, ValueError) as error:
        raise ValueError(f"dims {list(dims)} with strides {list(strides)} reach beyond {raw.size} elements") from error
