"""Instructions of the scalar unit, as numpy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.isa_runtime.instructions.compares import FLOATS, INTEGERS
from tests.isa_runtime.instructions.conversions import cut_half_bits, held, pair
from tests.isa_runtime.instructions.exact import fma
from tests.isa_runtime.instructions.floats import (
    FUNCTIONS,
    approximate,
    ieee_maximum,
    ieee_minimum,
    literal,
    maximum,
    maximum_number,
    minimum,
    minimum_number,
)
from tests.isa_runtime.instructions.integers import bits, count, leading, reversed_bits, wide
from tests.isa_runtime.instructions.scalar import Case, Row, not_zero
from tests.isa_runtime.instructions.vector import Array

U, S, L, I64, H, F16, F32 = np.uint32, np.int32, np.uint64, np.int64, np.uint16, np.float16, np.float32
LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "andn2 and_not1": lambda a, b: a & ~b,
    "orn2 or_not1": lambda a, b: a | ~b,
}
ONLY_EXEC: dict[str, Callable[[Array, Array], Array]] = {
    "andn1 and_not0": lambda a, b: ~a & b,
    "orn1 or_not0": lambda a, b: ~a | b,
}
WRITTEN = {name: f for name, f in (LOGIC | ONLY_EXEC).items() if name.startswith(("andn1", "andn2"))}
"""Of the operand and EXEC; the other way round in the instructions of two operands."""
TWO_32, TWO_64 = (U, U), (L, L)


def spelled(form: str, names: str) -> str:
    return " ".join(form.format(name) for name in names.split())


def beyond(case: Case, result: Array) -> Array:
    """The carry or borrow of a sum of 32 bits."""
    return result >> 32 != 0


def overflows(case: Case, result: Array) -> Array:
    return result != result.astype(S)


def leading64(a: Array) -> Array:
    above = (a >> np.uint64(32)).astype(U)
    return np.where(above != 0, leading(above), np.where(a == 0, -1, 32 + leading(a.astype(U))))


def field(kind: Any) -> Callable[[Case], Array]:
    """``b`` has the first bit below, the number of bits from bit 16 on."""
    bits = 8 * np.dtype(kind).itemsize

    def extracted(case: Case) -> Array:
        found = []
        for a, b in zip(case.a.tolist(), case.b.tolist(), strict=True):
            size, part = b >> 16 & 127, (a >> (b & (bits - 1)))
            part &= (1 << min(size, bits)) - 1
            sign = np.dtype(kind).kind == "i" and 0 < size < bits and part >> (size - 1) & 1
            found.append((part - (1 << size) if sign else part) & (1 << bits) - 1)
        return np.array(found, np.dtype(f"u{bits // 8}")).view(kind)

    return extracted


def bitmask(kind: Any) -> Callable[[Case], Array]:
    def mask(case: Case) -> Array:
        most = np.uint64(8 * np.dtype(kind).itemsize - 1)
        size, at = case.a.astype(L) & most, case.b.astype(L) & most
        return ((np.uint64(1) << size) - np.uint64(1)) << at

    return mask


def first(better: Callable[[Array, Array], Array]) -> tuple[Callable[[Case], Array], Callable[[Case, Array], Array]]:
    """A minimum or maximum, and whether it is the first operand."""
    return (lambda s: np.where(better(s.a, s.b), s.a, s.b)), (lambda s, r: better(s.a, s.b))


def compared(function: Callable[[Array, Array], Array]) -> Callable[[Case, Array], Array]:
    return lambda s, r: function(s.a, s.b)


def quads(a: Array, width: int) -> Array:
    """A bit for each four, whether one is set, ``width`` times."""
    found = np.repeat(bits(a).reshape(a.size, -1, 4).any(2), width, axis=1)
    padded = np.zeros((a.size, 8 * a.itemsize), bool)
    padded[:, : found.shape[1]] = found
    return np.packbits(padded, 1, "little").view(a.dtype)[:, 0]


def bit(case: Case, most: Any) -> Array:
    return (case.a >> (case.b & most).astype(case.a.dtype) & case.a.dtype.type(1)).astype(bool)


def quiet_cut_half_bits(a: Array) -> Array:
    sign_and_payload = a.view(U) >> 16 & np.uint32(0x8000) | a.view(U) >> 13 & np.uint32(0x1FF)
    return np.where(np.isnan(a), sign_and_payload | np.uint32(0x7E00), cut_half_bits(a))


def destination(case: Case) -> Array:
    return np.asarray(case.d)


def with_constant(function: Callable[[Array, Any], Array], kind: Any) -> Callable[[Case, Array], Array]:
    return lambda s, r: function(s.d, s.k & 0xFFFF if kind is U else s.k)


def integers() -> list[Row]:
    found = []
    for names, f in LOGIC.items():
        for suffix, two in (("b32", TWO_32), ("b64", TWO_64)):
            found.append(Row(spelled(f"s_{{}}_{suffix}", names), two[0], two, lambda s, f=f: f(s.a, s.b), not_zero))
    for names, f in WRITTEN.items():
        for suffix, kind in (("b32", U), ("b64", L)):
            found.append(
                Row(
                    spelled(f"s_{{}}_wrexec_{suffix}", names),
                    kind,
                    (kind,),
                    lambda s, f=f, kind=kind: f(s.a, s.exec.astype(kind)),
                    not_zero,
                )
            )
    for names, f in (LOGIC | ONLY_EXEC).items():
        for suffix, kind in (("b32", U), ("b64", L)):
            name = spelled(f"s_{{}}_saveexec_{suffix}", names)

            def new(s: Case, f: Any = f, kind: Any = kind) -> Array:
                changed = f(s.a, s.exec.astype(kind)).astype(kind)
                return np.asarray(changed)

            found.append(
                Row(name, kind, (kind,), lambda s, kind=kind: s.exec.astype(kind), lambda s, r, new=new: new(s) != 0)
            )
            found.append(Row(name, kind, (kind,), new, not_zero, to_exec=True))
    for suffix, kind in (("b32", U), ("b64", L)):
        count64 = np.uint64(31 if kind is U else 63)
        found += [
            Row(f"s_mov_{suffix}", kind, (kind,), lambda s: s.a),
            Row(f"s_cmov_{suffix}", kind, (kind,), lambda s: np.where(s.scc, s.a, s.d), reads=kind),
            Row(f"s_not_{suffix}", kind, (kind,), lambda s: ~s.a, not_zero),
            Row(f"s_brev_{suffix}", kind, (kind,), lambda s: reversed_bits(s.a)),
            Row(f"s_bcnt1_i32_{suffix}", U, (kind,), lambda s: count(s.a), not_zero),
            Row(f"s_cselect_{suffix}", kind, (kind, kind), lambda s: np.where(s.scc, s.a, s.b)),
            Row(f"s_lshl_{suffix}", kind, (kind, U), lambda s, c=count64: s.a << (s.b & c).astype(s.a.dtype), not_zero),
            Row(f"s_lshr_{suffix}", kind, (kind, U), lambda s, c=count64: s.a >> (s.b & c).astype(s.a.dtype), not_zero),
            Row(f"s_bfm_{suffix}", kind, TWO_32, bitmask(kind)),
            Row(f"s_bcnt0_i32_{suffix}", U, (kind,), lambda s: count(~s.a), not_zero),
            Row(f"s_wqm_{suffix}", kind, (kind,), lambda s: quads(s.a, 4), not_zero),
            Row(f"s_quadmask_{suffix}", kind, (kind,), lambda s: quads(s.a, 1), not_zero),
            Row(
                f"s_bitset0_{suffix}",
                kind,
                (U,),
                lambda s, c=count64: s.d & ~(s.d.dtype.type(1) << (s.a & c).astype(s.d.dtype)),
                reads=kind,
            ),
            Row(
                f"s_bitset1_{suffix}",
                kind,
                (U,),
                lambda s, c=count64: s.d | s.d.dtype.type(1) << (s.a & c).astype(s.d.dtype),
                reads=kind,
            ),
            Row(f"s_bitcmp0_{suffix}", None, (kind, U), destination, lambda s, r, c=count64: ~bit(s, c)),
            Row(f"s_bitcmp1_{suffix}", None, (kind, U), destination, lambda s, r, c=count64: bit(s, c)),
        ]
    for suffix, kind in (("u32", U), ("i32", S), ("u64", L), ("i64", I64)):
        found.append(Row(f"s_bfe_{suffix}", kind, (kind, U), field(kind), not_zero))
    for suffix, kind in (("u32", U), ("i32", S)):
        for name, better in (("min", np.less), ("max", np.greater_equal)):
            value, scc = first(better)
            found.append(Row(f"s_{name}_{suffix}", kind, (kind, kind), value, scc))
        for name, f in ({"lg": np.not_equal} | {k: INTEGERS[k] for k in ("lt", "eq", "le", "gt", "ge")}).items():
            found.append(Row(f"s_cmp_{name}_{suffix}", None, (kind, kind), destination, compared(f)))
            found.append(Row(f"s_cmpk_{name}_{suffix}", kind, (kind,), destination, with_constant(f, kind), reads=kind))
    for n in range(1, 5):
        found.append(Row(f"s_lshl{n}_add_u32", U, TWO_32, lambda s, n=n: (wide(s.a) << n) + s.b, beyond))
    two_signed = (S, S)
    return [
        *found,
        Row("s_ff1_i32_b32 s_ctz_i32_b32", S, (U,), lambda s: leading(reversed_bits(s.a))),
        Row("s_ff1_i32_b64 s_ctz_i32_b64", S, (L,), lambda s: leading64(reversed_bits(s.a))),
        Row("s_flbit_i32_b32 s_clz_i32_u32", S, (U,), lambda s: leading(s.a)),
        Row("s_flbit_i32_b64 s_clz_i32_u64", S, (L,), lambda s: leading64(s.a)),
        Row("s_sext_i32_i8", S, (U,), lambda s: s.a.astype(np.int8)),
        Row("s_sext_i32_i16", S, (U,), lambda s: s.a.astype(np.int16)),
        Row("s_ff0_i32_b32", S, (U,), lambda s: leading(reversed_bits(~s.a))),
        Row("s_ff0_i32_b64", S, (L,), lambda s: leading64(reversed_bits(~s.a))),
        Row("s_flbit_i32 s_cls_i32", S, (S,), lambda s: leading((s.a ^ s.a >> 31).view(U))),
        Row("s_flbit_i32_i64 s_cls_i32_i64", S, (I64,), lambda s: leading64((s.a ^ s.a >> 63).view(L))),
        Row(
            "s_bitreplicate_b64_b32",
            L,
            (U,),
            lambda s: np.packbits(np.repeat(bits(s.a), 2, 1), 1, "little").view(L)[:, 0],
        ),
        Row("s_absdiff_i32", U, two_signed, lambda s: np.abs(wide(s.a) - s.b), not_zero),
        Row("s_pack_hl_b32_b16", U, TWO_32, lambda s: s.a >> 16 | s.b << 16),
        Row("s_abs_i32", S, (S,), lambda s: np.abs(s.a), not_zero),
        Row("s_ashr_i32", S, (S, U), lambda s: s.a >> (s.b & 31).astype(S), not_zero),
        Row("s_ashr_i64", I64, (I64, U), lambda s: s.a >> (s.b & 63).astype(I64), not_zero),
        Row("s_add_u32 s_add_co_u32", U, TWO_32, lambda s: wide(s.a) + s.b, beyond),
        Row("s_sub_u32 s_sub_co_u32", U, TWO_32, lambda s: wide(s.a) - s.b, beyond),
        Row("s_addc_u32 s_add_co_ci_u32", U, TWO_32, lambda s: wide(s.a) + s.b + s.scc, beyond),
        Row("s_subb_u32 s_sub_co_ci_u32", U, TWO_32, lambda s: wide(s.a) - s.b - s.scc, beyond),
        Row("s_add_i32 s_add_co_i32", S, two_signed, lambda s: wide(s.a) + s.b, overflows),
        Row("s_sub_i32 s_sub_co_i32", S, two_signed, lambda s: wide(s.a) - s.b, overflows),
        Row("s_mul_i32", S, two_signed, lambda s: s.a * s.b),
        Row("s_mul_hi_u32", U, TWO_32, lambda s: s.a.astype(L) * s.b >> np.uint64(32)),
        Row("s_mul_hi_i32", S, two_signed, lambda s: wide(s.a) * s.b >> 32),
        Row("s_add_nc_u64", L, TWO_64, lambda s: s.a + s.b),
        Row("s_sub_nc_u64", L, TWO_64, lambda s: s.a - s.b),
        Row("s_mul_u64", L, TWO_64, lambda s: s.a * s.b),
        Row("s_pack_ll_b32_b16", U, TWO_32, lambda s: s.a & 0xFFFF | s.b << 16),
        Row("s_pack_lh_b32_b16", U, TWO_32, lambda s: s.a & 0xFFFF | s.b & np.uint32(0xFFFF0000)),
        Row("s_pack_hh_b32_b16", U, TWO_32, lambda s: s.a >> 16 | s.b & np.uint32(0xFFFF0000)),
        Row("s_cmp_eq_u64", None, TWO_64, destination, compared(np.equal)),
        Row("s_cmp_lg_u64", None, TWO_64, destination, compared(np.not_equal)),
        Row("s_movk_i32", S, (), lambda s: np.full(s.d.size, s.k)),
        Row("s_cmovk_i32", S, (), lambda s: np.where(s.scc, s.k, s.d), reads=S),
        Row("s_addk_i32 s_addk_co_i32", S, (), lambda s: wide(s.d) + s.k, overflows, reads=S),
        Row("s_mulk_i32", S, (), lambda s: wide(s.d) * s.k, reads=S),
    ]


def floats() -> list[Row]:
    """Of RDNA 3.5 and 4. A result of 16 bits has zeros above it."""
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "min": minimum,
        "max": maximum,
        "min_num": minimum_number,
        "max_num": maximum_number,
        "maximum": ieee_maximum,
        "minimum": ieee_minimum,
    }
    found = []
    for name, f in functions.items():
        found.append(Row(f"s_{name}_f32", F32, (F32, F32), lambda s, f=f: f(s.a, s.b)))
        found.append(Row(f"s_{name}_f16", F16, (F16, F16), lambda s, f=f: f(s.a, s.b)))
    for suffix, kind in (("f16", F16), ("f32", F32)):
        for name, f in FLOATS.items():
            found.append(Row(f"s_cmp_{name}_{suffix}", None, (kind, kind), destination, compared(f)))
    one: list[tuple[str, Any, Any, Callable[[Array], Array]]] = [
        ("s_trunc_f32", F32, F32, np.trunc),
        ("s_ceil_f32", F32, F32, np.ceil),
        ("s_floor_f32", F32, F32, np.floor),
        ("s_rndne_f32", F32, F32, np.rint),
        ("s_trunc_f16", F16, F16, np.trunc),
        ("s_ceil_f16", F16, F16, np.ceil),
        ("s_floor_f16", F16, F16, np.floor),
        ("s_rndne_f16", F16, F16, np.rint),
        ("s_cvt_hi_f32_f16", F32, U, lambda a: (a >> 16).astype(H).view(F16).astype(F32)),
        ("s_cvt_f32_f16", F32, F16, lambda a: a.astype(F32)),
        ("s_cvt_f16_f32", F16, F32, lambda a: a.astype(F16)),
        ("s_cvt_f32_i32", F32, S, lambda a: a.astype(F32)),
        ("s_cvt_f32_u32", F32, U, lambda a: a.astype(F32)),
        ("s_cvt_i32_f32", S, F32, held(S)),
        ("s_cvt_u32_f32", U, F32, held(U)),
        *((f"v_s_{name}_f32", F32, F32, approximate(f)) for name, f in FUNCTIONS.items()),
    ]
    constant = literal(F32)
    return [
        *found,
        *(Row(name, kind, (given,), lambda s, f=f: f(s.a)) for name, kind, given, f in one),
        Row("s_fmac_f16", F16, (F16, F16), lambda s: fma(s.a, s.b, s.d), reads=F16),
        Row("s_cvt_pk_rtz_f16_f32", U, (F32, F32), lambda s: pair(quiet_cut_half_bits)(s.a, s.b)),
        Row("s_fmac_f32", F32, (F32, F32), lambda s: fma(s.a, s.b, s.d), reads=F32),
        Row("s_fmaak_f32", F32, (F32, F32), lambda s: fma(s.a, s.b, np.full_like(s.a, constant)), literal=True),
        Row("s_fmamk_f32", F32, (F32, F32), lambda s: fma(s.a, np.full_like(s.a, constant), s.b), literal=True),
    ]


def rows() -> list[Row]:
    return [*integers(), *floats()]
