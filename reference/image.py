"""What the conv references share: the tensors that ``info`` describes, and the type that Candle keeps a sum in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.fma import fma_f32, fma_f64
from reference.result import contiguous
from reference.rounding import BF16
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
    """How products of a type are added up: in ``carrier``, with ``fma(a, b, c)`` giving ``a * b + c``, broadcast."""

    carrier: np.dtype[Any]
    storage: np.dtype[Any]
    fma: Callable[[Array, Array, Array], Array]

    def load(self, x: Array) -> Array:
        return x.astype(self.carrier)

    def store(self, x: Array) -> Array:
        # From float32 numpy and ml_dtypes round to 16 bits once.
        return x.astype(self.storage)


def _flat(fma: Callable[[Any, Any, Any], Array]) -> Callable[[Array, Array, Array], Array]:
    def broadcast(a: Array, b: Array, c: Array) -> Array:
        parts = np.broadcast_arrays(a, b, c)
        return fma(*(np.ascontiguousarray(part).reshape(-1) for part in parts)).reshape(parts[0].shape)

    return broadcast


def _wrapping(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


_F32, _F64, _U8, _U32 = (np.dtype(kind) for kind in (np.float32, np.float64, np.uint8, np.uint32))

SUMS: dict[str, Sum] = {
    "f16": Sum(_F32, np.dtype(np.float16), _flat(fma_f32)),
    "bf16": Sum(_F32, BF16, _flat(fma_f32)),
    "f32": Sum(_F32, _F32, _flat(fma_f32)),
    "f64": Sum(_F64, _F64, _flat(fma_f64)),
    "u8": Sum(_U8, _U8, _wrapping),
    "u32": Sum(_U32, _U32, _wrapping),
}


def to_unsigned(x: Array, kind: np.dtype[Any]) -> Array:
    """A float array truncated to u32, saturating there, then its low bits as ``kind``; NaN does not occur."""
    return np.clip(np.trunc(x.astype(np.float64)), 0, 2**32 - 1).astype(np.uint32).astype(kind)
