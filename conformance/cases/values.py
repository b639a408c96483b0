"""The data of operands: named distributions, drawn from a stream of 64-bit words that is the same on any machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.layouts import MAX_ELEMENTS
from conformance.cases.specials import core, exhaustive, integer_limits, nans, special, twice
from conformance.dtypes import DType, dtype, kept_by_dtype


class RandomStream:
    """A case's stream of random 64-bit words: the raw output of PCG64, which numpy keeps stable.

    With a ``period`` operands repeat after that many elements, which is faster than drawing all of a large one.
    """

    def __init__(self, seed: int, period: int | None = None) -> None:
        self._source = np.random.PCG64(seed)
        self.period = period

    def take(self, n: int) -> NDArray[np.uint64]:
        """The next ``n`` words; raises ``ValueError`` above ``MAX_ELEMENTS``."""
        if n > MAX_ELEMENTS:
            raise ValueError(f"an operand needs {n} words of data, more than {MAX_ELEMENTS}")
        words: NDArray[np.uint64] = self._source.random_raw(n)
        return words


Distribution = Callable[[DType, int, RandomStream], NDArray[Any]]

# Exponents that a scale draws from, both ends included; clipped to the type's own. Mantissa and sign are random.
_SCALES: dict[str, tuple[int, int]] = {
    "tiny": (-30, -6),
    "unit": (-4, 1),
    "large": (2, 7),
    "mid": (-27, 33),  # from below f16's least subnormal to above u32's range
}

_INTEGER_SCALES: dict[str, int] = {"tiny": 2, "unit": 100, "large": 30000}  # largest magnitude

_TIES_FLOAT = (-1.5, -0.0, 0.0, 1.0)
_TIES_INT = (-1, 0, 1, 2)
_TIES_UINT = (0, 1, 2, 255)

_PATTERN = 0x3FC1B2A394857667  # all bytes differ; its leading bytes are a finite number in every float type


def _u64(value: int) -> np.uint64:
    return np.uint64(value)


@kept_by_dtype
def _float_plan(name: str, scale: str) -> tuple[np.uint64, ...]:
    fmt = dtype(name).floating
    low, high = _SCALES[scale]
    top = (1 << fmt.exponent) - 2
    low, high = (min(max(exponent + fmt.bias, 0), top) for exponent in (low, high))
    mantissa = (1 << fmt.mantissa) - 1
    return _u64(low), _u64(high - low + 1), _u64(fmt.mantissa), _u64(mantissa), _u64(63 - fmt.exponent - fmt.mantissa)


def _as_float(patterns: NDArray[np.uint64], kind: DType) -> NDArray[Any]:
    return patterns.astype(kind.bits).view(kind.numpy)


def _scaled_float(scale: str, kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    low, count, shift, mask, sign_shift = _float_plan(kind.name, scale)
    word = stream.take(n)
    # Bits 0-51 feed the mantissa, 52-62 the exponent, 63 the sign.
    exponent = (((word >> _u64(52) & _u64(0x7FF)) * count) >> _u64(11)) + low
    sign = (word >> _u64(63)) << (_u64(63) - sign_shift)
    return _as_float((word & mask) | (exponent << shift) | sign, kind)


def _scaled_integer(scale: str, kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    word = stream.take(n)
    width = 8 * kind.size
    if scale == "mid":  # every bit length equally often
        magnitude = word >> (_u64(64 - width) + word % _u64(width))
        negative = (word >> _u64(1)) & _u64(1) if kind.kind == "int" else _u64(0)
        return ((magnitude ^ -negative) + negative).astype(kind.bits).view(kind.numpy)
    signed = kind.kind == "int"
    largest = min(_INTEGER_SCALES[scale] * (1 if signed else 2), (1 << width - signed) - 1)
    low = -largest if signed else 0
    drawn = ((word >> _u64(32)) * _u64(largest - low + 1)) >> _u64(32)
    return (drawn.astype(np.int64) + low).astype(kind.numpy)


def _scale(scale: str) -> Distribution:
    def draw(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
        make = _scaled_float if kind.kind == "float" else _scaled_integer
        return make(scale, kind, n, stream)

    return draw


def _wide(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    """Random bit patterns: every exponent, infinities and NaN among them."""
    return stream.take(-(-n * kind.size // 8)).view(kind.bits)[:n].view(kind.numpy)


def _subnormal(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    if kind.kind != "float":
        raise ValueError(f"values=subnormal needs a float type, not {kind.name}")
    fmt = kind.floating
    word = stream.take(n)
    sign = (word >> _u64(63)) << _u64(fmt.exponent + fmt.mantissa)
    return _as_float((word & _u64((1 << fmt.mantissa) - 1)) | sign, kind)


@kept_by_dtype
def _tie_table(name: str) -> NDArray[Any]:
    kind = dtype(name)
    return np.array({"float": _TIES_FLOAT, "int": _TIES_INT}.get(kind.kind, _TIES_UINT)).astype(kind.numpy)


def _ties(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    """Four values only, so that comparisons are often true and often false."""
    picked: NDArray[Any] = _tie_table(kind.name)[stream.take(n) >> _u64(62)]
    return picked


def _table(table: Callable[[str], NDArray[Any]]) -> Distribution:
    def draw(kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
        values = table(kind.name)
        if n == len(values):
            return values
        # A shorter operand gets a part of the table that depends on the seed; a longer one repeats it.
        first = int(stream.take(1)[0] % _u64(len(values))) if n < len(values) else 0
        return np.resize(np.roll(values, -first), n)

    return draw


TABLES: dict[str, Callable[[str], NDArray[Any]]] = {
    "core": core,
    "special": special,
    "twice": twice,
    "nans": nans,
    "exhaustive": exhaustive,
}
"""The distributions that go through a fixed table in order."""

_DISTRIBUTIONS: dict[str, Distribution] = {
    **{scale: _scale(scale) for scale in _SCALES},
    "wide": _wide,
    "subnormal": _subnormal,
    "ties": _ties,
    **{name: _table(table) for name, table in TABLES.items()},
}

VALUE_NAMES: tuple[str, ...] = tuple(_DISTRIBUTIONS)


def values(name: str, kind: DType, n: int, stream: RandomStream) -> NDArray[Any]:
    """``n`` elements of dtype ``kind`` from the distribution ``name``; may be read-only.

    Raises ``ValueError`` for an unknown name and for a distribution that the dtype does not have.
    """
    try:
        make = _DISTRIBUTIONS[name]
    except KeyError:
        raise ValueError(f"unknown values {name!r}; known: {', '.join(VALUE_NAMES)}") from None
    return repeated(lambda count: make(kind, count, stream), n, stream)


def repeated(make: Callable[[int], NDArray[Any]], n: int, stream: RandomStream) -> NDArray[Any]:
    """``make(n)``, or where that is longer than the period of ``stream``, one period of it repeated."""
    return make(n) if stream.period is None or n <= stream.period else _tiled(make(stream.period), n)


def _tiled(part: NDArray[Any], n: int) -> NDArray[Any]:
    """``part`` repeated to ``n`` elements, in copies that double."""
    whole = np.empty((n, *part.shape[1:]), part.dtype)
    done = len(part)
    whole[:done] = part
    while done < n:
        count = min(done, n - done)
        whole[done : done + count] = whole[:count]
        done += count
    return whole


def _from_bits(kind: DType, bits: int) -> np.generic:
    if not 0 <= bits < 1 << (8 * kind.size):
        raise ValueError("too many bits")
    return np.array([bits], dtype=kind.bits).view(kind.numpy)[0]  # type: ignore[no-any-return]


def _limit(kind: DType, text: str) -> np.generic:
    if kind.kind == "float":
        sign = 1 << (8 * kind.size - 1) if text == "min" else 0
        return _from_bits(kind, kind.floating.largest | sign)
    low, high = integer_limits(kind)
    return np.array([low if text == "min" else high], dtype=kind.numpy)[0]  # type: ignore[no-any-return]


@partial(kept_by_dtype, most=1024)
def scalar(name: str, text: str) -> np.generic:
    """``text`` as a scalar of dtype ``name``, converted as Candle's host side does from f64.

    A decimal number, ``nan``, ``inf``, ``min`` or ``max`` (finite), ``0x...`` for a bit pattern, or ``pattern``
    for one whose bytes all differ. Integers truncate and saturate, NaN becomes 0; a float whose row says so saturates.
    Raises ``ValueError`` for other text.
    """
    kind = dtype(name)
    width = 8 * kind.size
    if text in ("min", "max"):
        return _limit(kind, text)
    try:
        if text == "pattern" or text.startswith("0x"):
            return _from_bits(kind, _PATTERN >> (64 - width) if text == "pattern" else int(text, 16))
        number: float | int = int(text) if text.lstrip("-").isdigit() and text != "-0" else float(text)
    except ValueError:
        expected = f"a number, nan, inf, min, max, pattern, or 0x and at most {width} bits"
        raise ValueError(f"{text!r} is not a scalar of type {name}: expected {expected}") from None
    if kind.kind == "float":
        if kind.floating.saturates:
            number = float(np.clip(number, float(_limit(kind, "min")), float(_limit(kind, "max"))))
        with np.errstate(over="ignore", under="ignore"):
            return np.array([number], dtype=np.float64).astype(kind.numpy)[0]  # type: ignore[no-any-return]
    low, high = integer_limits(kind)
    clamped = 0 if math.isnan(number) else int(min(max(number, low), high))
    return np.array([clamped], dtype=kind.numpy)[0]  # type: ignore[no-any-return]
