"""Data of operands: what the tables hold and what the scales draw."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conformance import dtypes
from conformance.cases.specials import core, exhaustive, nans, special, twice
from conformance.cases.values import VALUE_NAMES, RandomStream, scalar, values
from conformance.dtypes import DTYPES, dtype

FLOATS = tuple(row.name for row in dtypes.FLOATS)
LARGEST = {"f64": 1.7976931348623157e308, "f32": 2.0**128 - 2.0**104, "f16": 65504.0, "f8e4m3": 448.0}
LARGEST["bf16"] = 2.0**128 - 2.0**120
# The least normal and the least subnormal number.
LEAST = {"f64": (2.0**-1022, 5e-324), "f32": (2.0**-126, 2.0**-149), "bf16": (2.0**-126, 2.0**-133)}
LEAST |= {"f16": (2.0**-14, 2.0**-24), "f8e4m3": (2.0**-6, 2.0**-9)}

LIMITS = {"i64": (-(2**63), 2**63 - 1), "i32": (-(2**31), 2**31 - 1), "i16": (-32768, 32767)}
LIMITS |= {"u32": (0, 2**32 - 1), "u8": (0, 255)}

TYPES = (*FLOATS, "i64", "i32", "i16", "u32", "u8")


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("table", [core, special])
def test_float_tables_hold_the_limits_and_both_zeros(name: str, table: object) -> None:
    found = table(name)  # type: ignore[operator]
    with np.errstate(invalid="ignore"):  # signalling NaN
        wide = found.astype(np.float64)
    for value in (0.0, 1.0, LARGEST[name], -LARGEST[name], 0.5, 2.0, 3.0, *LEAST[name]):
        assert value in wide
    assert np.signbit(wide[wide == 0]).tolist() == [False, True]
    assert np.isnan(wide).sum() >= 2
    assert np.isinf(wide).sum() == (2 if dtype(name).floating.has_inf else 0)
    assert len(np.unique(found.view(DTYPES[name].bits))) == len(found)


@pytest.mark.parametrize("name", ["i64", "i32", "i16", "u32", "u8"])
def test_integer_tables_hold_the_limits(name: str) -> None:
    low, high = LIMITS[name]
    for table in (core(name), special(name)):
        assert {0, 1, low, high} <= set(table.tolist())
        assert len(set(table.tolist())) == len(table)


def test_special_holds_the_edges_of_the_cast_targets() -> None:
    f64 = special("f64").tolist()
    for edge in (-1.0, 255.9, 256.0, 65520.0, 2.0**31, 2.0**32, 2.0**63, 464.0, 1 + 2.0**-8 + 2.0**-40):
        assert edge in f64
        assert math.nextafter(edge, math.inf) in f64
        assert math.nextafter(edge, -math.inf) in f64


# From a wide type to a narrow one by way of a third.
DETOURS = [("f64", "f32", "f16"), ("f64", "f16", "f8e4m3"), ("f64", "bf16", "f8e4m3")]
DETOURS += [("f32", "f16", "f8e4m3"), ("f32", "bf16", "f8e4m3"), ("i64", "f64", "f32")]


@pytest.mark.parametrize(("wide", "via", "narrow"), DETOURS)
def test_numbers_that_round_wrongly_by_way_of_another_type(wide: str, via: str, narrow: str) -> None:
    table = twice(wide)
    middle, target = DTYPES[via].numpy, DTYPES[narrow].numpy
    with np.errstate(all="ignore"):
        once, again = table.astype(target), table.astype(middle).astype(target)
    assert (once.view(DTYPES[narrow].bits) != again.view(DTYPES[narrow].bits)).sum() >= 2


def test_integers_that_round_wrongly_as_floats() -> None:
    assert {0x80800001, 0x817FFFFF} <= set(twice("u32").tolist())


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_no_test_of_some_bits_tells_all_nans(name: str) -> None:
    bits, kind = nans(name).view(DTYPES[name].bits), dtype(name)
    infinity, half = kind.floating.largest + 1, 4 * kind.size
    payload = bits[np.isnan(nans(name))] & bits.dtype.type((1 << kind.floating.mantissa) - 1)
    assert (payload >> half == 0).any(), "the upper half alone is infinity"
    assert (payload & ((1 << half) - 1) == 0).any(), "the lower half alone is 0"
    assert (payload == (1 << kind.floating.mantissa) - 1).any(), "rounding the payload up carries into the sign"
    assert {infinity, infinity | 1 << (8 * kind.size - 1)} <= set(bits.tolist())


@pytest.mark.parametrize("name", ["f16", "bf16", "f8e4m3", "u8", "i16"])
def test_exhaustive_is_every_pattern_once(name: str) -> None:
    bits = exhaustive(name).view(DTYPES[name].bits)
    np.testing.assert_array_equal(bits, np.arange(1 << (8 * DTYPES[name].size)).astype(bits.dtype))


@pytest.mark.parametrize("name", ["f32", "i64"])
def test_exhaustive_is_refused_for_wide_types(name: str) -> None:
    with pytest.raises(ValueError, match=f"8 or 16 bits, not {name}"):
        exhaustive(name)


@pytest.mark.parametrize(
    ("scale", "low", "high"), [("tiny", 2.0**-30, 2.0**-5), ("unit", 1 / 16, 4.0), ("large", 4.0, 256.0)]
)
@pytest.mark.parametrize("name", FLOATS)
def test_scales_draw_both_signs_inside_their_range(name: str, scale: str, low: float, high: float) -> None:
    drawn = values(scale, DTYPES[name], 4000, RandomStream(7)).astype(np.float64)
    least = LEAST[name][0]
    magnitude = np.abs(drawn)
    assert magnitude.max() < max(high, 2 * least)
    assert magnitude.min() >= (low if low >= least else 0)
    assert 0.4 < (drawn < 0).mean() < 0.6
    assert len(np.unique(drawn)) >= 16


@pytest.mark.parametrize("name", FLOATS)
def test_subnormals_are_subnormal(name: str) -> None:
    drawn = values("subnormal", DTYPES[name], 300, RandomStream(1))
    magnitude = np.abs(drawn.astype(np.float64))
    assert magnitude.max() < LEAST[name][0]
    assert (magnitude > 0).any()
    assert np.signbit(drawn).any()


def test_integer_scales_stay_inside_theirs() -> None:
    assert set(values("tiny", DTYPES["i64"], 500, RandomStream(1)).tolist()) == {-2, -1, 0, 1, 2}
    assert set(values("tiny", DTYPES["u32"], 500, RandomStream(1)).tolist()) == {0, 1, 2, 3, 4}
    unit = values("unit", DTYPES["i32"], 5000, RandomStream(1))
    assert (unit.min(), unit.max()) == (-100, 100)
    large = values("large", DTYPES["u8"], 5000, RandomStream(1))
    assert (large.min(), large.max()) == (0, 255)
    lengths = {value.bit_length() for value in np.abs(values("mid", DTYPES["i64"], 5000, RandomStream(1))).tolist()}
    assert {0, 5, 20, 40, 60} <= lengths


@pytest.mark.parametrize("name", TYPES)
def test_every_way_has_the_length_and_type_asked_for(name: str) -> None:
    kind = DTYPES[name]
    for distribution in VALUE_NAMES:
        of_floats = distribution in ("subnormal", "nans")
        if (distribution == "exhaustive" and kind.size > 2) or (of_floats and kind.kind != "float"):
            continue
        for n in (0, 1, 33, 5000):
            drawn = values(distribution, kind, n, RandomStream(3))
            assert (drawn.shape, drawn.dtype) == ((n,), kind.numpy), (distribution, n)


def test_words_are_the_same_everywhere() -> None:
    # PCG64's raw output for a fixed seed: were it to change, every id would mean other bytes.
    assert [f"{int(word):016x}" for word in RandomStream(0x1234).take(2)] == ["b1a022a354094a31", "9568a980db2d6e13"]


@pytest.mark.parametrize(
    ("name", "text", "bits"),
    [
        ("f32", "1.5", 0x3FC00000),
        ("f32", "-0", 0x80000000),
        ("f32", "-0.0", 0x80000000),
        ("f32", "1e30", 0x7149F2CA),
        ("f16", "1e30", 0x7C00),
        ("bf16", "max", 0x7F7F),
        ("bf16", "min", 0xFF7F),
        ("f8e4m3", "inf", 0x7E),
        ("f8e4m3", "-1e9", 0xFE),
        ("f64", "0x1", 1),
        ("u8", "-1", 0),
        ("u8", "300", 255),
        ("u8", "nan", 0),
        ("u8", "2.9", 2),
        ("i32", "-2.9", 0xFFFFFFFE),
        ("i64", "max", 0x7FFFFFFFFFFFFFFF),
        ("i64", "inf", 0x7FFFFFFFFFFFFFFF),
        ("u32", "pattern", 0x3FC1B2A3),
    ],
)
def test_scalars_convert_as_on_the_host(name: str, text: str, bits: int) -> None:
    value = scalar(name, text)
    assert value.dtype == DTYPES[name].numpy
    assert int(np.array([value]).view(DTYPES[name].bits)[0]) == bits


@pytest.mark.parametrize(
    ("name", "text"), [("f32", "one"), ("f32", ""), ("u8", "0x100"), ("f16", "0xzz"), ("f16", "-0x1")]
)
def test_other_scalars_are_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"{text!r} is not a scalar of type {name}: expected a number"):
        scalar(name, text)


def test_unknown_ways_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown values 'nice'; known: tiny, unit"):
        values("nice", DTYPES["f32"], 3, RandomStream(1))
