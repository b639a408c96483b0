"""Integer intrinsics, float maths, atomics, shuffles' lanes and layouts against numpy."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from .conftest import Probe
from .formats import Array

RNG = np.random.default_rng(3)
WORDS = np.concatenate(
    [
        RNG.integers(0, 1 << 32, 4000, dtype=np.uint32),
        np.array([0, 1, 2, 0x80, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], dtype=np.uint32),
    ]
)
OTHERS = RNG.permutation(WORDS)
THIRDS = RNG.permutation(WORDS)


def signed_bytes(words: Array) -> Array:
    return words.view(np.int8).reshape(-1, 4).astype(np.int64)


def test_bit_counts(probe: Probe) -> None:
    text = [f"{w:032b}" for w in WORDS.tolist()]
    assert probe("popc", np.int32, WORDS).tolist() == [t.count("1") for t in text]
    assert probe("clz", np.int32, WORDS).tolist() == [32 - len(t.lstrip("0")) for t in text]
    assert probe("ffs", np.int32, WORDS).tolist() == [t[::-1].find("1") + 1 for t in text]
    assert probe("brev", np.uint32, WORDS).tolist() == [int(t[::-1], 2) for t in text]


def test_products(probe: Probe) -> None:
    a, b = WORDS.astype(np.uint64), OTHERS.astype(np.uint64)
    np.testing.assert_array_equal(probe("umulhi", np.uint32, WORDS, OTHERS), a * b >> np.uint64(32))
    i, j = WORDS.view(np.int32).astype(np.int64), OTHERS.view(np.int32).astype(np.int64)
    np.testing.assert_array_equal(probe("mulhi", np.int32, WORDS, OTHERS), i * j >> 32)
    low = [(v << 40) >> 40 for v in (i, j)]
    np.testing.assert_array_equal(probe("mul24", np.int32, WORDS, OTHERS), (low[0] * low[1]).astype(np.int32))


def test_byte_products(probe: Probe) -> None:
    dot = (signed_bytes(WORDS) * signed_bytes(OTHERS)).sum(axis=1)
    c = THIRDS.view(np.int32).astype(np.int64)
    np.testing.assert_array_equal(probe("dp4a", np.int32, WORDS, OTHERS, THIRDS), (dot + c).astype(np.int32))
    clamped = np.clip(dot + c, -(1 << 31), (1 << 31) - 1)
    np.testing.assert_array_equal(probe("sdot4_clamped", np.int32, WORDS, OTHERS, THIRDS), clamped)
    unsigned = [w.view(np.uint8).reshape(-1, 4).astype(np.uint64) for w in (WORDS, OTHERS)]
    sums = (unsigned[0] * unsigned[1]).sum(axis=1) + THIRDS
    np.testing.assert_array_equal(probe("udp4a", np.uint32, WORDS, OTHERS, THIRDS), sums.astype(np.uint32))
    difference = np.clip(signed_bytes(WORDS) - signed_bytes(OTHERS), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(probe("vsubss4", np.uint32, WORDS, OTHERS), difference.view(np.uint32).ravel())


def test_byte_selection(probe: Probe) -> None:
    both = np.stack([WORDS, OTHERS], axis=1).view(np.uint8).reshape(-1, 8)
    picks = np.stack([THIRDS >> np.uint32(4 * i) & np.uint32(7) for i in range(4)], axis=1).astype(np.int64)
    expected = np.take_along_axis(both, picks, axis=1).copy().view(np.uint32).ravel()
    np.testing.assert_array_equal(probe("byte_perm", np.uint32, WORDS, OTHERS, THIRDS), expected)
    pair = WORDS.astype(np.uint64) | OTHERS.astype(np.uint64) << np.uint64(32)
    shifted = (pair >> (THIRDS & np.uint32(31)).astype(np.uint64)).astype(np.uint32)
    np.testing.assert_array_equal(probe("funnelshift_r", np.uint32, WORDS, OTHERS, THIRDS), shifted)


EDGES = np.array(
    [0.5, 1.5, 2.5, -0.5, -1.5, 2.0**31, -(2.0**31), 3e9, -3e9, np.inf, -np.inf, np.nan, 4.3e9, 1e-40], dtype=np.float32
)


@pytest.mark.parametrize(
    ("name", "rounding", "low", "high", "dtype"),
    [
        ("float_to_int_rn", np.rint, -(2.0**31), 2.0**31 - 1, np.int32),
        ("float_to_int_rz", np.trunc, -(2.0**31), 2.0**31 - 1, np.int32),
        ("float_to_uint_rz", np.trunc, 0.0, 2.0**32 - 1, np.uint32),
        ("cast_float_to_int", np.trunc, -(2.0**31), 2.0**31 - 1, np.int32),
    ],
)
def test_float_to_integer_saturates(
    probe: Probe, name: str, rounding: np.ufunc, low: float, high: float, dtype: type
) -> None:
    if name.startswith("cast") and probe.variant == "gcc":
        pytest.skip("g++ has no saturating conversion")
    x = np.concatenate([EDGES, RNG.normal(0, 2e9, 500).astype(np.float32)])
    expected = np.clip(rounding(np.nan_to_num(x.astype(np.float64), nan=0.0)), low, high)
    np.testing.assert_array_equal(probe(name, dtype, x), expected.astype(np.int64))


def test_directed_conversions(probe: Probe) -> None:
    x = RNG.normal(0, 1e10, 2000)
    down, up = (probe(f"double_to_float_{d}", np.float32, x) for d in ("rd", "ru"))
    assert np.all(down <= x)
    assert np.all(np.nextafter(down, np.float32(np.inf)) > x)
    assert np.all(up >= x)
    assert np.all(np.nextafter(up, np.float32(-np.inf)) < x)
    i = WORDS.view(np.int32)
    zero = probe("int_to_float_rz", np.float32, i).astype(np.float64)
    assert np.all(np.abs(zero) <= np.abs(i.astype(np.float64)))
    assert np.all(np.abs(zero - i) < np.spacing(np.maximum(np.abs(zero), 1).astype(np.float32)))


def test_normal_distribution_keeps_its_lower_tail(probe: Probe) -> None:
    x = np.linspace(-13, 6, 4000).astype(np.float32)
    expected = np.array([0.5 * math.erfc(-float(v) / math.sqrt(2)) for v in x])
    got = probe("normcdf_f32", np.float32, x).astype(np.float64)
    normal = expected > 2.0**-126
    assert np.max(np.abs(got - expected)[normal] / np.spacing(expected[normal].astype(np.float32))) < 0.51


def test_scaled_complementary_error_function(probe: Probe) -> None:
    x = np.concatenate([np.linspace(-3, 24.9, 2000), np.linspace(25, 1e6, 500)])
    got = probe("erfcx_f64", np.float64, x)
    # Lower and upper bound of Mills' ratio (Gordon 1941; Birnbaum 1942), valid for x > 0 and tight for large x.
    positive = x > 0
    v = x[positive]
    lower = 2 / (math.sqrt(math.pi) * (v + np.sqrt(v * v + 2)))
    upper = 2 / (math.sqrt(math.pi) * (v + np.sqrt(v * v + 4 / math.pi)))
    assert np.all(got[positive] > lower * (1 - 1e-15))
    assert np.all(got[positive] < upper * (1 + 1e-15))
    small = np.abs(x) < 3
    expected = np.array([math.exp(w * w) * math.erfc(w) for w in x[small]])
    np.testing.assert_allclose(got[small], expected, rtol=4e-15)
    assert np.all(np.diff(got) < 0)


def test_overloads_and_extremes(probe: Probe) -> None:
    x = np.array([1.0, np.nan, -3.0, 5.0, -0.5], dtype=np.float32)
    y = np.array([2.0, 4.0, np.nan, -5.0, -0.25], dtype=np.float32)
    np.testing.assert_array_equal(probe("max_f32", np.float32, x, y), np.fmax(x, y))
    np.testing.assert_array_equal(probe("min_f32", np.float32, x, y), np.fmin(x, y))
    np.testing.assert_array_equal(
        probe("max_i32", np.int32, WORDS, OTHERS), np.maximum(WORDS.view("i4"), OTHERS.view("i4"))
    )
    near = np.array([0.0, 1.0, -2.0, 10.0], dtype=np.float32)
    np.testing.assert_allclose(probe("exp_f32", np.float32, near), np.exp(near), rtol=3e-7)


def test_stated_rounding_is_not_contracted(probe: Probe) -> None:
    a, b = (RNG.normal(0, 1, 4000).astype(np.float32) for _ in range(2))
    np.testing.assert_array_equal(probe("mul_then_add", np.float32, a, b), a * b + a)


def test_atomics(probe: Probe) -> None:
    a, b = (RNG.normal(0, 9, 500).astype(np.float32) for _ in range(2))
    np.testing.assert_array_equal(probe("atomic_add_f32", np.float32, a, b), a + b)
    np.testing.assert_array_equal(probe("atomic_min_f32", np.float32, a, b), np.minimum(a, b))
    np.testing.assert_array_equal(probe("atomic_exch_f64", np.float64, a.astype(float), b.astype(float)), b)
    i, j = WORDS.view(np.int32), OTHERS.view(np.int32)
    np.testing.assert_array_equal(probe("atomic_max_i32", np.int32, i, j), np.maximum(i, j))
    old, limit = np.array([0, 5, 6, 9], dtype=np.uint32), np.array([5, 5, 5, 5], dtype=np.uint32)
    assert probe("atomic_inc_u32", np.uint32, old, limit).tolist() == [1, 0, 0, 0]
    assert probe("atomic_dec_u32", np.uint32, old, limit).tolist() == [5, 4, 5, 5]
    assert probe("atomic_cas_u32", np.uint32, old, limit).tolist() == [0, 7, 6, 9]


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("width", [2, 4, 8, 16, 32, 64])
def test_lanes_that_shuffles_read(probe: Probe, wave: int, width: int) -> None:
    if width > wave:
        pytest.skip("a width is at most the wave size")
    lane, operand = (g.ravel().astype(np.int32) for g in np.meshgrid(np.arange(wave), np.arange(width)))
    widths = np.full_like(lane, width)
    first = lane // width * width  # of the lane's own part
    inside = lane - first

    def read(name: str) -> Array:
        return probe(f"source_{name}", np.int32, lane, operand, widths)

    np.testing.assert_array_equal(read("index"), first + operand)
    np.testing.assert_array_equal(read("up"), np.where(inside >= operand, lane - operand, lane))
    np.testing.assert_array_equal(read("down"), np.where(inside + operand < width, lane + operand, lane))
    np.testing.assert_array_equal(read("xor"), lane ^ operand)
    np.testing.assert_array_equal(probe("source_index", np.int32, lane, operand + width, widths), first + operand)
    # Beyond the part a lane reads itself (down, up, and xor into a later part).
    far = operand + width
    np.testing.assert_array_equal(probe("source_down", np.int32, lane, far, widths), lane)
    np.testing.assert_array_equal(probe("source_up", np.int32, lane, far, widths), lane)


def test_layouts(probe: Probe) -> None:
    expected = [
        (1, 1),
        (2, 2),
        (3, 1),
        (4, 4),
        (4, 4),
        (8, 8),
        (8, 8),
        (12, 4),
        (16, 16),
        (16, 16),
        (32, 32),
    ]  # to longlong4
    expected += [(4, 4), (8, 8), (12, 4), (16, 16), (16, 16), (24, 8), (32, 32)]  # float1 to double4
    expected += [(2, 2), (4, 4), (2, 2), (4, 4), (1, 1), (12, 4)]  # __half to dim3
    got = (ctypes.c_long * (2 * len(expected)))()
    probe.library.vector_layouts(got)
    assert list(zip(got[::2], got[1::2], strict=True)) == expected
