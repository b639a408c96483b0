"""Conversions and fused multiply-add against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.dtypes import DTYPES
from reference.float8 import decoder, encoder
from reference.fma import fma_f32, fma_f64
from reference.rounding import f32_odd, rounded

Array = NDArray[Any]
BF16, F16 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)
encode, decode = encoder(DTYPES["f8e4m3"]), decoder(DTYPES["f8e4m3"])
# significand digits, exponent of the smallest normal number
FORMATS = {"f64": (53, -1022), "f32": (24, -126), "f16": (11, -14), "bf16": (8, -126), "f8": (4, -6)}
LARGEST = {"f64": 1024, "f32": 128, "f16": 16, "bf16": 128}


def nearest(x: Fraction, name: str) -> Fraction | float:
    """``x`` rounded once to format ``name``, nearest even; infinity beyond the largest number (f8: 448)."""
    digits, least = FORMATS[name]
    if x == 0:
        return Fraction(0)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    rounded = round(size / unit) * unit
    if name == "f8":
        rounded = min(rounded, Fraction(448))
    elif rounded >= Fraction(2) ** LARGEST[name]:
        return math.copysign(math.inf, x)
    return rounded if x > 0 else -rounded


def exact(x: Any) -> Fraction | float:
    number = float(x)
    return Fraction(number) if math.isfinite(number) else number


def around(values: Array) -> NDArray[np.float64]:
    """The values, the points midway between neighbours, and the float64 neighbours of both."""
    with np.errstate(invalid="ignore"):
        finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


def every(dtype: Any, step: int = 1) -> Array:
    size = np.dtype(dtype).itemsize
    return np.arange(0, 1 << (8 * size), step, dtype=f"u{size}").view(dtype)


@pytest.mark.parametrize(
    ("name", "convert", "points"),
    [
        ("bf16", lambda x: rounded(x, BF16), around(every(ml_dtypes.bfloat16, 97))),
        ("f16", lambda x: rounded(x, F16), around(every(np.float16, 97))),
        ("f8", lambda x: encode(f32_odd(x)), around(every(ml_dtypes.float8_e4m3fn))),
    ],
)
@np.errstate(all="ignore")
def test_conversion_rounds_once(name: str, convert: Any, points: Array) -> None:
    got = [exact(x) for x in convert(points)]
    assert got == [nearest(Fraction(x), name) for x in points.tolist()]


@np.errstate(all="ignore")
def test_double_rounding_would_be_seen() -> None:
    """The boundary points do catch the conversion that ml_dtypes makes."""
    points = around(every(ml_dtypes.bfloat16, 97))
    assert (points.astype(ml_dtypes.bfloat16).view(np.uint16) != rounded(points, BF16).view(np.uint16)).any()


@np.errstate(all="ignore")
def test_conversion_of_specials() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300, 3.4e38, 3.5e38, 5e-324, -5e-324])
    assert [str(v) for v in rounded(x, BF16)] == [
        "inf", "-inf", "nan", "0", "-0", "inf", "-inf", "inf", "inf", "0", "-0",
    ]  # fmt: skip
    encoded = encode(np.array([np.inf, -np.inf, np.nan, 464, 465, -1e9, -0.0, 2**-10, 1.5 * 2**-10], np.float32))
    assert encoded.view(np.uint8).tolist() == [0x7E, 0xFE, 0x7F, 0x7E, 0x7E, 0xFE, 0x80, 0x00, 0x01]


def test_float8_decode_then_encode_is_the_identity() -> None:
    patterns = np.arange(256, dtype=np.uint8)
    back = encode(decode(patterns.view(ml_dtypes.float8_e4m3fn))).view(np.uint8)
    assert back.tolist() == [0x7F if p & 0x7F == 0x7F else p for p in range(256)]


def hard_sums(digits: int, least: int, most: int, dtype: Any, seed: int) -> tuple[Array, Array, Array]:
    """Triples whose ``a * b + c`` lies at, or close to, a midpoint, cancels, or leaves the normal range."""
    rng = np.random.default_rng(seed)
    count = 120

    def number(low: int, high: int) -> Array:
        significand = rng.integers(1 << (digits - 1), 1 << digits, count) | 1
        sign = rng.choice([-1, 1], count)
        numbers = np.ldexp((significand * sign).astype(np.float64), rng.integers(low, high, count))
        return np.asarray(numbers, dtype)

    middle = -digits
    a, b = number(middle - 2, middle + 2), number(middle - 2, middle + 2)
    product = a * b
    tiny_a, tiny_b = number(least // 2 - digits - 8, least // 2 - digits + 8), number(least // 2 - 8, least // 2 + 8)
    huge = number(most // 2 - digits - 1, most // 2 - digits + 1)
    near_one = (1 + np.ldexp(rng.integers(-4, 5, count).astype(np.float64), 1 - digits)).astype(dtype)
    half = np.ldexp(np.ones(count), -digits).astype(dtype)
    triples = [
        (a, b, number(middle - digits, middle + digits)),
        (a, b, -product),
        (a, b, np.nextafter(-product, dtype(np.inf))),
        (a, b, number(middle - 3 * digits, middle - 2 * digits)),
        (near_one, near_one, half),
        (near_one, half, near_one),
        (half * half * half, near_one, near_one + half * 2),
        (tiny_a, tiny_b, number(least - digits - 20, least - digits + 20)),
        (tiny_a, tiny_b, np.zeros(count, dtype)),
        (huge, huge, number(most - digits - 2, most - digits)),
        (huge, -huge, number(most - digits - 2, most - digits)),
    ]
    joined = [np.concatenate(column).astype(dtype) for column in zip(*triples, strict=True)]
    return joined[0], joined[1], joined[2]


@pytest.mark.parametrize(
    ("name", "fma", "arguments"),
    [
        ("f32", fma_f32, hard_sums(24, -126, 127, np.float32, 1)),
        ("f64", fma_f64, hard_sums(53, -1022, 1023, np.float64, 2)),
    ],
)
@np.errstate(all="ignore")
def test_fma_is_correctly_rounded(name: str, fma: Any, arguments: tuple[Array, Array, Array]) -> None:
    got = [exact(x) for x in fma(*arguments)]
    columns = [[Fraction(x) for x in column.tolist()] for column in arguments]
    assert got == [nearest(a * b + c, name) for a, b, c in zip(*columns, strict=True)]
    a, b, c = arguments
    assert (fma(a, b, c) != a * b + c).mean() > 0.1, "too few hard cases to tell one rounding from two"


@pytest.mark.parametrize(("fma", "dtype"), [(fma_f32, np.float32), (fma_f64, np.float64)])
@np.errstate(all="ignore")
def test_fma_of_specials(fma: Any, dtype: Any) -> None:
    inf, nan = math.inf, math.nan
    rows = [
        (inf, 1.0, 1.0, inf), (inf, 0.0, 1.0, nan), (inf, 1.0, -inf, nan), (nan, 1.0, 1.0, nan), (1.0, 1.0, nan, nan),
        (2.0, 3.0, -inf, -inf), (-0.0, 1.0, -0.0, -0.0), (-0.0, 1.0, 0.0, 0.0), (2.0, 3.0, -6.0, 0.0),
        (-2.0, 3.0, 6.0, 0.0), (0.0, 5.0, 0.0, 0.0),
    ]  # fmt: skip
    a, b, c, expected = (np.array(column, dtype) for column in zip(*rows, strict=True))
    got = fma(a, b, c)
    assert [str(x) for x in got] == [str(x) for x in expected]
