"""The values that ports get wrong: per type, the tables behind ``values=special`` and ``values=exhaustive``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DType, Format, dtype

# Values of interest: each is used with both signs and with its two neighbours in the type, so the digits given only
# need to lie within a step of the edge.
_POINTS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("halves, for round, ceil, floor and casts", (0.5, 1.5, 2.5, 3.5, 4.5, 126.5, 1023.5, 1024.5)),
    ("where a type's fraction ends", (4194303.5, 8388607.5, 8388608.0, 2251799813685247.5, 4503599627370495.5)),
    ("plain", (0.1, 1 / 3, 0.75, 1.0, 2.0, 3.0, 10.0, 100.0, 1000.0)),
    ("exp over- and underflows: f8, f16, f32 and bf16, f64", (4.1588831, 6.1047932, 6.9314718)),  # N20
    ("", (9.7040605, 11.089866, 17.328679, 87.336544, 88.722839, 103.97208, 708.39641853, 709.78271289, 745.13321910)),
    ("1 + exp(-x) becomes 1: f8, bf16, f16, f32, f64", (2.7725887, 5.5451774, 7.6246190, 16.635532, 36.736801)),
    ("gelu: tanh or the sum cancels to -1", (0.7978845608, 1.702, 3.06, 4.0, 5.0, 5.5, 9.01, 13.3)),  # N02
    ("square and cube overflow: f16, f32, f64", (40.316, 255.97, 6.98e12, 1.8446743e19, 5.64e102, 1.34e154)),
    ("square and cube underflow", (2.0**-8, 2.0**-13, 2.0**-50, 2.0**-64, 2.0**-75, 2.0**-512, 2.0**-538)),
    ("reciprocal overflows", (2.0**-15, 2.0**-16, 2.0**-127, 2.0**-128, 2.0**-1023, 2.0**126, 2.0**127, 2.0**1022)),
    # N04: below -4 normcdf cancels where it is written 0.5 (1 + erf).
    ("erf and normcdf change formula or saturate", (0.84375, 1.25, 2.857, 3.92, 5.92, 8.3, 12.99, 14.17, 37.5, 38.57)),
    ("tanh changes formula or saturates", (0.00048828125, 0.55, 0.625, 4.16, 8.67, 19.06, 22.0)),  # N05
    ("trigonometry: multiples of a quarter turn", (0.7853981633974483, 1.5707963267948966, 2.356194490192345)),
    ("", (3.141592653589793, 4.71238898038469, 6.283185307179586, 102.94387, 355.0, 22.0, 333.0, 103993.0)),
    # N10: a native sine without range reduction.
    ("trigonometry: slow range reduction", (48039.0, 105615.0, 1e6, 2.0**32, 1e9, 1e15, 1e22, 2.0**100, 2.0**1000)),
    ("log changes sign or range", (0.25, 0.7071067811865476, 1.4142135623730951, 2.718281828459045)),
    ("powers", (0.125, 1.25, 8.0, 9.0, 27.0, 32768.0)),
    ("to u8: the low byte", (127.0, 128.0, 254.5, 255.0, 255.9, 256.0, 257.0, 300.0, 511.5, 512.0, 709.7)),
    ("to u32, i32, i64", (32767.0, 65535.0, 65536.0, 2147483520.0, 2147483647.0, 2147483648.0, 2147483649.0)),
    ("", (4294967040.0, 4294967295.0, 4294967296.5, 9.223372036854775e18, 2.0**63, 2.0**64)),
    ("", (16777216.0, 16777217.0, 9007199254740992.0, 1e20, 1e30)),
    # F08: an f8 taken for a u8 has other values everywhere but at zero.
    ("to f8: saturation", (2.0**-9, 2.0**-10, 3 * 2.0**-10, 2.0**-6, 240.0, 432.0, 448.0, 464.0, 480.0, 57344.0)),
    ("to f16: overflow and underflow", (65504.0, 65519.0, 65520.0, 2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-25)),
    ("to bf16: overflow and underflow", (3.3895313892515355e38, 3.3961775292304601e38, 2.0**-133, 2.0**-134)),
    ("to f32: overflow and underflow", (3.4028234663852886e38, 3.4028235677973366e38, 2.0**-126, 2.0**-149, 2.0**-150)),
    ("rounding ties, to even down and up: f8", (1 + 2.0**-4, 1 + 3 * 2.0**-4, 17.0, 19.0)),
    ("rounding ties: bf16, f16, f32", (1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11)),
    ("", (1 + 2.0**-24, 1 + 3 * 2.0**-24, 257.0, 259.0, 2049.0, 2051.0)),
    ("next to a tie: wrong when rounded twice", (1 + 2.0**-4 + 2.0**-30, 1 + 2.0**-8 + 2.0**-40)),
    ("", (1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40)),
)

_INTEGER_POINTS: tuple[int, ...] = (
    *(0, 1, 2, 3, 7, 10, 100, 200, 1000),
    *(edge + step for power in (7, 8, 15, 16, 24, 31, 32, 53, 62, 63) for edge in (1 << power,) for step in (-1, 0, 1)),
    *(17, 19, 448, 449, 464, 465, 480),  # f8: ties and saturation
    *(257, 259, 2049, 2051, 65504, 65519, 65520),  # bf16 and f16: ties and overflow
    *((1 << 24) + 3, (1 << 25) + 2, (1 << 25) + 6, (1 << 53) + 3, (1 << 54) + 2, (1 << 54) + 6),  # f32, f64: ties
    *((1 << 32) - 256, (1 << 32) - 128, (1 << 40) + (1 << 15) + 1, (1 << 63) - 512, (1 << 63) - 1024),
)

_INTEGER_CORE: tuple[int, ...] = (
    *(0, 1, 2, 3, 7, 100, 255, 256, 32767, 65535, 65536, 65537),
    *((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 3037000499, 3037000500),
    *((1 << 53) + 1, 1 << 62, (1 << 63) - 1, 1 << 63),
)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _distinct(bits: NDArray[Any]) -> NDArray[Any]:
    """``bits`` without repetitions, each at its first place."""
    _, first = np.unique(bits, return_index=True)
    return bits[np.sort(first)]


def _core_patterns(fmt: Format) -> list[int]:
    """Patterns of the non-negative core specials, from the format alone."""
    one = fmt.bias << fmt.mantissa
    unit = 1 << fmt.mantissa
    half_range = (fmt.bias // 2) << fmt.mantissa
    patterns = [
        *(0, 1, 2, unit // 2, unit - 1, unit, unit + 1),  # zero (N07: sign of 0), subnormals, least normals
        *(one - unit, one - 1, one, one + 1, one + unit // 2, one + unit, one + unit + unit // 2),  # 0.5 .. 3
        *(one - 2 * unit + unit // 4, one + 2 * unit + unit // 4),  # 0.3125, 5
        *(one - half_range, one + half_range, one + half_range + unit // 4),  # products and quotients at the edges
        *(fmt.largest - unit, fmt.largest - 1, fmt.largest),
    ]
    whole = (fmt.bias + fmt.mantissa) << fmt.mantissa
    patterns += [whole, whole + 1] if whole < fmt.largest else []
    infinity = fmt.largest + 1
    patterns += [infinity, infinity + 1, infinity + unit // 2] if fmt.has_inf else [infinity]  # inf and two NaN, or NaN
    return patterns


@lru_cache
def core(name: str) -> NDArray[Any]:
    """The short table of dtype ``name``, 20 to 60 values, for all pairs: read-only, 1-D."""
    kind = dtype(name)
    if kind.kind != "float":
        return _integers(kind, _INTEGER_CORE)
    fmt = kind.floating
    patterns = np.array(_core_patterns(fmt), dtype=np.uint64)
    sign = np.uint64(1 << (fmt.exponent + fmt.mantissa))
    both = np.stack([patterns, patterns | sign], axis=1).reshape(-1)
    return _read_only(_distinct(both.astype(kind.bits)).view(kind.numpy))


@lru_cache
def special(name: str) -> NDArray[Any]:
    """The long table of dtype ``name``: ``core``, every point of interest and its neighbours: read-only, 1-D."""
    kind = dtype(name)
    if kind.kind != "float":
        return _integers(kind, _INTEGER_POINTS)
    points = np.array([value for _, row in _POINTS for value in row])
    with np.errstate(over="ignore", under="ignore"):
        bits = points.astype(kind.numpy).view(kind.bits)
    sign = np.array(1 << (8 * kind.size - 1), dtype=kind.bits)
    one = np.array(1, dtype=kind.bits)
    near = np.stack([bits, bits - one, bits + one], axis=1).reshape(-1) & (sign - one)
    both = np.stack([near, near | sign], axis=1).reshape(-1)
    return _read_only(_distinct(np.concatenate([core(name).view(kind.bits), both])).view(kind.numpy))


# Fraction bits of a result, and of a type that a wrong conversion goes through: f8, bf16, f16, f32.
_NARROWED: tuple[tuple[int, int], ...] = ((3, 7), (3, 10), (3, 23), (7, 10), (7, 23), (10, 23))

# Where subnormal results are tied, and where results overflow: f8, f16, bf16, f32.
_EDGE_TIES: tuple[float, ...] = (2.0**-10, 2.0**-25, 2.0**-134, 2.0**-150, 464.0, 65520.0, 3.3961775292304601e38)


@lru_cache
def twice(name: str) -> NDArray[Any]:
    """Numbers of dtype ``name`` a step off a tie, which is lost in a narrower type on the way: read-only, 1-D."""
    kind = dtype(name)
    if kind.kind != "float":
        steps = ((1 << top, 1 << top - fraction - 1) for top in (31, 40, 62) for fraction in (3, 7, 10, 23))
        return _integers(kind, (273, 16842753, *(p for one, tie in steps for p in (one + tie + 1, one + 3 * tie - 1))))
    points = [1 + 2.0 ** -(to + 1) + 2.0 ** -(via + 2) for to, via in _NARROWED]
    points += [1 + 3 * 2.0 ** -(to + 1) - 2.0 ** -(via + 2) for to, via in _NARROWED]
    points = [point * scale for point in points for scale in (1.0, 0.015625, 96.0)]
    points += [tie * (1 + sign * 2.0**-step) for tie in _EDGE_TIES for step in (12, 22, 30) for sign in (1, -1)]
    with np.errstate(over="ignore", under="ignore"):
        values = np.array([*points, *(-point for point in points)]).astype(kind.numpy)
    return _read_only(_distinct(values.view(kind.bits)).view(kind.numpy))


@lru_cache
def nans(name: str) -> NDArray[Any]:
    """NaN patterns of the float dtype ``name``, and numbers that they are told from: read-only, 1-D.

    A test that looks at some of the bits only, or loses the payload, takes one of them for infinity or a number.
    """
    kind = dtype(name)
    if kind.kind != "float":
        raise ValueError(f"values=nans needs a float type, not {name}")
    fmt = kind.floating
    infinity, every = fmt.largest + 1, (1 << fmt.mantissa) - 1
    quiet, middle = (every + 1) >> 1, 1 << fmt.mantissa // 2
    payloads = (1, every, quiet, quiet | 1, every ^ quiet, middle, middle - 1, every - 1)
    one = fmt.bias << fmt.mantissa
    patterns = [*(infinity | payload for payload in payloads), infinity, 0, one, one + every, fmt.largest]
    sign = 1 << (fmt.exponent + fmt.mantissa)
    bits = np.array([pattern | flipped for pattern in patterns for flipped in (0, sign)], dtype=np.uint64)
    return _read_only(_distinct(bits.astype(kind.bits)).view(kind.numpy))


@lru_cache
def exhaustive(name: str) -> NDArray[Any]:
    """Every bit pattern of dtype ``name``, in order; raises ``ValueError`` for types of more than 16 bits."""
    kind = dtype(name)
    if kind.size > 2:
        raise ValueError(f"values=exhaustive needs a type of 8 or 16 bits, not {name}")
    return _read_only(np.arange(1 << (8 * kind.size), dtype=np.uint32).astype(kind.bits).view(kind.numpy))


def integer_limits(kind: DType) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype."""
    width = 8 * kind.size
    return (-(1 << width - 1), (1 << width - 1) - 1) if kind.kind == "int" else (0, (1 << width) - 1)


def _integers(kind: DType, points: tuple[int, ...]) -> NDArray[Any]:
    low, high = integer_limits(kind)
    values = [value for point in points for value in (point, -point) if low <= value <= high]
    values += [low, high, low + 1, high - 1]
    return _read_only(np.array(list(dict.fromkeys(values)), dtype=kind.numpy))
