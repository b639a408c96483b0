"""How a formula is computed in each of Candle's float types.

float32 and float64 use their own operations. float16 and bfloat16 round after every operation: each is computed in
float64 and rounded once. float8 is decoded to float32, computed there and encoded once at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import float8, library
from reference.fma import fma_f32, fma_f64, fma_odd
from reference.rounding import BF16, to_bf16, to_f16

Array = NDArray[Any]
Convert = Callable[[Array], Array]


def _same(x: Array) -> Array:
    return x


@dataclass(frozen=True)
class Arithmetic:
    """The arithmetic of one type.

    ``storage`` is the buffers' dtype and ``carrier`` the dtype that holds values during a formula; ``load`` and
    ``store`` convert between them. ``settle`` rounds an operation's result to what the type can hold. ``kind`` is the
    type that library functions are called in. ``fma`` takes and gives carrier values, rounded once.
    ``nan_maximum``: a NaN wins in max and min (float16, bfloat16); elsewhere the number wins.
    """

    storage: np.dtype[Any]
    carrier: np.dtype[Any]
    kind: np.dtype[Any]
    load: Convert
    store: Convert
    settle: Convert
    fma: Callable[[Array, Array, Array], Array]
    nan_maximum: bool = False

    def number(self, x: float) -> Array:
        """A constant as the type holds it."""
        return self.settle(np.asarray([x], self.carrier))

    def add(self, a: Array, b: Array) -> Array:
        return self.settle(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        return self.settle(a - b)

    def mul(self, a: Array, b: Array) -> Array:
        return self.settle(a * b)

    def div(self, a: Array, b: Array) -> Array:
        return self.settle(a / b)

    def call(self, name: str, arguments: tuple[Array, ...], ulp: int) -> list[Array]:
        """``library.call`` in ``kind``, as carrier values."""
        return [result.astype(self.carrier, copy=False) for result in library.call(name, arguments, self.kind, ulp)]


def _native(kind: type[np.generic], fma: Callable[..., Array]) -> Arithmetic:
    dtype = np.dtype(kind)
    return Arithmetic(dtype, dtype, dtype, _same, _same, _same, fma)


def _half(storage: np.dtype[Any], narrow: Convert) -> Arithmetic:
    def widen(x: Array) -> Array:
        return x.astype(np.float64)

    def settle(x: Array) -> Array:
        return narrow(x).astype(np.float64)

    def fma(a: Array, b: Array, c: Array) -> Array:
        return settle(fma_odd(a, b, c))

    wide = np.dtype(np.float64)
    return Arithmetic(storage, wide, storage, widen, narrow, settle, fma, nan_maximum=True)


_F32 = np.dtype(np.float32)

ARITHMETIC: dict[str, Arithmetic] = {
    "f64": _native(np.float64, fma_f64),
    "f32": _native(np.float32, fma_f32),
    "f16": _half(np.dtype(np.float16), to_f16),
    "bf16": _half(BF16, to_bf16),
    "f8e4m3": Arithmetic(float8.F8, _F32, _F32, float8.decode, float8.encode, _same, fma_f32),
}


def arithmetic(name: str) -> Arithmetic:
    """The arithmetic of dtype ``name``; raises ``ValueError`` naming the known ones when there is none."""
    try:
        return ARITHMETIC[name]
    except KeyError:
        raise ValueError(f"no float arithmetic for dtype {name!r}; known: {', '.join(ARITHMETIC)}") from None
