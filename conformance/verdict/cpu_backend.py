"""What Candle's CPU backend computes where its CUDA kernels compute something else: ports follow the one for the other.

Formulas of candle-core at 2a13b0f3: ``bin_op!(Maximum)`` and ``Minimum`` of ``src/op.rs``, ``fn elu`` and the casts
(Rust's ``as``) of ``src/cpu_backend/mod.rs``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Scalar
from conformance.cases.specials import integer_limits
from conformance.verdict.conversions import equal, out_of_range
from conformance.verdict.wrong_elements import WrongBuffer

_UNITS = 4
"""Units of the last place by which a library's exp may differ from another's in elu."""


def _cast(buffer: WrongBuffer) -> bool:
    """Whether floats beyond the integer are held at its ends, and NaN is 0."""
    if not out_of_range(buffer):
        return False
    source = buffer.operands[0].values.astype(np.float64)
    low, high = integer_limits(buffer.dtype)
    inside = (source > low) & (source < high)
    held = np.where(source >= high, high, low).astype(buffer.dtype.numpy)
    cut = np.where(inside, np.trunc(np.where(inside, source, 0)).astype(buffer.dtype.numpy), held)
    return bool((buffer.elements.wrong.got == np.where(np.isnan(source), 0, cut)).all())


def _extremum(buffer: WrongBuffer) -> bool:
    """Whether the answer is ``v1 < v2 ? v2 : v1`` (minimum: ``v1 > v2``): v1 of zeros, and where either is NaN."""
    op = buffer.kernel.variant.get("op")
    if op not in ("maximum", "minimum") or len(buffer.operands) != 2 or not buffer.elements.is_float:
        return False
    first, second = (operand.values for operand in buffer.operands)
    v1, v2 = (values.astype(np.float64) for values in (first, second))
    found: NDArray[Any] = np.where(v1 < v2 if op == "maximum" else v1 > v2, second, first)
    return equal(buffer.elements.wrong.got, found.astype(buffer.dtype.numpy), buffer.dtype)


def _elu(buffer: WrongBuffer) -> bool:
    """Whether the answer is x wherever its sign bit is clear, also of +0, where CUDA's kernel multiplies by alpha."""
    alpha = [float(arg.value) for arg in buffer.launch.args if isinstance(arg, Scalar) and arg.name == "param"]
    if buffer.kernel.variant.get("op") != "elu" or not alpha or len(buffer.operands) != 1:
        return False
    x, e = buffer.operands[0].values.astype(np.float64), buffer.elements
    found = np.where(np.signbit(x), (np.exp(x) - 1) * alpha[0], x)
    near = np.abs(found - e.got) <= _UNITS * 2.0**-e.dtype.floating.mantissa * np.abs(e.got)
    same_sign = np.signbit(found) == np.signbit(e.got)
    return bool(((near & same_sign) | (np.isnan(found) & e.nan_got)).all())


CPU_BACKEND: tuple[tuple[str, tuple[str, ...], Callable[[WrongBuffer], bool]], ...] = tuple(
    ("as Candle's CPU backend", (family,), holds)
    for family, holds in (("cast", _cast), ("binary", _extremum), ("unary1", _elu))
)
"""Name, launch families, and whether it holds for all wrong elements."""
