"""Vector instructions of floats, as numpy has them; of what numpy has not, the documents' formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.exact import fma, scaled_fma
from tests.isa_runtime.instructions.vector import CONSTANT, TAKEN, Array, Row

F16, F32, F64 = np.float16, np.float32, np.float64
U, S, I16 = np.uint32, np.int32, np.int16
SUFFIXES = ((F16, "f16"), (F32, "f32"), (F64, "f64"))


def signalling(a: Array) -> Array:
    bits = a.view(f"u{a.itemsize}")
    return np.isnan(a) & (bits >> (np.finfo(a.dtype).nmant - 1) & 1 == 0)


def maximum_number(a: Array, b: Array) -> Array:
    """v_max_num of RDNA 4: a number before a NaN, +0 above -0."""
    larger = np.where(a == b, np.where(np.signbit(a), b, a), np.where(a > b, a, b))
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, larger))


def minimum_number(a: Array, b: Array) -> Array:
    return -maximum_number(-a, -b)


def maximum(a: Array, b: Array) -> Array:
    """v_max before: a signalling NaN before a number too."""
    return np.where(signalling(a) | signalling(b), np.array(np.nan, a.dtype), maximum_number(a, b))


def minimum(a: Array, b: Array) -> Array:
    return -maximum(-a, -b)


def ieee_maximum(a: Array, b: Array) -> Array:
    """v_maximum of RDNA 4: a NaN before a number."""
    return np.where(np.isnan(a) | np.isnan(b), np.array(np.nan, a.dtype), maximum_number(a, b))


def ieee_minimum(a: Array, b: Array) -> Array:
    return -ieee_maximum(-a, -b)


Two = Callable[[Array, Array], Array]
Three = Callable[[Array, Array, Array], Array]


def then(first: Two, second: Two) -> Three:
    return lambda a, b, c: second(first(a, b), c)


def median_with(least: Two, most: Two) -> Callable[[Array, Array, Array], Array]:
    """The least, where one is NaN."""

    def median(a: Array, b: Array, c: Array) -> Array:
        middle = most(least(a, b), least(most(a, b), c))
        return np.where(np.isnan(a) | np.isnan(b) | np.isnan(c), least(least(a, b), c), middle)

    return median


def flushed(a: Array) -> Array:
    return np.where(np.abs(a) < np.finfo(a.dtype).tiny, np.copysign(a.dtype.type(0), a), a)


def unfused(a: Array, b: Array, c: Array) -> Array:
    """v_mad_f32 and its kin: rounded twice, subnormal numbers are zeros."""
    return flushed(flushed(flushed(a) * flushed(b)) + flushed(c))


def fraction(a: Array) -> Array:
    """Below 1, whatever is rounded; NaN of infinities."""
    below_one = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    return np.where(np.isfinite(a), np.minimum(a - np.floor(a), below_one), np.nan)


def power(a: Array, b: Array) -> Array:
    return np.ldexp(a, np.clip(b, -5000, 5000).astype(S))


def power_of_half(a: Array, b: Array) -> Array:
    return np.ldexp(a.astype(F64), np.clip(b, -500, 500).astype(S)).astype(F16)


def approximate(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Rounded from double precision; of f32 no subnormal number goes in or comes out."""

    def nearly(a: Array) -> Array:
        if a.dtype == F32:
            return flushed(function(flushed(a).astype(F64)).astype(F32))
        return function(a.astype(F64)).astype(a.dtype)

    return nearly


def turns(given: list[Array]) -> list[Array]:
    """What v_sin and v_cos take on every target: up to 256 turns."""
    return [np.where(np.isfinite(given[0]), np.clip(given[0], -256, 256), 0).astype(given[0].dtype)]


def sine(a: Array) -> Array:
    """Of turns, exact at their quarters."""
    part = a.astype(F64) - np.rint(a.astype(F64))
    part = np.where(np.abs(part) > 0.25, np.copysign(0.5, part) - part, part)
    return np.sin(part * 2 * np.pi).astype(F32)


def cosine(a: Array) -> Array:
    part = np.abs(a.astype(F64) - np.rint(a.astype(F64)))
    return np.sin((0.25 - part) * 2 * np.pi).astype(F32)


