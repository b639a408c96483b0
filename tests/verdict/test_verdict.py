"""What counts as right, element by element."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.cases.launch import POISON_BYTE
from conformance.dtypes import dtype
from conformance.verdict.compare import Margins, distance, judge, ordinals
from reference.expected import Expected, Truth

F32 = dtype("f32")


def verdict(got, value, *, ulp=0, low=None, high=None, before=None, name="f32", margins=None):
    row = dtype(name)
    arrays = [np.asarray(x, row.numpy) if x is not None else None for x in (got, value, low, high, before)]
    if arrays[4] is None:
        arrays[4] = np.full(arrays[0].size, POISON_BYTE, np.uint8).repeat(row.size).view(row.numpy)
    return judge("out", arrays[0], Expected(arrays[1], arrays[2], arrays[3]), arrays[4], row, ulp, margins)


def step(value: float, steps: int) -> np.float32:
    for _ in range(abs(steps)):
        value = np.nextafter(np.float32(value), np.float32(np.inf if steps > 0 else -np.inf))
    return np.float32(value)


def test_bit_equal_is_right():
    assert verdict([1.0, -0.0, np.inf], [1.0, -0.0, np.inf]) is None


def test_one_step_is_wrong_without_a_bound_and_right_within_one():
    got = [step(1.0, 1)]
    mismatch = verdict(got, [1.0])
    assert mismatch is not None
    assert (mismatch.index, mismatch.ulp) == (0, 1.0)
    assert "1 ulp off" in mismatch.why
    margins = Margins()
    assert verdict(got, [1.0], ulp=1, margins=margins) is None
    assert margins.largest == 1.0
    assert verdict([step(1.0, 2)], [1.0], ulp=1) is not None


def test_nan_equals_nan_of_any_payload_and_nothing_else():
    payload = np.array([0xFFC12345], np.uint32).view(np.float32)
    assert verdict(payload, [np.nan]) is None
    assert verdict([np.nan], [1.0], ulp=100).ulp is None
    assert verdict([1.0], [np.nan], ulp=100) is not None


@pytest.mark.parametrize("ulp", [0, 1, 4])
def test_the_sign_of_zero_counts_whatever_the_bound(ulp):
    assert verdict([-0.0], [0.0], ulp=ulp) is not None
    assert verdict([0.0], [-0.0], ulp=ulp) is not None


def test_a_zero_of_either_sign_is_right_inside_an_interval_that_holds_both():
    assert verdict([-0.0], [0.0], low=[-0.0], high=[0.0]) is None


def test_the_interval_is_widened_by_the_bound_on_both_sides():
    low, high = [step(1.0, -3)], [step(1.0, 2)]
    assert verdict([step(1.0, -4)], [1.0], low=low, high=high, ulp=1) is None
    assert verdict([step(1.0, -5)], [1.0], low=low, high=high, ulp=1) is not None
    assert verdict([step(1.0, 3)], [1.0], low=low, high=high, ulp=1) is None
    assert verdict([step(1.0, 4)], [1.0], low=low, high=high, ulp=1) is not None


def test_a_poisoned_element_must_stay_as_it_is_even_within_the_bound():
    poison = np.full(4, POISON_BYTE, np.uint8).view(np.float32)
    mismatch = verdict(np.nextafter(poison, np.float32(0)), poison, ulp=4)
    assert mismatch is not None
    assert "must not be touched" in mismatch.why


def test_the_worst_element_is_reported_and_the_number_of_wrong_ones():
    margins = Margins()
    mismatch = verdict([step(1.0, 1), step(2.0, 9), 3.0], [1.0, 2.0, 3.0], margins=margins)
    assert (mismatch.index, margins.largest) == (1, 9.0)
    assert "2 of 3 elements wrong" in mismatch.why
    assert mismatch.expected == "2.0 (0x40000000)"


def test_integers_count_by_value():
    assert verdict([7], [8], name="u8").why.startswith("out[0] must be equal")
    assert verdict([7], [9], ulp=1, name="u8") is not None
    margins = Margins()
    assert verdict([7], [8], ulp=1, name="u8", margins=margins) is None
    assert margins.largest == 1.0


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "f8e4m3"])
def test_consecutive_values_have_consecutive_ordinals(name):
    row = dtype(name)
    bits = np.arange(0x78, dtype=row.bits)  # magnitudes from zero on
    positive = ordinals(bits.view(row.numpy), row)
    assert np.array_equal(positive, np.arange(0x78))
    negative = bits | row.bits.type(1 << (8 * row.size - 1))
    assert np.array_equal(ordinals(negative.view(row.numpy), row), -1 - np.arange(0x78))


def test_distance_does_not_overflow_between_the_ends_of_f64():
    ends = ordinals(np.array([-np.inf, np.inf]), dtype("f64"))
    assert distance(ends[:1], ends[1:])[0] > 1.8e19


def test_e4m3_has_one_nan_pattern_and_448_as_its_largest():
    values = np.array([0x7E, 0x7F], np.uint8).view(ml_dtypes.float8_e4m3fn)
    assert verdict([448.0], values[:1], name="f8e4m3") is None
    assert verdict(values[1:], values[:1], ulp=3, name="f8e4m3") is not None


def test_an_element_that_may_be_anything_has_to_be_written():
    got = np.array([np.nan, 1.0, np.inf], np.float32)
    before = np.full(12, POISON_BYTE, np.uint8).view(np.float32)
    free = np.array([True, True, False])
    expected = Expected(np.array([2.0, 2.0, 2.0], np.float32), free=free)
    margins = Margins()
    mismatch = judge("out", got, expected, before, F32, 0, margins)
    assert mismatch is not None
    assert (mismatch.index, "1 of 3" in mismatch.why, margins.largest) == (2, True, mismatch.ulp)
    unwritten = Expected(np.array([2.0, 2.0, 2.0], np.float32), free=np.ones(3, np.bool_))
    assert judge("out", before, unwritten, before, F32, 0) is not None
    untouched = Expected(before, free=np.ones(3, np.bool_))
    assert judge("out", got, untouched, before, F32, 0) is not None


def test_the_bound_is_that_of_the_element_nearest_to_it():
    """The element that is farthest off may have the most room."""
    value = np.array([1.0, 1.0, 1.0], np.float32)
    got = np.array([step(1.0, 9), step(1.0, -3), 1.0], np.float32)
    high = np.array([step(1.0, 99), 1.0, 1.0], np.float32)
    low = np.array([1.0, step(1.0, -3), 1.0], np.float32)
    margins = Margins()
    assert judge("out", got, Expected(value, low, high), np.zeros(3, np.float32), F32, 1, margins) is None
    assert (margins.largest, margins.largest_bound) == (9.0, 100.0)
    assert (margins.nearest, margins.nearest_bound) == (3.0, 4.0)


TINY = np.longdouble("-1.36900054e-20")
"""gelu(-7.90116), where Candle's 1 + tanh(u) is 0."""


