"""Every conversion of the small formats against exact rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .conftest import Probe
from .formats import BF16, EIGHT, F16, SIXTEEN, Array, Format, assert_same

BY_NAME: Any = {"ids": lambda f: f.name}


def as_float64(bits: Array, form: Format) -> Array:
    with np.errstate(invalid="ignore"):
        values: Array = bits.view(form.dtype).astype(np.float64)
    return values


@pytest.mark.parametrize("form", [*SIXTEEN, *EIGHT], **BY_NAME)
def test_every_pattern_has_its_value(probe: Probe, form: Format) -> None:
    patterns = np.arange(1 << form.bits, dtype=f"u{form.bits // 8}")
    got = probe(f"{form.name}_to_float", np.float32, patterns)
    with np.errstate(invalid="ignore"):
        assert_same(got.astype(np.float64), form.values(), patterns)


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_float32_rounds_to_nearest_even_at_every_boundary(probe: Probe, form: Format) -> None:
    with np.errstate(over="ignore"):
        middles = form.boundaries().astype(np.float32)
        x = np.unique(np.concatenate([np.nextafter(middles, np.float32(t)) for t in (np.inf, -np.inf)] + [middles]))
    x = np.concatenate([x, np.array([0.0, -0.0, np.nan, -np.nan], dtype=np.float32)])
    got = as_float64(probe(f"{form.name}_from_float", np.uint16, x), form)
    assert_same(got, form.round(x.astype(np.float64)), x)


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_float64_is_rounded_once(probe: Probe, form: Format) -> None:
    x = form.boundaries()
    got = as_float64(probe(f"{form.name}_from_double", np.uint16, x), form)
    assert_same(got, form.round(x), x)


def test_float64_through_float32_would_be_wrong() -> None:
    """The boundaries hold cases that two roundings get wrong, so the test above can tell."""
    for form in SIXTEEN:
        x = form.boundaries()
        with np.errstate(over="ignore"):
            twice = form.round(x.astype(np.float32).astype(np.float64))
        assert np.count_nonzero(twice != form.round(x)) > 10_000


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_integers_are_rounded_once(probe: Probe, form: Format) -> None:
    # A midpoint of bfloat16 plus one, which float64 drops above 2^53.
    large = (np.int64(257) << np.arange(1, 55, dtype=np.int64)) + 1
    small = np.arange(-70000, 70000, dtype=np.int64)
    x = np.concatenate([small, large, -large])
    got = as_float64(probe(f"{form.name}_from_longlong", np.uint16, x), form)
    exact = form.round(small.astype(np.float64))
    # 257 * 2^k + 1 lies just above the midpoint of 256 * 2^k and 258 * 2^k.
    above = form.round(np.ldexp(258.0, np.arange(1, 55)))
    if form is F16:  # 257 needs 9 bits and f16 has 11: the one is below half a place, until f16 overflows
        above = form.round(large.astype(np.float64))
    assert_same(got, np.concatenate([exact, above, -above]), x)


@pytest.mark.parametrize("form", SIXTEEN, **BY_NAME)
def test_to_int_truncates_and_saturates(probe: Probe, form: Format) -> None:
    values = form.values()
    got = probe(f"{form.name}_to_int", np.int32, np.arange(1 << 16, dtype=np.uint16))
    clipped = np.clip(np.trunc(np.nan_to_num(values, nan=0.0, posinf=1e30, neginf=-1e30)), -(2.0**31), 2.0**31 - 1)
    np.testing.assert_array_equal(got, clipped.astype(np.int64))


def boundaries_in_range() -> Array:
    """float32, within the finite halves."""
    x = F16.boundaries()
    return np.unique(x[np.abs(x) < 65504].astype(np.float32))


@pytest.mark.parametrize(("name", "down"), [("rd", True), ("ru", False)])
def test_directed_rounding_brackets_the_value(probe: Probe, name: str, down: bool) -> None:
    x = boundaries_in_range()
    got = as_float64(probe(f"f16_from_float_{name}", np.uint16, x), F16)
    values = F16.finite()
    at = np.searchsorted(values, x.astype(np.float64), side="right" if down else "left")
    np.testing.assert_array_equal(got, values[at - 1 if down else at])


def test_rounding_toward_zero(probe: Probe) -> None:
    x = boundaries_in_range()
    got = as_float64(probe("f16_from_float_rz", np.uint16, x), F16)
    values = F16.finite()
    expected = values[np.searchsorted(values, np.abs(x).astype(np.float64), side="right") - 1]
    np.testing.assert_array_equal(np.abs(got), expected)


def test_native_types_round_once(probe: Probe) -> None:
    x = F16.boundaries()
    got = as_float64(probe("native_f16_from_double", np.uint16, x), F16)
    assert_same(got, F16.round(x), x)


@pytest.mark.parametrize("source", ["float", "double"])
def test_native_bfloat16_rounds_once(probe: Probe, source: str) -> None:
    if not probe.has("native_bf16_from_float"):
        pytest.skip("this compiler has no __bf16")
    with np.errstate(over="ignore"):
        x = BF16.boundaries().astype(np.float32 if source == "float" else np.float64)
    got = as_float64(probe(f"native_bf16_from_{source}", np.uint16, x), BF16)
    assert_same(got, BF16.round(x.astype(np.float64)), x)


def test_older_bfloat16_rounds_alike(probe: Probe) -> None:
    with np.errstate(over="ignore"):
        x = BF16.boundaries().astype(np.float32)
    got = as_float64(probe("old_bf16_from_float", np.uint16, x), BF16)
    assert_same(got, BF16.round(x.astype(np.float64)), x)


def rounded_8(form: Format, x: Array, saturate: bool) -> Array:
    """float64: what is beyond the largest value saturates, or becomes infinity (NaN where the format has none)."""
    overflow = np.inf if form.name == "e5m2" else np.nan
    limit = np.full_like(x, form.largest if saturate else overflow)
    result = np.where(np.abs(x) > form.largest, np.copysign(limit, x), form.round(x))
    result = np.where(np.isnan(x), np.nan, result)
    return np.where(result == 0, 0.0, result) if form.name.endswith("fnuz") else result


@pytest.mark.parametrize("saturate", [True, False], ids=["saturating", "overflowing"])
@pytest.mark.parametrize("form", EIGHT, **BY_NAME)
def test_8_bits_round_at_every_boundary(probe: Probe, form: Format, saturate: bool) -> None:
    x = form.boundaries()
    got = probe(f"{form.name}_from_double" + ("" if saturate else "_nosat"), np.uint8, x)
    assert_same(as_float64(got, form), rounded_8(form, x, saturate), x)


@pytest.mark.parametrize("form", EIGHT, **BY_NAME)
def test_8_bits_from_float_and_half(probe: Probe, form: Format) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16)
    values = F16.values()
    expected = rounded_8(form, values, True)
    assert_same(as_float64(probe(f"{form.name}_from_half", np.uint8, halves), form), expected, values)
    with np.errstate(invalid="ignore"):
        floats = values.astype(np.float32)
    assert_same(as_float64(probe(f"{form.name}_from_float", np.uint8, floats), form), expected, values)
