"""What Candle leaves to the vendor's libraries: matrix products, and ``reference.random_numbers``.

A sum of products may be added in any order, fused or not, in the type of the call: ``reference.summation`` has the
bound. Where operands are halves, matrix units add exact products whose bits beyond the largest term's 24 they may cut
off in place of rounding, twice the error per term: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA
tensor cores" (2021). The sum is then rounded once to the type of the result. With reduced precision f32 operands may be
rounded to the 11 bits of TF32, and f16 sums be kept in f16; of bf16 operands there is nothing to lose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DType, dtype
from reference.expected import Expected
from reference.random_numbers import flaw, rand
from reference.result import placed
from reference.summation import LONG, Terms, accumulator, any_order, last_bit, storing

__all__ = ["flaw", "gemm", "rand"]

Array = NDArray[Any]

_TF32 = LONG(2) ** -10 * (1 + LONG(2) ** -10)
"""The share of a product that is lost where both numbers are rounded to 11 bits, 2^-11 of each."""


@dataclass(frozen=True)
class _Terms(Terms):
    """``steps`` is the error of a term in half an ulp, ``lost`` the share of a product that operands may lose."""

    steps: int = 1
    lost: Any = 0

    def radius(self, kind: DType) -> Array:
        return np.asarray(self.steps * super().radius(kind) + self.magnitude * self.lost)

    def rounded_once(self, kind: DType) -> Array:
        often = self.steps > 1 or self.lost > 0
        return np.asarray(self.count == 0) if often else super().rounded_once(kind)


@np.errstate(all="ignore")
def gemm(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    a: Array,
    lda: int,
    stride_a: int,
    b: Array,
    ldb: int,
    stride_b: int,
    c: Array,
    ldc: int,
    stride_c: int,
    batch_size: int,
    reduced: int,
    beta: int = 0,
) -> dict[str, Expected]:
    """Column ``j``, row ``i`` of batch ``z`` at ``c[z * stride_c + j * ldc + i]``: the sum over ``k`` of ``a`` times
    ``b``, of which either may be transposed; with ``beta``, which Candle has at 0, it is added to what was there."""
    name = variant["dtype"]
    rows, columns, inner, batch = int(m), int(n), int(k), int(batch_size)
    left = a[_places(batch, rows, inner, int(lda), int(stride_a), bool(transa))]
    right = b[_places(batch, inner, columns, int(ldb), int(stride_b), bool(transb))]
    kind = dtype("f16") if name == "f16" and reduced else accumulator(name)
    store = storing(name)
    wide = np.dtype(np.float64) if kind.size < 8 else np.dtype(LONG)
    lost = _TF32 if name == "f32" and reduced else 0
    terms = _terms(left, right, wide, 2 if dtype(name).size == 2 else 1, lost)
    at = _places(batch, rows, columns, int(ldc), int(stride_c), False)
    if beta:
        before: Array = c[at].astype(wide)
        up, down = np.maximum(before, 0), np.maximum(-before, 0)
        terms = replace(terms, positive=terms.positive + up, negative=terms.negative + down, count=terms.count + 1)
    value = store(terms.total.astype(LONG))
    found = any_order(terms, kind, value, store)
    return {"c": placed(c, found, at.reshape(-1))}


def _places(batch: int, rows: int, columns: int, leading: int, stride: int, transposed: bool) -> NDArray[np.int64]:
    """The index of each element of the matrices of a batch; one that is transposed lies there as its transpose."""
    z, i, j = np.ogrid[:batch, :rows, :columns]
    inside = i * leading + j if transposed else j * leading + i
    return np.asarray(z * stride + inside)


def _terms(left: Array, right: Array, wide: np.dtype[Any], steps: int, lost: Any) -> _Terms:
    """The terms of each sum of ``left`` times ``right``, added in ``wide``, in which products are exact."""
    x, y = left.astype(wide), right.astype(wide)
    x_finite, y_finite = np.isfinite(x), np.isfinite(y)
    if x_finite.all() and y_finite.all():
        up, down = (np.maximum(x, 0), np.maximum(y, 0)), (np.maximum(-x, 0), np.maximum(-y, 0))
        positive, negative = up[0] @ up[1] + down[0] @ down[1], up[0] @ down[1] + down[0] @ up[1]
        nan = np.zeros(positive.shape, np.bool_)
    else:
        products = x[..., :, :, None] * y[..., None, :, :]
        positive = np.where(products > 0, products, 0).sum(axis=-2)
        negative = np.where(products < 0, -products, 0).sum(axis=-2)
        nan = np.isnan(products).any(axis=-2)
    count = (x != 0).astype(np.float64) @ (y != 0).astype(np.float64)
    unit = last_bit(x.astype(LONG)).min(axis=2, keepdims=True) * last_bit(y.astype(LONG)).min(axis=1, keepdims=True)
    plus = (~np.signbit(x)).astype(np.float64) @ (~np.signbit(y)).astype(np.float64)
    plus += np.signbit(x).astype(np.float64) @ np.signbit(y).astype(np.float64)
    minus_zero = (count == 0) & (plus == 0) & ~nan
    return _Terms(positive, negative, count, unit, nan, minus_zero, True, steps, lost)
