"""How a formula is computed in each of Candle's float types, as their rows in ``conformance.dtypes`` say.

float32 and float64 use their own operations. float16 and bfloat16 round after every operation: each is computed in
float64 and rounded once. float8 is decoded to float32, computed there and encoded once at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import FLOATS, DType
from reference import library
from reference.float8 import decoder, encoder
from reference.fma import fma_f32, fma_f64, fma_odd
from reference.rounding import rounded

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
        """The constant ``x``, rounded to the type: one element of the carrier's dtype, which broadcasts."""
        return self.settle(np.asarray([x], self.carrier))

    def add(self, a: Array, b: Array) -> Array:
        """``a + b``, rounded as the type rounds. As of the three below: carrier values of shapes that broadcast."""
        return self.settle(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        """``a - b``, rounded likewise."""
        return self.settle(a - b)

    def mul(self, a: Array, b: Array) -> Array:
        """``a * b``, rounded likewise."""
        return self.settle(a * b)

    def div(self, a: Array, b: Array) -> Array:
        """``a / b``, rounded likewise; by IEEE 754 where ``b`` is 0."""
        return self.settle(a / b)

    def call(self, name: str, arguments: tuple[Array, ...], ulp: int) -> list[Array]:
        """``library.call`` in ``kind``, as carrier values."""
        return [result.astype(self.carrier, copy=False) for result in library.call(name, arguments, self.kind, ulp)]


def _native(row: DType) -> Arithmetic:
    fma = fma_f64 if row.size == 8 else fma_f32
    return Arithmetic(row.numpy, row.numpy, row.numpy, _same, _same, _same, fma)


def _rounding_each(row: DType) -> Arithmetic:
    def widen(x: Array) -> Array:
        return x.astype(np.float64)

    def narrow(x: Array) -> Array:
        return rounded(x, row.numpy)

    def settle(x: Array) -> Array:
        return narrow(x).astype(np.float64)

    def fma(a: Array, b: Array, c: Array) -> Array:
        return settle(fma_odd(a, b, c))

    return Arithmetic(row.numpy, np.dtype(np.float64), row.numpy, widen, narrow, settle, fma, nan_maximum=True)


def _in_f32(row: DType) -> Arithmetic:
    wide = np.dtype(np.float32)
    return Arithmetic(row.numpy, wide, wide, decoder(row), encoder(row), _same, fma_f32)


_COMPUTES: dict[str, Callable[[DType], Arithmetic]] = {"natively": _native, "each": _rounding_each, "f32": _in_f32}

ARITHMETIC: dict[str, Arithmetic] = {row.name: _COMPUTES[row.floating.computes](row) for row in FLOATS}


def arithmetic(name: str) -> Arithmetic:
    """The arithmetic of dtype ``name``; raises ``ValueError`` naming the known ones when there is none."""
    try:
        return ARITHMETIC[name]
    except KeyError:
        raise ValueError(f"no float arithmetic for dtype {name!r}; known: {', '.join(ARITHMETIC)}") from None
