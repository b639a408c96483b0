"""Vector instructions of two halves of a register, or of two registers, and dot products, as numpy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.exact import fma
from tests.isa_runtime.instructions.floats import (
    flushed,
    ieee_maximum,
    ieee_minimum,
    maximum,
    maximum_number,
    minimum,
    minimum_number,
    then,
)
from tests.isa_runtime.instructions.vector import Array, Row
from tests.isa_runtime.instructions.words import OLD

F16, F32 = np.float16, np.float32
U, S, L, H, I16 = np.uint32, np.int32, np.uint64, np.uint16, np.int16
Function = Callable[..., Array]


def shifted(function: Function) -> Function:
    return lambda a, b: function(b, a & 15)


def joined(low: Array, high: Array, kind: Any) -> Array:
    """Two parts of each lane as one word of bits."""
    both = np.stack([low.astype(kind), high.astype(kind)], axis=1)
    return both.view(L if both.itemsize == 4 else U).ravel()


def parts(a: Array, kind: Any) -> tuple[Array, Array]:
    both = a.view(kind).reshape(a.size, 2)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def packed(kind: Any, function: Function) -> Function:
    """The lower parts make the lower part of the result, the upper ones the upper."""

    def both(*words: Array) -> Array:
        given = [parts(word, kind) for word in words]
        return joined(*(function(*(pair[n] for pair in given)) for n in range(2)), kind)

    return both


def crossed(kind: Any, function: Function) -> Function:
    """op_sel:[1,0,1], op_sel_hi:[0,1,0] and neg_lo:[0,1,0], of floats."""

    def both(*words: Array) -> Array:
        given = [parts(word, kind) for word in words]
        low = [given[n][(1, 0, 1)[n]] for n in range(len(words))]
        high = [given[n][(0, 1, 0)[n]] for n in range(len(words))]
        low[1] = -low[1]
        return joined(function(*low), function(*high), kind)

    return both


def high_halves(function: Function) -> Function:
    """op_sel and op_sel_hi choose the upper half of every source, for both halves of the result."""

    def both(*words: Array) -> Array:
        found = function(*(parts(word, H)[1] for word in words))
        return joined(found, found, H)

    return both


def without_nan(kind: Any) -> Callable[[list[Array]], list[Array]]:
    """Two halves of a word are compared as bits, and which NaN comes out is not said."""

    def domain(given: list[Array]) -> list[Array]:
        found = []
        for array in given:
            halves = array.view(kind)
            with np.errstate(invalid="ignore"):
                plain = np.isfinite(halves) & (np.abs(halves) < 128)
            found.append(np.where(plain, halves, kind(0.1)).astype(kind).view(array.dtype))
        return found

    return domain


def mixed(kind: Any, function: Function) -> Function:
    """v_fma_mix of floats, or of the lower halves."""
    if kind is F32:
        return lambda a, b, c: function(fma(a.view(F32), b.view(F32), c.view(F32)))
    return lambda *words: function(fma(*(parts(word, F16)[0].astype(F32) for word in words)))


def to_half(a: Array) -> Array:
    return a.astype(F16)


def upper_half(a: Array) -> Array:
    """Above what the register had below."""
    return a.astype(F16).view(H).astype(U) << 16 | np.uint32(OLD & 0xFFFF)


def moderate(given: list[Array]) -> list[Array]:
    """Numbers both as floats and as halves: a NaN would be compared bit by bit."""
    return without_nan(F16)(without_nan(F32)(given))


def split(bits: int, with_sign: bool) -> Function:
    """A word's parts of ``bits``, as numbers."""

    def function(word: Array) -> Array:
        found = (word[:, None].astype(np.int64) >> np.arange(0, 32, bits)) & ((1 << bits) - 1)
        return np.where(with_sign & (found >> (bits - 1) == 1), found - (1 << bits), found)

    return function


def dot(bits: int, with_sign: bool) -> Function:
    part = split(bits, with_sign)
    return lambda a, b, c: (part(a) * part(b)).sum(1) + c


def dot_halves(a: Array, b: Array, c: Array) -> Array:
    """Rounded after each product; a subnormal addend or sum is 0."""
    (a0, a1), (b0, b1) = (tuple(part.astype(F32) for part in parts(word, F16)) for word in (a, b))
    return flushed((flushed(c) + a0 * b0) + a1 * b1)


def dot_bf16(a: Array, b: Array, c: Array) -> Array:
    (a0, a1), (b0, b1) = ((word << 16, word & np.uint32(0xFFFF0000)) for word in (a, b))
    return (c + a0.view(F32) * b0.view(F32)) + a1.view(F32) * b1.view(F32)


