"""Types of AMD's pseudocode, and the functions that it uses without defining them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.exact import scaled_fma

FLOATS: dict[int, Any] = {16: np.float16, 32: np.float32, 64: np.float64}
TOWARDS_ZERO = 1


def bits_of(value: Any) -> int:
    """Of a float its bits; integers are as they are, of any sign."""
    if isinstance(value, np.floating):
        return int(value.view(f"u{value.itemsize}"))
    return int(value)


def typed(bits: int, kind: str, width: int) -> Any:
    """The lower bits in a type."""
    bits &= (1 << width) - 1
    if kind == "f":
        return np.array([bits], f"u{width // 8}").view(FLOATS[width])[0]
    return bits - (1 << width) if kind == "i" and bits >> (width - 1) else bits


def converted(kind: str, width: int, value: Any) -> Any:
    """A value in another type: a number stays that number, and a NaN signalling or quiet."""
    if kind == "f":
        if not isinstance(value, np.floating):
            return FLOATS[width](float(int(value)))
        return moved_nan(value, width) if math.isnan(value) else FLOATS[width](value)
    if isinstance(value, np.floating) and width > 64:
        raise ValueError("the digits of a real number")
    return typed(bits_of(value), kind, width)


def moved_nan(value: Any, width: int) -> Any:
    """Hardware would make it quiet, which a test for signalling NaN of the widened value must not see."""
    old, new = np.finfo(type(value)).nmant, np.finfo(FLOATS[width]).nmant
    payload = bits_of(value) & (1 << old) - 1
    payload = payload << new - old if new >= old else payload >> old - new
    exponent = (1 << width - 1 - new) - 1
    sign = int(np.signbit(value)) << width - 1
    return typed(sign | exponent << new | (payload or 1 << new - 1), "f", width)


def is_signalling(x: Any) -> bool:
    return bool(np.isnan(x)) and not bits_of(x) >> np.finfo(type(x)).nmant - 1 & 1


def quiet(x: Any) -> Any:
    return typed(bits_of(x) | 1 << np.finfo(type(x)).nmant - 1, "f", 8 * x.itemsize)


def exponent(x: Any) -> int:
    """With its bias."""
    info = np.finfo(type(x))
    return bits_of(x) >> info.nmant & 2 * info.maxexp - 1


def mantissa(x: Any) -> Any:
    """From 1/2 to 1, with the sign."""
    return np.frexp(x)[0]


def fma(a: Any, b: Any, c: Any) -> Any:
    return scaled_fma(*(np.array([x]) for x in (a, b, c)))[0]


def to_integer(low: int, high: int) -> Callable[[Any], int]:
    def convert(x: Any) -> int:
        return 0 if np.isnan(x) else int(min(max(float(x), low), high))

    return convert


def to_half(x: Any, mode: int = 0) -> Any:
    near = np.float16(x)
    if mode == TOWARDS_ZERO and abs(float(near)) > abs(float(x)):
        return typed(bits_of(near) - 1, "f", 16)
    return near


def to_bf16(x: Any) -> int:
    """Its bits."""
    bits = bits_of(x)
    return bits >> 16 | 0x40 if np.isnan(x) else bits + 0x7FFF + (bits >> 16 & 1) >> 16


def signext_from_bit(value: int, width: int) -> int:
    return typed(int(value), "i", int(width)) if width else 0


def leading_ones(bits: int) -> Callable[[int], int]:
    return lambda x: next((n for n in range(bits) if int(x) >> n & 1), -1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isNAN": lambda x: bool(np.isnan(x)),
    "isSignalNAN": is_signalling,
    "isQuietNAN": lambda x: bool(np.isnan(x)) and not is_signalling(x),
    "cvtToQuietNAN": quiet,
    "exponent": exponent,
    "mantissa": mantissa,
    "sign": lambda x: bool(np.signbit(x)),
    "abs": abs,
    "fma": fma,
    "floor": np.floor,
    "trunc": np.trunc,
    "fract": lambda x: x - np.floor(x),
    "isEven": lambda x: float(x) % 2 == 0,
    "sqrt": np.sqrt,
    "ldexp": lambda x, n: np.ldexp(x, int(n)),
    "signext": int,
    "signext_from_bit": signext_from_bit,
    "bitCount": lambda x: bin(int(x)).count("1"),
    "u32_to_f32": lambda x: np.float32(int(x) & 0xFFFFFFFF),
    "i32_to_f32": lambda x: np.float32(typed(int(x), "i", 32)),
    "u32_to_f64": lambda x: np.float64(int(x) & 0xFFFFFFFF),
    "i32_to_f64": lambda x: np.float64(typed(int(x), "i", 32)),
    "u16_to_f16": lambda x: np.float16(int(x) & 0xFFFF),
    "i16_to_f16": lambda x: np.float16(typed(int(x), "i", 16)),
    "bf16_to_f32": lambda x: typed(int(x) << 16, "f", 32),
    "f32_to_bf16": to_bf16,
    "f16_to_f32": np.float32,
    "f32_to_f64": np.float64,
    "f64_to_f32": lambda x, mode=0: np.float32(x),
    "f32_to_f16": to_half,
    "f32_to_i32": to_integer(-(1 << 31), (1 << 31) - 1),
    "f32_to_u32": to_integer(0, (1 << 32) - 1),
    "f64_to_i32": to_integer(-(1 << 31), (1 << 31) - 1),
    "f64_to_u32": to_integer(0, (1 << 32) - 1),
    "f16_to_i16": to_integer(-(1 << 15), (1 << 15) - 1),
    "f16_to_u16": to_integer(0, (1 << 16) - 1),
    "s_ff1_i32_b32": leading_ones(32),
    "s_ff1_i32_b64": leading_ones(64),
    **{f"{letter}{n}_to_{letter}32": int for letter in "iu" for n in (4, 8, 16)},
    **{f"v_{name}_{kind}{n}": f for name, f in (("min", min), ("max", max)) for kind in "iu" for n in (16, 32)},
}
