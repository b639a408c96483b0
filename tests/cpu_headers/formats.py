"""Exact rounding of float64 arrays to small formats, as the expectation of every conversion.

Independent of the headers: scale to units of the last place, round to an integer, scale back. Each step but the
rounding is exact in float64 (the formats have at most 11 significant bits).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Format:
    """A binary format: bits of the fraction, exponent of the least normal, largest finite value, numpy dtype."""

    name: str
    fraction: int
    least: int
    largest: float
    dtype: Any

    @property
    def bits(self) -> int:
        return 8 * int(np.dtype(self.dtype).itemsize)

    def values(self) -> Array:
        """All bit patterns in order, as float64, NaN included."""
        patterns = np.arange(1 << self.bits, dtype=f"u{self.bits // 8}")
        with np.errstate(invalid="ignore"):
            values: Array = patterns.view(self.dtype).astype(np.float64)
        return values

    def finite(self) -> Array:
        """The distinct finite values, ascending, float64."""
        values = self.values()
        return np.unique(values[np.isfinite(values)])

    def round(self, x: Array) -> Array:
        """float64 -> float64, nearest even, overflow to infinity; zero keeps its sign."""
        with np.errstate(all="ignore"):
            exponent = np.maximum(np.frexp(x)[1].astype(np.int64) - 1, self.least)
            rounded = np.ldexp(np.rint(np.ldexp(x, self.fraction - exponent)), exponent - self.fraction)
        rounded = np.where(np.isfinite(x), rounded, x)
        return np.where(np.abs(rounded) > self.largest, np.copysign(np.inf, x), rounded)

    def boundaries(self) -> Array:
        """Where rounding decides, float64: every finite value, every midpoint, and the doubles next to those."""
        values = self.finite()
        largest_step = values[-1] - values[-2]
        middles = (values[1:] + values[:-1]) / 2
        beyond = values[-1] + largest_step * np.array([0.25, 0.5, 0.75, 1.0, 4.0])
        edges = np.concatenate([values, middles, beyond, -beyond])
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-300, 1e300, -1e300])
        return np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), special])


F16 = Format("f16", 10, -14, 65504.0, np.float16)
BF16 = Format("bf16", 7, -126, float(np.float32(3.38953139e38)), ml_dtypes.bfloat16)
E4M3 = Format("e4m3", 3, -6, 448.0, ml_dtypes.float8_e4m3fn)
E5M2 = Format("e5m2", 2, -14, 57344.0, ml_dtypes.float8_e5m2)
E4M3_FNUZ = Format("e4m3_fnuz", 3, -7, 240.0, ml_dtypes.float8_e4m3fnuz)
E5M2_FNUZ = Format("e5m2_fnuz", 2, -15, 57344.0, ml_dtypes.float8_e5m2fnuz)
SIXTEEN = (F16, BF16)
EIGHT = (E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ)


def assert_same(got: Array, expected: Array, *inputs: Array) -> None:
    """Equal values, with the sign of zero, and NaN where NaN is expected; float64 arrays of one shape."""
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | (np.isnan(got) & np.isnan(expected))
    wrong = np.flatnonzero(~same)
    shown = [(tuple(float(i[k]) for i in inputs), float(got[k]), float(expected[k])) for k in wrong[:5]]
    assert wrong.size == 0, f"{wrong.size} of {same.size} differ, first (inputs, got, expected): {shown}"
