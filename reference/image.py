"""What the conv references share: the tensors that ``info`` describes, and the type that Candle keeps a sum in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import COLUMNS, DType, dtype
from reference.arithmetic import ARITHMETIC
from reference.expected import Expected
from reference.fma import fma_f32, fma_f64
from reference.result import contiguous
from reference.strided import read

Array = NDArray[Any]


def tensors(info: Array, rank: int, *buffers: Array) -> list[Array]:
    """The tensors of ``rank`` dimensions in ``buffers``, in their own dtype; ``info`` is dims and strides of each.

    Raises ``ValueError`` when ``info`` is too short or an element lies beyond its buffer.
    """
    if info.size < 2 * rank * len(buffers):
        raise ValueError(f"info has {info.size} elements; {len(buffers)} tensors of rank {rank} take more")
    numbers = [int(number) for number in info]
    found = []
    for n, buffer in enumerate(buffers):
        dims, strides = (numbers[rank * at : rank * (at + 1)] for at in (2 * n, 2 * n + 1))
        found.append(read(buffer, math.prod(dims), dims, strides).reshape(dims))
    return found


def written(dst: Array, value: Array) -> dict[str, Expected]:
    """``dst`` with its first elements replaced by those of ``value``, row-major."""
    return {"dst": contiguous(dst, np.ascontiguousarray(value).reshape(-1))}


@dataclass(frozen=True)
class Sum:
    """How products of a type are added up: in ``carrier``, with ``fma(a, b, c)`` giving ``a * b + c`` of arrays
    of one dimension; ``store`` makes the type of it."""

    carrier: np.dtype[Any]
    store: Callable[[Array], Array]
    fma: Callable[[Array, Array, Array], Array]

    def load(self, x: Array) -> Array:
        return x.astype(self.carrier)


def _wrapping(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def _sum(row: DType) -> Sum:
    """Floats of fewer than 32 bits are added up in float32 and rounded once, integers wrap."""
    if row.format is None:
        return Sum(row.numpy, lambda x: x, _wrapping)
    wide = row.size == 8
    # From float32 numpy and ml_dtypes round to 16 bits once.
    store = ARITHMETIC[row.name].store if row.format.computes == "f32" else lambda x: x.astype(row.numpy)
    return Sum(np.dtype(np.float64 if wide else np.float32), store, fma_f64 if wide else fma_f32)


SUMS: dict[str, Sum] = {name: _sum(dtype(name)) for name in COLUMNS}


def to_unsigned(x: Array, kind: np.dtype[Any]) -> Array:
    """A float array truncated to u32, saturating there, then its low bits as ``kind``; NaN does not occur."""
    return np.clip(np.trunc(x.astype(np.float64)), 0, 2**32 - 1).astype(np.uint32).astype(kind)
