"""The values that ports get wrong: per type, the tables behind ``values=special`` and ``values=exhaustive``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DType, FloatFormat, dtype, kept_by_dtype
from conformance.reading import own_yaml

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


@cache
def _points() -> list[float]:
    """The numbers of specials.yaml."""
    lists = own_yaml(Path(__file__).with_suffix(".yaml")).values()
    texts = [str(one) for rows in lists for row in rows for one in row]
    return [float.fromhex(text) if text.startswith("0x") else float(text) for text in texts]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _distinct(bits: NDArray[Any]) -> NDArray[Any]:
    """``bits`` without repetitions, each at its first place."""
    _, first = np.unique(bits, return_index=True)
    return bits[np.sort(first)]


def _core_patterns(fmt: FloatFormat) -> list[int]:
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


@kept_by_dtype
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


@kept_by_dtype
def special(name: str) -> NDArray[Any]:
    """The long table of dtype ``name``: ``core``, every point of interest and its neighbours: read-only, 1-D."""
    kind = dtype(name)
    if kind.kind != "float":
        return _integers(kind, _INTEGER_POINTS)
    points = np.array(_points())
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


@kept_by_dtype
def twice(name: str) -> NDArray[Any]:
    """Numbers of dtype ``name`` on a tie, and a step off it that a narrower type on the way loses: read-only, 1-D."""
    kind = dtype(name)
    if kind.kind != "float":
        steps = ((1 << top, 1 << top - fraction - 1) for top in (31, 40, 62) for fraction in (3, 7, 10, 23))
        return _integers(kind, (273, 16842753, *(p for one, tie in steps for p in (one + tie + 1, one + 3 * tie - 1))))
    points = [1 + 2.0 ** -(to + 1) + 2.0 ** -(via + 2) for to, via in _NARROWED]
    points += [1 + 3 * 2.0 ** -(to + 1) - 2.0 ** -(via + 2) for to, via in _NARROWED]
    points += [1 + odd * 2.0 ** -(to + 1) for to, _ in _NARROWED[2:] for odd in (1, 3, 5)]
    points = [point * scale for point in points for scale in (1.0, 0.015625, 96.0)]
    points += [tie * (1 + sign * 2.0**-step) for tie in _EDGE_TIES for step in (12, 22, 30) for sign in (1, -1)]
    with np.errstate(over="ignore", under="ignore"):
        values = np.array([*points, *(-point for point in points)]).astype(kind.numpy)
    patterns = _distinct(values.view(kind.bits))
    return _read_only(np.resize(patterns, len(patterns) | 1).view(kind.numpy))


@kept_by_dtype
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


@kept_by_dtype
def exhaustive(name: str) -> NDArray[Any]:
    """Every bit pattern of dtype ``name``, in order; raises ``ValueError`` for types of more than 16 bits."""
    kind = dtype(name)
    if kind.size > 2:
        raise ValueError(f"values=exhaustive needs a type of 8 or 16 bits, not {name}")
    return _read_only(np.arange(1 << (8 * kind.size), dtype=np.uint32).astype(kind.bits).view(kind.numpy))


def integer_limits(kind: DType) -> tuple[int, int]:
    """The least and the greatest value of the integer dtype ``kind``, as Python integers."""
    width = 8 * kind.size
    return (-(1 << width - 1), (1 << width - 1) - 1) if kind.kind == "int" else (0, (1 << width) - 1)


def _integers(kind: DType, points: tuple[int, ...]) -> NDArray[Any]:
    low, high = integer_limits(kind)
    values = [value for point in points for value in (point, -point) if low <= value <= high]
    values += [low, high, low + 1, high - 1]
    return _read_only(np.array(list(dict.fromkeys(values)), dtype=kind.numpy))