def biased_exponent(a: Array) -> Array:
    info = np.finfo(a.dtype)
    return (a.view(f"u{a.itemsize}") >> info.nmant).astype(S) & (2 * info.maxexp - 1)


def fixed_up(q: Array, d: Array, n: Array) -> Array:
    """v_div_fixup: the special cases of n / d, which numpy divides, else the quotient with their sign."""
    with np.errstate(all="ignore"):
        special = n / d
    ends = ~np.isfinite(n) | ~np.isfinite(d) | (n == 0) | (d == 0)
    sign = np.where(np.signbit(n) != np.signbit(d), -1, 1).astype(q.dtype)
    magnitude = np.where(np.isnan(q) & (q.itemsize > 2), q.dtype.type(np.inf), np.abs(q))  # overflown on the way
    small = biased_exponent(n) - biased_exponent(d) < {2: -9999, 4: -150, 8: -1075}[q.itemsize]
    return np.where(ends, special, np.where(small, 0, magnitude) * sign)


def scale(kind: Any) -> Callable[[Array, Array, Array], Array]:
    """v_div_fmas: by 2^64 or 2^128 where VCC says so, up or down as the addend is above 2 or not."""

    def fmas(a: Array, b: Array, c: Array) -> Array:
        by = 64 if kind is F32 else 128
        exponent = np.where(np.isfinite(c), np.frexp(c)[1] - 1, 1)
        return scaled_fma(a, b, c, np.where(TAKEN, np.where(exponent > 0, by, -by), 0))

    return fmas


def two_over_pi(bits: int) -> int:
    """Its first bits behind the binary point, by Machin's formula."""
    one = 1 << bits + 64

    def arctangent(inverse: int) -> int:
        power, total, n = one // inverse, 0, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power, n = power // inverse**2, n + 2
        return total

    pi = 4 * (4 * arctangent(5) - arctangent(239))
    return (2 * one << bits) // pi


def trig_preop(a: Array, b: Array) -> Array:
    """53 bits of 2 / pi for the reduction of ``a``, from bit 53 * ``b`` on; more of them where ``a`` is large."""
    total = 1201 + 2000
    whole = two_over_pi(1201) << 2000  # the hardware has 1201 bits
    exponent = biased_exponent(a)
    found = []
    for e, segment in zip(exponent.tolist(), b.tolist(), strict=True):
        shift = 53 * (segment & 31) + max(e - 1077, 0)
        bits = whole >> (total - shift - 53) & (1 << 53) - 1 if shift + 53 <= total else 0
        found.append(np.ldexp(float(bits), -53 - shift + (128 if e >= 1968 else 0)))
    return np.array(found)


def literal(kind: Any) -> Array:
    return np.array([CONSTANT], U).view(kind)[0]


def with_literal(name: str, kind: Any, function: Callable[..., Array]) -> list[Row]:
    """The literal as addend, and as factor."""
    constant = literal(kind)

    def addend(a: Array, b: Array) -> Array:
        return function(a, b, np.full_like(a, constant))

    def factor(a: Array, b: Array) -> Array:
        return function(a, np.full_like(a, constant), b)

    ak, mk = name.split()
    return [Row(ak, kind, (kind, kind), addend, "literal"), Row(mk, kind, (kind, kind), factor, "literal")]


MIXED: dict[str, Three] = {
    "max3": then(maximum, maximum),
    "min3": then(minimum, minimum),
    "max3_num": then(maximum_number, maximum_number),
    "min3_num": then(minimum_number, minimum_number),
    "maxmin": then(maximum, minimum),
    "minmax": then(minimum, maximum),
    "maxmin_num": then(maximum_number, minimum_number),
    "minmax_num": then(minimum_number, maximum_number),
    "maximum3": then(ieee_maximum, ieee_maximum),
    "minimum3": then(ieee_minimum, ieee_minimum),
    "maximumminimum": then(ieee_maximum, ieee_minimum),
    "minimummaximum": then(ieee_minimum, ieee_maximum),
}

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp2,
    "log": np.log2,
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
}