def rows() -> list[Row]:
    halves: list[tuple[str, Any, int, Function]] = [
        ("v_pk_add_f16", F16, 2, np.add),
        ("v_pk_mul_f16", F16, 2, np.multiply),
        ("v_pk_fma_f16", F16, 3, fma),
        ("v_pk_max_f16", F16, 2, maximum),
        ("v_pk_min_f16", F16, 2, minimum),
        ("v_pk_max_num_f16", F16, 2, maximum_number),
        ("v_pk_min_num_f16", F16, 2, minimum_number),
        ("v_pk_maximum_f16", F16, 2, ieee_maximum),
        ("v_pk_minimum_f16", F16, 2, ieee_minimum),
        ("v_pk_maximum3_f16", F16, 3, then(ieee_maximum, ieee_maximum)),
        ("v_pk_minimum3_f16", F16, 3, then(ieee_minimum, ieee_minimum)),
    ]
    integers: list[tuple[str, Any, int, Function]] = [
        ("v_pk_add_u16", H, 2, np.add),
        ("v_pk_sub_u16", H, 2, np.subtract),
        ("v_pk_add_i16", I16, 2, np.add),
        ("v_pk_sub_i16", I16, 2, np.subtract),
        ("v_pk_mul_lo_u16", H, 2, np.multiply),
        ("v_pk_mad_u16", H, 3, lambda a, b, c: a * b + c),
        ("v_pk_mad_i16", I16, 3, lambda a, b, c: a * b + c),
        ("v_pk_lshlrev_b16", H, 2, shifted(np.left_shift)),
        ("v_pk_lshrrev_b16", H, 2, shifted(np.right_shift)),
        ("v_pk_ashrrev_i16", I16, 2, shifted(np.right_shift)),
        ("v_pk_max_u16", H, 2, np.maximum),
        ("v_pk_min_u16", H, 2, np.minimum),
        ("v_pk_max_i16", I16, 2, np.maximum),
        ("v_pk_min_i16", I16, 2, np.minimum),
    ]
    pairs: list[tuple[str, int, Function]] = [
        ("v_pk_add_f32", 2, np.add),
        ("v_pk_mul_f32", 2, np.multiply),
        ("v_pk_fma_f32", 3, fma),
    ]
    dots: list[tuple[str, int, bool]] = [
        ("v_dot4_i32_i8 v_dot4c_i32_i8", 8, True),
        ("v_dot4_u32_u8", 8, False),
        ("v_dot8_i32_i4 v_dot8c_i32_i4", 4, True),
        ("v_dot8_u32_u4", 4, False),
        ("v_dot2_i32_i16 v_dot2c_i32_i16", 16, True),
        ("v_dot2_u32_u16", 16, False),
    ]
    finite, finite_pair = without_nan(F16), without_nan(F32)
    found = []
    for name, kind, count, function in halves:
        found.append(Row(name, U, (U,) * count, packed(kind, function), domain=finite))
        found.append(Row(name, U, (U,) * count, crossed(kind, function), "crossed", domain=finite))
    for name, kind, count, function in integers:
        found.append(Row(name, U, (U,) * count, packed(kind, function)))
        if kind is H:
            found.append(Row(name, U, (U,) * count, high_halves(function), "high halves"))
    for name, count, function in pairs:
        found.append(Row(name, L, (L,) * count, packed(F32, function), domain=finite_pair))
        found.append(Row(name, L, (L,) * count, crossed(F32, function), "crossed", domain=finite_pair))
    for names, bits, with_sign in dots:
        for name in names.split():
            form = "accumulates" if "c_" in name else "plain"
            found.append(Row(name, U, (U, U, U), dot(bits, with_sign), form))
    for form, kind in (("floats", F32), ("plain", F16)):
        found.append(Row("v_fma_mix_f32", F32, (U, U, U), mixed(kind, lambda a: a), form))
        found.append(Row("v_fma_mixlo_f16", F16, (U, U, U), mixed(kind, to_half), form, keeps=True))
        found.append(Row("v_fma_mixhi_f16", U, (U, U, U), mixed(kind, upper_half), form, domain=moderate))
    return [
        *found,
        Row("v_pk_mov_b32", L, (L, L), lambda a, b: joined(parts(a, U)[0], parts(b, U)[0], U)),
        Row("v_pk_mov_b32", L, (L, L), lambda a, b: joined(parts(a, U)[1], parts(b, U)[1], U), "high halves"),
        Row("v_dot2_f32_f16", F32, (U, U, F32), dot_halves),
        Row("v_dot2c_f32_f16", F32, (U, U, F32), dot_halves, "accumulates"),
        Row("v_dot2acc_f32_f16", F32, (U, U, F32), dot_halves, "accumulates"),
        Row("v_dot2_f32_bf16", F32, (U, U, F32), dot_bf16),
    ]
