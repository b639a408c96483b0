"""The verdict on one buffer: bit-equal, within the bound, or how far off and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import POISON_BYTE
from conformance.dtypes import DType
from conformance.verdict.ordinals import distance, is_nan, ordinals
from reference.expected import Expected


@dataclass(frozen=True)
class Mismatch:
    """The worst element of a buffer that is not as expected.

    ``ulp`` is its distance in representable steps, ``None`` where there is no such thing (a NaN on one side).
    """

    why: str
    index: int
    got: str
    expected: str
    ulp: float | None


def judge(
    name: str, got: NDArray[Any], expected: Expected, before: NDArray[Any], dtype: DType, ulp: int
) -> tuple[Mismatch | None, float]:
    """Compare buffer ``name`` with what was expected: (mismatch or ``None``, largest distance met in ulps).

    ``got``, ``expected.value`` and ``before`` (the content before the launch) are 1-D, of ``dtype`` and equal length.
    An element is right when it is bit-equal, when both are NaN, or when it lies at most ``ulp`` steps outside
    [low, high]. A zero keeps its sign: -0 for +0 is right only inside [low, high] itself. Elements that the reference
    leaves poisoned must be bit-equal.
    """
    value_bits, got_bits = expected.value.view(dtype.bits), got.view(dtype.bits)
    differs = got_bits != value_bits
    if not differs.any():
        return None, 0.0
    at = np.flatnonzero(differs)
    value, actual = expected.value[at], got[at]
    nan_value, nan_actual = is_nan(value, dtype), is_nan(actual, dtype)
    untouched = (value_bits[at] == before.view(dtype.bits)[at]) & (value_bits[at] == _poison(dtype))
    right_nan = nan_value & nan_actual & ~untouched
    value_ord, actual_ord = ordinals(value, dtype), ordinals(actual, dtype)
    low = value_ord if expected.low is None else np.minimum(ordinals(expected.low[at], dtype), value_ord)
    high = value_ord if expected.high is None else np.maximum(ordinals(expected.high[at], dtype), value_ord)
    steps = distance(actual_ord, value_ord)
    inside = (actual_ord >= low) & (actual_ord <= high)
    near = (actual_ord >= low - ulp) & (actual_ord <= high + ulp)
    if dtype.kind == "float":
        near &= ~((value_ord + actual_ord == -1) & ((value_ord == 0) | (value_ord == -1)))
    right = right_nan | ((inside | near) & ~untouched & ~nan_value & ~nan_actual)
    compared = right & ~right_nan
    largest = float(steps[compared].max()) if compared.any() else 0.0
    if right.all():
        return None, largest
    wrong = np.flatnonzero(~right)
    one_nan = nan_value[wrong] | nan_actual[wrong]
    worst = wrong[int(np.argmax(np.where(one_nan, np.inf, steps[wrong])))]
    index = int(at[worst])
    no_distance = bool(nan_value[worst] | nan_actual[worst])
    allowed = _allowed(int(low[worst]), int(value_ord[worst]), int(high[worst]), ulp)
    if untouched[worst]:
        rule = "this element must not be touched"
    elif no_distance:
        rule = "NaN equals only NaN"
    else:
        rule = f"{steps[worst]:.0f} ulp off, {allowed}" if dtype.kind == "float" else "must be equal"
    if dtype.kind == "float" and {int(value_ord[worst]), int(actual_ord[worst])} == {0, -1}:
        rule += ": the sign of zero was lost"
    why = f"{name}[{index}] {rule}; {wrong.size} of {got.size} elements wrong"
    mismatch = Mismatch(
        why, index, show(actual[worst], dtype), show(value[worst], dtype), None if no_distance else float(steps[worst])
    )
    return mismatch, max(largest, 0.0 if no_distance else float(steps[worst]))


def _poison(dtype: DType) -> Any:
    return dtype.bits.type(int.from_bytes(bytes([POISON_BYTE]) * dtype.size, "little"))


def _allowed(low: int, value: int, high: int, ulp: int) -> str:
    below, above = value - low + ulp, high - value + ulp
    if below == above:
        return f"{above} allowed"
    return f"{below} below and {above} above allowed"


def show(value: Any, dtype: DType) -> str:
    """A value with its bits: ``0.1 (0x3dcccccd)``."""
    bits = int(np.asarray(value).view(dtype.bits))
    text = repr(float(value)) if dtype.kind == "float" else str(int(value))
    return f"{text} (0x{bits:0{2 * dtype.size}x})"