def nearness(got: float, value: float, true: np.longdouble, name: str = "f32") -> bool:
    """Whether ``got`` is right where Candle's own answer is ``value`` and the true one ``true``."""
    row = dtype(name)
    once = np.array([true], row.numpy)
    exact = Truth(once, once, np.array([true], np.longdouble))
    before = np.full(row.size, POISON_BYTE, np.uint8).view(row.numpy)
    expected = Expected(np.array([value], row.numpy), exact=lambda: exact)
    return judge("out", np.array([got], row.numpy), expected, before, row, 0) is None


@pytest.mark.parametrize("got", [-1.3689812e-20, -1.3689800e-20, -1.4e-20, -2.7e-20, -1e-30])
def test_what_is_as_near_to_the_true_value_as_candles_answer_is_right_on_either_side(got: float):
    assert nearness(got, -0.0, TINY)


@pytest.mark.parametrize("got", [-2.8e-20, 1e-30, 0.0, np.inf, np.nan])
def test_what_is_farther_from_it_or_a_zero_of_its_other_sign_is_wrong(got: float):
    assert not nearness(got, -0.0, TINY)


def test_what_is_nearer_than_infinity_is_not_right_for_that():
    """A formula that overflows on the way says nothing of how near a result has to be."""
    assert not nearness(1.0, np.inf, np.longdouble(2.0))
    assert nearness(2.0, np.inf, np.longdouble(2.0))


def test_both_neighbours_of_a_number_are_right_where_candle_gives_one_of_them():
    true = np.longdouble(1.0)
    above, below = float(np.nextafter(1.0, 2.0)), float(np.nextafter(1.0, 0.0))
    assert nearness(below, above, true, "f64")
    assert not nearness(above, below, true, "f64"), "the step above 1 is twice the one below"


def test_it_is_remarked():
    exact = Truth(np.array([TINY], np.float32), np.array([TINY], np.float32), np.array([TINY]))
    margins = Margins()
    expected = Expected(np.array([-0.0], np.float32), exact=lambda: exact)
    assert judge("out", np.array([-2e-20], np.float32), expected, np.ones(1, np.float32), F32, 0, margins) is None
    assert margins.nearer_than_candle