def rows() -> list[Row]:
    found = []
    for kind, suffix in SUFFIXES:
        two = (kind, kind)
        found += [
            Row(f"v_add_{suffix}", kind, two, np.add),
            Row(f"v_mul_{suffix}", kind, two, np.multiply),
            Row(f"v_max_{suffix}", kind, two, maximum),
            Row(f"v_min_{suffix}", kind, two, minimum),
            Row(f"v_max_num_{suffix}", kind, two, maximum_number),
            Row(f"v_min_num_{suffix}", kind, two, minimum_number),
            Row(f"v_sub_{suffix}", kind, two, np.subtract),
            Row(f"v_subrev_{suffix}", kind, two, lambda a, b: b - a),
            Row(f"v_trunc_{suffix}", kind, (kind,), np.trunc),
            Row(f"v_ceil_{suffix}", kind, (kind,), np.ceil),
            Row(f"v_floor_{suffix}", kind, (kind,), np.floor),
            Row(f"v_rndne_{suffix}", kind, (kind,), np.rint),
            Row(f"v_fract_{suffix}", kind, (kind,), fraction),
            Row(f"v_fma_{suffix}", kind, (kind,) * 3, fma, keeps=kind is F16),
            Row(f"v_fmac_{suffix}", kind, (kind,) * 3, fma, "accumulates", keeps=kind is F16),
            Row(f"v_div_fixup_{suffix}", kind, (kind,) * 3, fixed_up, keeps=kind is F16),
            *(Row(f"v_{name}_{suffix}", kind, (kind,), approximate(f)) for name, f in FUNCTIONS.items()),
        ]
    for kind, suffix in ((F16, "f16"), (F32, "f32")):
        three, keeps = (kind,) * 3, kind is F16
        found += [
            Row(f"v_med3_{suffix}", kind, three, median_with(minimum, maximum), keeps=keeps),
            Row(f"v_med3_num_{suffix}", kind, three, median_with(minimum_number, maximum_number)),
            *(Row(f"v_{name}_{suffix}", kind, three, f, keeps=keeps) for name, f in MIXED.items()),
            Row(f"v_maximum_{suffix}", kind, (kind, kind), ieee_maximum),
            Row(f"v_minimum_{suffix}", kind, (kind, kind), ieee_minimum),
            Row(f"v_sin_{suffix}", kind, (kind,), sine, domain=turns),
            Row(f"v_cos_{suffix}", kind, (kind,), cosine, domain=turns),
            *with_literal(f"v_fmaak_{suffix} v_fmamk_{suffix}", kind, fma),
        ]
    for kind, suffix in ((F32, "f32"), (F64, "f64")):
        found += [
            Row(f"v_frexp_mant_{suffix}", kind, (kind,), lambda a: np.frexp(a)[0]),
            Row(f"v_frexp_exp_i32_{suffix}", S, (kind,), lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)),
            Row(f"v_ldexp_{suffix}", kind, (kind, S), power),
            Row(f"v_div_fmas_{suffix}", kind, (kind,) * 3, scale(kind)),
        ]
    return [
        *found,
        Row("v_ldexp_f16", F16, (F16, I16), power_of_half),
        Row("v_fma_legacy_f16", F16, (F16,) * 3, fma),
        Row(
            "v_mul_legacy_f32 v_mul_dx9_zero_f32", F32, (F32, F32), lambda a, b: np.where((a == 0) | (b == 0), 0, a * b)
        ),
        Row("v_maximum_f64", F64, (F64, F64), ieee_maximum),
        Row("v_minimum_f64", F64, (F64, F64), ieee_minimum),
        Row("v_frexp_mant_f16", F16, (F16,), lambda a: np.frexp(a)[0]),
        Row("v_frexp_exp_i16_f16", I16, (F16,), lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)),
        Row("v_mad_f32", F32, (F32,) * 3, unfused),
        Row("v_mac_f32", F32, (F32,) * 3, unfused, "accumulates"),
        *with_literal("v_madak_f32 v_madmk_f32", F32, unfused),
        Row("v_trig_preop_f64", F64, (F64, U), trig_preop),
        Row("v_rcp_iflag_f32", F32, (F32,), approximate(FUNCTIONS["rcp"])),
    ]
