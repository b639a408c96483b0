"""Instructions of the vector unit against numpy, over special values in all 64 lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import (
    FLAG_OF_S20,
    FLAG_OF_VCC,
    HEAD,
    TAIL,
    VCC,
    VECTOR,
    WAIT,
    A,
    B,
    C,
    code_object,
    vop3,
)
from tests.isa_runtime.machine import Machine

Array = NDArray[Any]
LANES = 64
SPECIAL = {
    np.float16: [
        0.0,
        -0.0,
        1.0,
        -1.5,
        65504.0,
        -65504.0,
        6e-8,
        -6e-8,
        6.1e-5,
        np.inf,
        -np.inf,
        np.nan,
        0.1,
        3.0,
        2049.0,
    ],
    np.float32: [
        0.0,
        -0.0,
        1.0,
        -1.5,
        3.4e38,
        -3.4e38,
        1e-45,
        -1e-45,
        1.2e-38,
        np.inf,
        -np.inf,
        np.nan,
        0.1,
        3.0,
        1e30,
    ],
    np.float64: [0.0, -0.0, 1.0, -1.5, 1.7e308, -1.7e308, 5e-324, -5e-324, 2.2e-308, np.inf, -np.inf, np.nan, 0.1, 3.0],
}


def values(kind: Any, seed: int) -> Array:
    """64 values of ``kind``: special ones in the first lanes, in an order of the seed's, then random bits."""
    random = np.random.default_rng(seed)
    size = np.dtype(kind).itemsize
    bits = random.integers(0, 256, LANES * size, np.uint8).view(kind)
    if kind in SPECIAL:
        special = np.array(SPECIAL[kind], kind)
    else:
        info = np.iinfo(kind)
        special = np.array([0, 1, info.max, info.min, info.max // 2, 31, 32, 33, 63, 64, 255], kind)
    few = random.choice(special, 40)
    return np.concatenate([few, bits[: LANES - few.size]])


def slots(array: Array) -> Array:
    """``array`` in the low bytes of 8-byte slots; the rest must not matter."""
    whole = np.full((LANES, 8 // array.itemsize), array.dtype.type(0), array.dtype)
    whole[:, 0] = array
    whole[:, 1:] = np.frombuffer(b"\x5a" * array.itemsize, array.dtype)[0]
    return np.ascontiguousarray(whole).view(np.uint64).ravel()


def run(machine: Machine, words: list[int], result: Any, *sources: Array, perturb: int = 0) -> Array:
    """The low bytes of v[10:11] after ``words``, as ``result``."""
    given = [slots(source) for source in sources] + [np.zeros(LANES, np.uint64)] * (3 - len(sources))
    out = np.full(LANES, 0x1111111111111111, np.uint64)
    failed, message, after = machine.launch(code_object([*HEAD, *words, *TAIL]), *given, out, perturb=perturb)
    assert failed == 0, message
    return after[3].view(result).reshape(LANES, -1)[:, 0]


def same(got: Array, expected: Array) -> None:
    """Bit-equal, but for NaN, which equals NaN."""
    got, expected = np.asarray(got), np.asarray(expected, got.dtype)
    bits = f"u{got.itemsize}"
    right = got.view(bits) == expected.view(bits)
    if got.dtype.kind == "f":
        right |= np.isnan(got) & np.isnan(expected)
    wrong = np.flatnonzero(~right)
    assert wrong.size == 0, f"lane {wrong[0]}: {got[wrong[0]]!r}, expected {expected[wrong[0]]!r}"


def maximum(a: Array, b: Array) -> Array:
    """+0 above -0, a number before a NaN, a signalling NaN before all."""
    larger = np.where(a == b, np.where(np.signbit(a), b, a), np.where(a > b, a, b))
    numbers = np.where(np.isnan(a), b, np.where(np.isnan(b), a, larger))
    return np.where(signalling(a) | signalling(b), np.array(np.nan, a.dtype), numbers)


def signalling(a: Array) -> Array:
    bits = a.view(f"u{a.itemsize}")
    return np.isnan(a) & (bits >> (np.finfo(a.dtype).nmant - 1) & 1 == 0)


def minimum(a: Array, b: Array) -> Array:
    return -maximum(-a, -b)


def wide_fma(a: Array, b: Array, c: Array) -> Array:
    """f16 fused in f64, which holds it exactly but for what no f16 shows."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float16)


Row = tuple[str, Any, tuple[Any, ...], Callable[..., Array]]
FLOATS: list[Row] = [
    (f"v_{name}_{suffix}", kind, (kind, kind), function)
    for suffix, kind in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64))
    for name, function in (
        ("add", np.add),
        ("mul", np.multiply),
        ("max", maximum),
        ("min", minimum),
    )
]
ROUNDINGS: list[Row] = [
    (f"v_{name}_{suffix}", kind, (kind,), function)
    for suffix, kind in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64))
    for name, function in (("trunc", np.trunc), ("ceil", np.ceil), ("floor", np.floor), ("rndne", np.rint))
]


def held(kind: Any) -> Callable[[Array], Array]:
    """A float to an integer: held at the ends, 0 for NaN."""
    info = np.iinfo(kind)

    def convert(a: Array) -> Array:
        wide = np.nan_to_num(a.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
        return np.trunc(np.clip(wide, info.min, info.max)).astype(kind)

    return convert


def cut_half(a: Array) -> Array:
    """The bits of an f16, rounded towards zero: a number that is too large becomes the largest."""
    near = a.astype(np.float16)
    return (near.view(np.uint16) - (np.abs(near.astype(np.float32)) > np.abs(a))).astype(np.uint32)


def shifted(count: int, function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(b, (a & (count - 1)).astype(b.dtype))


def high_product(a: Array, b: Array) -> Array:
    return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)


U, S, L = np.uint32, np.int32, np.uint64
OTHERS: list[Row] = [
    ("v_cvt_i32_f32", S, (np.float32,), held(S)),
    ("v_cvt_u32_f32", U, (np.float32,), held(U)),
    ("v_cvt_i32_f64", S, (np.float64,), held(S)),
    ("v_cvt_u32_f64", U, (np.float64,), held(U)),
    ("v_cvt_f16_f32", np.float16, (np.float32,), lambda a: a.astype(np.float16)),
    ("v_cvt_pkrtz_f16_f32", U, (np.float32, np.float32), lambda a, b: cut_half(a) | cut_half(b) << 16),
    ("v_cvt_f32_f16", np.float32, (np.float16,), lambda a: a.astype(np.float32)),
    ("v_cvt_f32_f64", np.float32, (np.float64,), lambda a: a.astype(np.float32)),
    ("v_cvt_f32_u32", np.float32, (U,), lambda a: a.astype(np.float32)),
    ("v_fma_f16", np.float16, (np.float16,) * 3, wide_fma),
    ("v_ldexp_f32", np.float32, (np.float32, S), lambda a, b: np.ldexp(a, np.clip(b, -5000, 5000))),
    ("v_ldexp_f64", np.float64, (np.float64, S), lambda a, b: np.ldexp(a, np.clip(b, -5000, 5000))),
    ("v_frexp_mant_f32", np.float32, (np.float32,), lambda a: np.frexp(a)[0]),
    ("v_frexp_exp_i32_f32", S, (np.float32,), lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)),
    ("v_frexp_exp_i32_f64", S, (np.float64,), lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)),
    ("v_add_u32", U, (U, U), np.add),
    ("v_subrev_u32", U, (U, U), lambda a, b: b - a),
    ("v_lshlrev_b32", U, (U, U), shifted(32, np.left_shift)),
    ("v_ashrrev_i32", S, (U, S), shifted(32, np.right_shift)),
    ("v_lshlrev_b64", L, (U, L), shifted(64, np.left_shift)),
    ("v_lshrrev_b64", L, (U, L), shifted(64, np.right_shift)),
    ("v_mul_lo_u32", U, (U, U), np.multiply),
    ("v_mul_hi_u32", U, (U, U), high_product),
    ("v_bfrev_b32", U, (U,), lambda a: np.array([int(f"{x:032b}"[::-1], 2) for x in a], U)),
    ("v_max_i32", S, (S, S), np.maximum),
    ("v_add3_u32", U, (U, U, U), lambda a, b, c: a + b + c),
    ("v_and_or_b32", U, (U, U, U), lambda a, b, c: a & b | c),
    ("v_xad_u32", U, (U, U, U), lambda a, b, c: (a ^ b) + c),
    ("v_bfi_b32", U, (U, U, U), lambda a, b, c: a & b | ~a & c),
    ("v_bfe_u32", U, (U, U, U), lambda a, b, c: a >> (b & 31) & ((np.uint32(1) << (c & 31)) - 1)),
    ("v_mad_u32_u24", U, (U, U, U), lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    ("v_lshl_add_u64", L, (L, U, L), lambda a, b, c: (a << (b & 7).astype(L)) + c),
]


@pytest.mark.parametrize("row", [*FLOATS, *ROUNDINGS, *OTHERS], ids=lambda row: row[0])
def test_agrees_with_numpy(machine: Machine, row: Row) -> None:
    name, result, kinds, function = row
    sources = [values(kind, 7 * place + 1) for place, kind in enumerate(kinds)]
    if name == "v_lshl_add_u64":
        sources[1] %= 5  # more is not defined
    got = run(machine, vop3(name, *(VECTOR + register for register in (A, B, C)[: len(kinds)])), result, *sources)
    with np.errstate(all="ignore"):
        expected = function(*sources)
    same(got, expected)


@pytest.mark.parametrize("perturb", [0, 1, 2])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_division_rounds_once_whatever_is_subnormal(machine: Machine, kind: Any, perturb: int) -> None:
    """LLVM's sequence: v_div_scale twice, v_rcp, four v_fma, v_mul, v_fma, v_div_fmas, v_div_fixup."""
    suffix = "f32" if kind is np.float32 else "f64"
    random = np.random.default_rng(5)
    info = np.finfo(kind)
    exponents = random.integers(info.minexp - info.nmant, info.maxexp, (2, LANES))
    numerator, denominator = np.ldexp(random.uniform(1, 2, (2, LANES)).astype(kind), exponents).astype(kind)
    numerator[:8] = [0, 1, -1, np.inf, info.max, info.max, info.tiny, info.smallest_subnormal]
    denominator[:8] = [0, 0, np.inf, 2, info.smallest_subnormal, info.max, 3, info.max]
    n, d = VECTOR + A, VECTOR + B
    den, num, r, e, q, t = 12, 14, 16, 18, 20, 22

    def v(register: int) -> int:
        return VECTOR + register

    one = 242
    words = [
        *vop3(f"v_div_scale_{suffix}", d, d, n, out=den, sdst=24),
        *vop3(f"v_rcp_{suffix}", v(den), out=r),
        *WAIT,
        *vop3(f"v_fma_{suffix}", v(den), v(r), one, out=e, neg=1),
        *vop3(f"v_fma_{suffix}", v(r), v(e), v(r), out=r),
        *vop3(f"v_fma_{suffix}", v(den), v(r), one, out=e, neg=1),
        *vop3(f"v_fma_{suffix}", v(r), v(e), v(r), out=r),
        *vop3(f"v_div_scale_{suffix}", n, d, n, out=num, sdst=VCC),
        *WAIT,
        *vop3(f"v_mul_{suffix}", v(num), v(r), out=q),
        *vop3(f"v_fma_{suffix}", v(den), v(q), v(num), out=t, neg=1),
        *vop3(f"v_fma_{suffix}", v(t), v(r), v(q), out=q),
        *vop3(f"v_fma_{suffix}", v(den), v(q), v(num), out=t, neg=1),
        *vop3(f"v_div_fmas_{suffix}", v(t), v(r), v(q), out=q),
        *vop3(f"v_div_fixup_{suffix}", v(q), d, n),
    ]
    with np.errstate(all="ignore"):
        expected = numerator / denominator
    same(run(machine, words, kind, numerator, denominator, perturb=perturb), expected)


def test_a_quotient_of_halves_is_fixed_up(machine: Machine) -> None:
    """v_div_fixup_f16 of any quotient: 0/0, x/0, 0/x, and numbers that keep the quotient with their sign."""
    quotient = np.full(LANES, 3.0, np.float16)
    denominator = np.tile(np.array([0, 0, -2, -2], np.float16), 16)
    numerator = np.tile(np.array([0, -1, 0, 6], np.float16), 16)
    got = run(machine, vop3("v_div_fixup_f16", 260, 262, 264), np.float16, quotient, denominator, numerator)
    same(got, np.tile(np.array([np.nan, -np.inf, -0.0, -3.0], np.float16), 16))


def test_accumulation_registers_hold_words(machine: Machine) -> None:
    a = values(U, 1)
    words = [0xD3D94005, 0x18000104, 0xD3D8400A, 0x18000105]  # v_accvgpr_write_b32 a5, v4; v_accvgpr_read_b32 v10, a5
    same(run(machine, words, U, a), a)
    words = [*words[:2], 0x7E0CA505, 0xD3D8400A, 0x18000106]  # v_accvgpr_mov_b32 a6, a5 between, and a6 is read
    same(run(machine, words, U, a), a)


@pytest.mark.parametrize(
    ("name", "kind", "function"),
    [
        ("v_cmp_lt_f32", np.float32, np.less),
        ("v_cmp_nlt_f64", np.float64, lambda a, b: ~(a < b)),
        ("v_cmp_lg_f32", np.float32, lambda a, b: (a < b) | (a > b)),
        ("v_cmp_u_f16", np.float16, lambda a, b: np.isnan(a) | np.isnan(b)),
        ("v_cmp_eq_u16", np.uint16, np.equal),
        ("v_cmp_ge_i64", np.int64, np.greater_equal),
    ],
)
def test_comparisons_give_a_bit_for_each_lane(machine: Machine, name: str, kind: Any, function: Any) -> None:
    a, b = values(kind, 3), values(kind, 4)
    b[::5] = a[::5]
    words = [*vop3(name, VECTOR + A, VECTOR + B, out=20), *FLAG_OF_S20]
    same(run(machine, words, U, a, b), function(a, b).astype(U))


def test_carries_go_through_masks(machine: Machine) -> None:
    a, b = values(U, 1), values(U, 2)
    words = [*vop3("v_add_co_u32", VECTOR + A, VECTOR + B, out=20, sdst=VCC), *FLAG_OF_VCC]
    same(run(machine, words, U, a, b), (a.astype(L) + b > 0xFFFFFFFF).astype(U))


def test_signs_of_operands_also_of_moves(machine: Machine) -> None:
    """v_cndmask_b32 negates too."""
    a = values(np.float32, 1)
    words = vop3("v_cndmask_b32", VECTOR + A, VECTOR + A, 193, neg=3)
    same(run(machine, words, np.float32, a), -a)


def test_a_product_rounded_with_the_addend_zero_loses_the_sign(machine: Machine) -> None:
    a = np.full(LANES, -0.0, np.float32)
    mixlo = [0xD3A1000A, 0x02020D04]  # v_fma_mixlo_f16 v10, v4, v6, 0
    same(run(machine, mixlo, np.float16, a, np.ones(LANES, np.float32)), np.zeros(LANES, np.float16))


def run_950(machine: Machine, words: list[int], result: Any, *sources: Array) -> Array:
    """As ``run`` does, on gfx950."""
    given = [slots(source) for source in sources] + [np.zeros(LANES, np.uint64)] * (4 - len(sources))
    failed, message, after = machine.launch(code_object([*HEAD, *words, *TAIL], target="gfx950"), *given)
    assert failed == 0, message
    return after[3].view(result).reshape(LANES, -1)[:, 0]


def test_cdna_4_has_any_function_of_three_bits(machine: Machine) -> None:
    a, b, c = (values(U, seed) for seed in (1, 2, 3))
    words = [0xD234020A, 0xD4220D04]  # v_bitop3_b32 v10, v4, v6, v8 bitop3:0x96
    same(run_950(machine, words, U, a, b, c), a ^ b ^ c)
    words = [0xD234000A, 0x54220D04]  # bitop3:0x82: both bits of the table alone
    same(run_950(machine, words, U, a, b, c), (a & b & c) | (~a & ~b & c))


def test_cdna_4_rounds_to_bf16(machine: Machine) -> None:
    a, b = values(np.float32, 1), np.array([1.00390625, 1.01171875, -0.0, np.inf] * 16, np.float32)
    got = run_950(machine, [0xD268000A, 0x00020D04], U, a, b)  # v_cvt_pk_bf16_f32 v10, v4, v6
    assert (got >> 16)[:4].tolist() == [0x3F80, 0x3F82, 0x8000, 0x7F80]
    back = (got << 16).view(np.float32)
    near = np.isfinite(a) & (np.abs(a) < 3e38)
    with np.errstate(invalid="ignore"):
        assert (np.abs(back - a)[near] <= np.maximum(np.abs(a[near]) / 256, 1e-40)).all()
    assert np.isnan(back[np.isnan(a)]).all()


def test_cdna_4_rounds_to_pairs_of_f16(machine: Machine) -> None:
    a, b = values(np.float32, 1), values(np.float32, 2)
    got = run_950(machine, [0xD267000A, 0x00020D04], U, a, b)  # v_cvt_pk_f16_f32 v10, v4, v6
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.stack([a, b], 1).astype(np.float16)
    same(np.ascontiguousarray(got).view(np.float16).reshape(LANES, 2), expected)
