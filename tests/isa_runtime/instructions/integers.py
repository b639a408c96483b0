"""Vector instructions of integers and bits, as numpy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.vector import TAKEN, Array, Row

U, S, L, I64 = np.uint32, np.int32, np.uint64, np.int64
H, I16 = np.uint16, np.int16
Two = Callable[[Array, Array], Array]


def shifted(function: Two) -> Two:
    """The first operand is the count, of which the lower bits count."""
    return lambda a, b: function(b, (a & (8 * b.itemsize - 1)).astype(b.dtype))


def wide(a: Array) -> Array:
    return a.astype(I64)


def high(function: Two) -> Two:
    """The upper half of a product of 64 bits."""
    return lambda a, b: function(a, b) >> 32


def low24(a: Array) -> Array:
    return wide(a & 0xFFFFFF)


def signed24(a: Array) -> Array:
    return wide(a << 8 >> 8)


def median(a: Array, b: Array, c: Array) -> Array:
    return np.sort([a, b, c], axis=0)[1]


def leading(a: Array, missing: int = -1) -> Array:
    """How many zeros are above the highest bit that is set."""
    found = 31 - np.floor(np.log2(np.maximum(a, 1).astype(np.float64))).astype(I64)
    return np.where(a == 0, missing, found)


def bits(a: Array) -> Array:
    """By lane, from the lowest bit on."""
    return np.unpackbits(a.view(np.uint8).reshape(a.size, -1), axis=1, bitorder="little")


def reversed_bits(a: Array) -> Array:
    return np.packbits(bits(a)[:, ::-1], axis=1, bitorder="little").view(a.dtype).ravel()


def count(a: Array) -> Array:
    return bits(a).sum(1).astype(I64)


def parts(a: Array, kind: Any) -> Array:
    return a.view(kind).reshape(a.size, -1).astype(I64)


def differences(kind: Any, masked: bool = False) -> Two:
    """The sum of absolute differences of parts, where those of ``b`` are not 0 if ``masked``."""

    def summed(a: Array, b: Array) -> Array:
        x, y = parts(a, kind), parts(b, kind)
        return np.where((y != 0) | (not masked), np.abs(x - y), 0).sum(1)

    return summed


def byte_means(a: Array, b: Array, c: Array) -> Array:
    x, y, z = (parts(word, np.uint8) for word in (a, b, c))
    return (x + y + (z & 1) >> 1).astype(np.uint8).view(U).ravel()


def permuted(a: Array, b: Array, c: Array) -> Array:
    """v_perm_b32: bytes 0 to 7 of ``a`` above ``b``, the sign of each second, 0, or 255."""
    data = (a.astype(L) << np.uint64(32) | b).view(np.uint8).reshape(-1, 8)
    signs = np.where(data[:, 1::2] > 127, 255, 0)
    choices = np.concatenate([data, signs, np.zeros((a.size, 1)), np.full((a.size, 243), 255)], axis=1)
    return np.take_along_axis(choices, c.view(np.uint8).reshape(-1, 4), axis=1).astype(np.uint8).view(U).ravel()


def field(a: Array, b: Array, c: Array) -> Array:
    """``c`` bits of ``a`` from bit ``b`` on, with the sign that its type asks for."""
    size = wide(c & 31)
    part = wide(a) >> wide(b & 31) & ((1 << size) - 1)
    negative = (size > 0) & (part >> np.maximum(size - 1, 0) & 1 == 1) & (a.dtype == S)
    return part - np.where(negative, 1 << size, 0)


def carried(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """v_mad_u64_u32 and v_mad_i64_i32: 64 bits, and the one above them."""
    sums = [int(x) * int(y) + int(z) for x, y, z in zip(a, b, c, strict=True)]
    return np.array([value & (1 << 64) - 1 for value in sums], L), np.array([value >> 64 & 1 for value in sums], bool)


def rows_of_sums() -> list[Row]:
    """Sums and differences with a carry, the differences also with the operands exchanged."""
    functions: dict[str, Callable[..., Array]] = {
        "add": lambda a, b, c: wide(a) + b + c,
        "sub": lambda a, b, c: wide(a) - b - c,
        "subrev": lambda a, b, c: wide(b) - a - c,
    }
    found = []
    for (name, sums), old in zip(functions.items(), ("addc", "subb", "subbrev"), strict=True):
        with_carry = f"v_{old}_co_u32 v_{name}_co_ci_u32"
        found += [
            Row(f"v_{name}_u32 v_{name}_nc_u32", U, (U, U), lambda a, b, f=sums: f(a, b, 0)),
            Row(f"v_{name}_co_u32", U, (U, U), lambda a, b, f=sums: f(a, b, 0), "value and carry"),
            Row(f"v_{name}_co_u32", bool, (U, U), lambda a, b, f=sums: f(a, b, 0) >> 32 != 0, "carry"),
            Row(with_carry, U, (U, U), lambda a, b, f=sums: f(a, b, TAKEN), "carry in"),
            Row(with_carry, bool, (U, U), lambda a, b, f=sums: f(a, b, TAKEN) >> 32 != 0, "carry in and out"),
        ]
    return found


def rows() -> list[Row]:
    one: list[tuple[str, Callable[[Array], Array]]] = [
        ("v_mov_b32", lambda a: a),
        ("v_not_b32", np.invert),
        ("v_bfrev_b32", reversed_bits),
        ("v_ffbh_u32 v_clz_i32_u32", leading),
        ("v_ffbl_b32 v_ctz_i32_b32", lambda a: leading(reversed_bits(a))),
        ("v_ffbh_i32 v_cls_i32", lambda a: leading(np.where(a >> 31 == 1, ~a, a))),
    ]
    two: list[tuple[str, Any, Two]] = [
        ("v_add_i32 v_add_nc_i32", S, np.add),
        ("v_sub_i32 v_sub_nc_i32", S, np.subtract),
        ("v_and_b32", U, np.bitwise_and),
        ("v_or_b32", U, np.bitwise_or),
        ("v_xor_b32", U, np.bitwise_xor),
        ("v_xnor_b32", U, lambda a, b: ~(a ^ b)),
        ("v_lshlrev_b32", U, shifted(np.left_shift)),
        ("v_lshrrev_b32", U, shifted(np.right_shift)),
        ("v_ashrrev_i32", S, shifted(np.right_shift)),
        ("v_max_u32", U, np.maximum),
        ("v_min_u32", U, np.minimum),
        ("v_max_i32", S, np.maximum),
        ("v_min_i32", S, np.minimum),
        ("v_mul_lo_u32", U, np.multiply),
        ("v_mul_hi_u32", U, high(lambda a, b: a.astype(L) * b)),
        ("v_mul_hi_i32", S, high(lambda a, b: wide(a) * b)),
        ("v_mul_u32_u24", U, lambda a, b: low24(a) * low24(b)),
        ("v_mul_hi_u32_u24", U, high(lambda a, b: low24(a) * low24(b))),
        ("v_mul_i32_i24", S, lambda a, b: signed24(a) * signed24(b)),
        ("v_mul_hi_i32_i24", S, high(lambda a, b: signed24(a) * signed24(b))),
        ("v_bfm_b32", U, lambda a, b: ((1 << wide(a & 31)) - 1) << wide(b & 31)),
        ("v_bcnt_u32_b32", U, lambda a, b: count(a) + b),
    ]
    three: list[tuple[str, Any, Callable[[Array, Array, Array], Array]]] = [
        ("v_max3_u32", U, lambda a, b, c: np.max([a, b, c], axis=0)),
        ("v_min3_u32", U, lambda a, b, c: np.min([a, b, c], axis=0)),
        ("v_med3_u32", U, median),
        ("v_max3_i32", S, lambda a, b, c: np.max([a, b, c], axis=0)),
        ("v_min3_i32", S, lambda a, b, c: np.min([a, b, c], axis=0)),
        ("v_med3_i32", S, median),
        ("v_maxmin_u32", U, lambda a, b, c: np.minimum(np.maximum(a, b), c)),
        ("v_minmax_u32", U, lambda a, b, c: np.maximum(np.minimum(a, b), c)),
        ("v_maxmin_i32", S, lambda a, b, c: np.minimum(np.maximum(a, b), c)),
        ("v_minmax_i32", S, lambda a, b, c: np.maximum(np.minimum(a, b), c)),
        ("v_sad_u8", U, lambda a, b, c: differences(np.uint8)(a, b) + c),
        ("v_sad_hi_u8", U, lambda a, b, c: (differences(np.uint8)(a, b) << 16) + c),
        ("v_sad_u16", U, lambda a, b, c: differences(H)(a, b) + c),
        ("v_msad_u8", U, lambda a, b, c: differences(np.uint8, True)(a, b) + c),
        ("v_lerp_u8", U, byte_means),
        ("v_mad_u32_u24", U, lambda a, b, c: low24(a) * low24(b) + c),
        ("v_mad_i32_i24", S, lambda a, b, c: signed24(a) * signed24(b) + c),
        ("v_add3_u32", U, lambda a, b, c: a + b + c),
        ("v_lshl_add_u32", U, lambda a, b, c: (a << (b & 31)) + c),
        ("v_add_lshl_u32", U, lambda a, b, c: (a + b) << (c & 31)),
        ("v_lshl_or_b32", U, lambda a, b, c: a << (b & 31) | c),
        ("v_and_or_b32", U, lambda a, b, c: a & b | c),
        ("v_or3_b32", U, lambda a, b, c: a | b | c),
        ("v_xor3_b32", U, lambda a, b, c: a ^ b ^ c),
        ("v_xad_u32", U, lambda a, b, c: (a ^ b) + c),
        ("v_bfi_b32", U, lambda a, b, c: a & b | ~a & c),
        ("v_bfe_u32", U, field),
        ("v_bfe_i32", S, field),
        ("v_alignbit_b32", U, lambda a, b, c: (a.astype(L) << np.uint64(32) | b) >> (c & 31)),
        ("v_alignbyte_b32", U, lambda a, b, c: (a.astype(L) << np.uint64(32) | b) >> 8 * (c & 3)),
        ("v_perm_b32", U, permuted),
        ("v_sad_u32", U, lambda a, b, c: np.abs(wide(a) - b) + c),
    ]
    halves: list[tuple[str, Any, Two]] = [
        ("v_add_u16 v_add_nc_u16", H, np.add),
        ("v_sub_u16 v_sub_nc_u16", H, np.subtract),
        ("v_subrev_u16", H, lambda a, b: b - a),
        ("v_mul_lo_u16", H, np.multiply),
        ("v_max_u16", H, np.maximum),
        ("v_min_u16", H, np.minimum),
        ("v_max_i16", I16, np.maximum),
        ("v_min_i16", I16, np.minimum),
        ("v_lshlrev_b16", H, shifted(np.left_shift)),
        ("v_lshrrev_b16", H, shifted(np.right_shift)),
        ("v_ashrrev_i16", I16, shifted(np.right_shift)),
        ("v_and_b16", H, np.bitwise_and),
        ("v_or_b16", H, np.bitwise_or),
        ("v_xor_b16", H, np.bitwise_xor),
    ]
    return [
        *(Row(name, U, (U,), function) for name, function in one),
        *(Row(name, kind, (kind, kind), function) for name, kind, function in two),
        *(Row(name, kind, (kind,) * 3, function) for name, kind, function in three),
        *rows_of_sums(),
        Row("v_mov_b64", L, (L,), lambda a: a),
        Row("v_lshlrev_b64", L, (U, L), shifted(np.left_shift)),
        Row("v_lshrrev_b64", L, (U, L), shifted(np.right_shift)),
        Row("v_ashrrev_i64", I64, (U, I64), shifted(np.right_shift)),
        Row(
            "v_lshl_add_u64",
            L,
            (L, U, L),
            lambda a, b, c: (a << b.astype(L)) + c,
            domain=lambda given: [given[0], given[1] % np.uint32(5), given[2]],
        ),
        Row("v_mad_u64_u32 v_mad_co_u64_u32", L, (U, U, L), lambda *x: carried(*x)[0], "value and carry"),
        Row("v_mad_u64_u32 v_mad_co_u64_u32", bool, (U, U, L), lambda *x: carried(*x)[1], "carry"),
        Row("v_mad_i64_i32 v_mad_co_i64_i32", L, (S, S, I64), lambda *x: carried(*x)[0], "value and carry"),
        Row("v_mad_i64_i32 v_mad_co_i64_i32", bool, (S, S, I64), lambda *x: carried(*x)[1], "carry"),
        Row("v_cndmask_b32", U, (U, U), lambda a, b: np.where(TAKEN, b, a), "condition"),
        *(Row(name, kind, (kind, kind), function) for name, kind, function in halves),
        Row("v_add_i16 v_add_nc_i16", I16, (I16, I16), np.add, keeps=True),
        Row("v_sub_i16 v_sub_nc_i16", I16, (I16, I16), np.subtract, keeps=True),
        Row("v_mad_legacy_u16", H, (H,) * 3, lambda a, b, c: a * b + c),
        Row("v_mad_u16", H, (H,) * 3, lambda a, b, c: a * b + c, keeps=True),
        Row("v_mad_i16", I16, (I16,) * 3, lambda a, b, c: a * b + c, keeps=True),
        Row("v_mad_legacy_i16", I16, (I16,) * 3, lambda a, b, c: a * b + c),
        Row("v_mad_u32_u16", U, (H, H, U), lambda a, b, c: wide(a) * b + c),
        Row("v_mad_i32_i16", S, (I16, I16, S), lambda a, b, c: wide(a) * b + c),
        *(
            Row(f"v_{name}_{suffix}", kind, (kind,) * 3, function, keeps=True)
            for suffix, kind in (("u16", H), ("i16", I16))
            for name, function in (
                ("max3", lambda a, b, c: np.max([a, b, c], axis=0)),
                ("min3", lambda a, b, c: np.min([a, b, c], axis=0)),
                ("med3", median),
            )
        ),
        Row("v_mov_b16", H, (H,), lambda a: a),
        Row("v_not_b16", H, (H,), np.invert),
        Row("v_cndmask_b16", H, (H, H), lambda a, b: np.where(TAKEN, b, a), "condition"),
        Row("v_pack_b32_f16", U, (H, H), lambda a, b: a | b.astype(U) << 16),
    ]
