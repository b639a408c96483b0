"""Vector instructions that convert, as numpy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.vector import Array, Row

F16, F32, F64 = np.float16, np.float32, np.float64
U, S, L, H, I16 = np.uint32, np.int32, np.uint64, np.uint16, np.int16


def held(kind: Any) -> Callable[[Array], Array]:
    """A float to an integer: held at the ends, 0 for NaN."""
    info = np.iinfo(kind)

    def convert(a: Array) -> Array:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            wide = np.nan_to_num(a.astype(F64), nan=0.0, posinf=1e300, neginf=-1e300)
        return np.trunc(np.clip(wide, info.min, info.max)).astype(kind)

    return convert


def to(kind: Any) -> Callable[[Array], Array]:
    return lambda a: a.astype(kind)


def half_bits(a: Array) -> Array:
    return a.astype(F16).view(H).astype(U)


def cut_half_bits(a: Array) -> Array:
    """Rounded towards zero: a number that is too large becomes the largest."""
    near = a.astype(F16)
    return (near.view(H) - (np.abs(near.astype(F32)) > np.abs(a))).astype(U)


def bf16_bits(a: Array) -> Array:
    bits = a.view(U)
    return np.where(np.isnan(a), bits >> 16 | 0x40, (bits + (bits >> 16 & 1) + np.uint32(0x7FFF)) >> 16)


def pair(function: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a) | function(b) << 16


def floored(shift: float) -> Callable[[Array], Array]:
    return lambda a: held(S)(np.floor(a + F32(shift)))


def saturated(kind: Any) -> Callable[[Array], Array]:
    info = np.iinfo(kind)
    return lambda a: np.clip(a.astype(np.int64), info.min, info.max).astype(kind)


def halves(function: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    return pair(lambda a: function(a).view(H).astype(U))


def with_byte(a: Array, b: Array, c: Array) -> Array:
    """v_cvt_pk_u8_f32: byte ``b`` of ``c`` becomes ``a``."""
    found = c.copy().view(np.uint8).reshape(-1, 4)
    found[np.arange(a.size), b & 3] = np.minimum(held(U)(a), 255)
    return found.view(U).ravel()


def numbers(given: list[Array]) -> list[Array]:
    """Which NaN comes out of two is not said."""
    return [np.where(np.isnan(array), array.dtype.type(0.1), array) for array in given]


def rows() -> list[Row]:
    plain: list[tuple[Any, str, Any, str]] = [
        (F16, "f16", F32, "f32"),
        (F32, "f32", F16, "f16"),
        (F32, "f32", F64, "f64"),
        (F64, "f64", F32, "f32"),
        (F32, "f32", S, "i32"),
        (F32, "f32", U, "u32"),
        (F64, "f64", S, "i32"),
        (F64, "f64", U, "u32"),
        (F16, "f16", H, "u16"),
        (F16, "f16", I16, "i16"),
    ]
    integers: list[tuple[Any, str, Any, str]] = [
        (S, "i32", F32, "f32"),
        (U, "u32", F32, "f32"),
        (S, "i32", F64, "f64"),
        (U, "u32", F64, "f64"),
        (I16, "i16", F16, "f16"),
        (H, "u16", F16, "f16"),
    ]
    two = (F32, F32)
    return [
        *(Row(f"v_cvt_{name}_{source}", kind, (given,), to(kind)) for kind, name, given, source in plain),
        *(Row(f"v_cvt_{name}_{source}", kind, (given,), held(kind)) for kind, name, given, source in integers),
        *(
            Row(f"v_cvt_f32_ubyte{n}", F32, (U,), lambda a, n=n: a >> np.uint32(8 * n) & np.uint32(255))
            for n in range(4)
        ),
        Row("v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32", U, two, pair(cut_half_bits), domain=numbers),
        Row("v_cvt_pk_f16_f32", U, two, pair(half_bits), domain=numbers),
        Row("v_cvt_pk_bf16_f32", U, two, pair(bf16_bits)),
        Row("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", S, (F32,), floored(0)),
        Row("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", S, (F32,), floored(0.5)),
        Row("v_cvt_off_f32_i4", F32, (U,), lambda a: ((a & 15 ^ 8).astype(F32) - 8) / 16),
        Row("v_cvt_i32_i16", S, (I16,), to(S)),
        Row("v_cvt_u32_u16", U, (H,), to(U)),
        Row("v_cvt_pk_i16_i32", U, (S, S), halves(saturated(I16))),
        Row("v_cvt_pk_u16_u32", U, (U, U), halves(saturated(H))),
        Row("v_cvt_pk_i16_f32", U, two, halves(held(I16))),
        Row("v_cvt_pk_u16_f32", U, two, halves(held(H))),
        Row("v_cvt_pk_u8_f32", U, (F32, U, U), with_byte),
        Row("v_sat_pk_u8_i16", H, (U,), lambda a: saturated(np.uint8)(a.view(I16)).view(H)),
    ]
