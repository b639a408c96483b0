"""What every order of a sum comes to, where sums overflow, saturate or hold what is no number."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.arithmetic import arithmetic
from reference.expected import Expected
from reference.summation import along, any_order, grouped, last_bit, storing

KINDS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f8e4m3": ml_dtypes.float8_e4m3fn}


def added(name: str, terms: list[float]) -> NDArray[Any]:
    """The terms one after the other from the first, in the type ``name``, as Candle adds them."""
    a = arithmetic(name)
    total, *others = (a.load(np.array([term], KINDS[name])) for term in terms)
    for term in others:
        total = a.load(a.store(a.add(total, term)))
    return a.store(total)


def found(name: str, terms: list[float]) -> Expected:
    x = np.array([terms], KINDS[name]).astype(np.float64)
    return any_order(along(x, 1), dtype(name), added(name, terms), storing(name))


def allows(expected: Expected, value: float) -> bool:
    if expected.free is not None and expected.free[0]:
        return True
    low, high = (float(end[0]) for end in (expected.low, expected.high) if end is not None)
    same = np.isnan(value) and np.isnan(float(expected.value[0]))
    return bool(same or low <= value <= high or value == float(expected.value[0]))


SUMS: tuple[tuple[float, ...], ...] = (
    (1.5, 2.25, -3.5, 0.125),
    (400, 400, -300, 3),
    (60000, 50000, -60000, -50000, 1),
    (440, -440, 30, 440, -20),
    (0.001953125, 448, 416, -448),
    (3e38, 3e38, -3e38, -1),
    (-0.0, -0.0),
    (-0.0, 0.0, 5),
)


def numbers_of(name: str) -> list[list[float]]:
    """Those of ``SUMS`` that have two terms or more left where what the type has no number for is left out."""
    with np.errstate(all="ignore"):
        left = [[term for term in terms if np.isfinite(float(np.array(term).astype(KINDS[name])))] for terms in SUMS]
    return [terms for terms in left if len(terms) > 1]


@pytest.mark.parametrize(("name", "terms"), [(name, terms) for name in KINDS for terms in numbers_of(name)])
@np.errstate(all="ignore")
def test_every_order_is_allowed(name: str, terms: list[float]) -> None:
    expected = found(name, terms)
    for order in permutations(terms):
        assert allows(expected, float(added(name, list(order))[0])), order


@np.errstate(all="ignore")
def test_what_no_order_changes_is_not_widened() -> None:
    nan, inf = np.nan, np.inf
    for terms, value in (([nan, 1], nan), ([inf, 1, 2], inf), ([inf, -inf, 3], nan), ([-inf, 5, 60000, -1], -inf)):
        expected = found("f16", terms)
        assert expected.free is None
        assert allows(expected, value)
        assert not allows(expected, 7.0)
    overflow = found("f16", [60000, 50000, 1, -60000, -50000])
    assert overflow.free is not None
    assert overflow.free.all(), "infinities of both signs, and so a NaN"
    one_sign = found("f16", [60000, 50000, -1, -2])
    assert one_sign.free is None
    assert allows(one_sign, inf)
    assert not allows(one_sign, -inf)


def test_groups_are_those_of_rows() -> None:
    x = np.random.default_rng(2).normal(size=(5, 7))
    x[0], x[1, 2] = -0.0, 0
    rows, groups = along(x, 1), grouped(x.reshape(-1), np.repeat(np.arange(5), 7))
    for field in ("positive", "negative", "count", "unit", "nan", "minus_zero"):
        assert np.array_equal(getattr(rows, field), getattr(groups, field)), field


def test_the_last_bit_of_a_number() -> None:
    x = np.array([1.0, 3.0, 0.75, -12.0, 2.0**-1074, 0.0, 1 + 2.0**-52], np.longdouble)
    assert last_bit(x).tolist() == [1.0, 1.0, 0.25, 4.0, 2.0**-1074, np.inf, 2.0**-52]


def test_a_product_that_is_too_small_leaves_a_zero_of_either_sign() -> None:
    """Fused with the addition to 0 it is -0; rounded before, it is -0 added to +0."""
    x = np.array([[-(2.0**-160)]])
    expected = any_order(along(x, 1, products=True), dtype("f32"), np.array([-0.0], np.float32), storing("f32"))
    assert expected.low is not None
    assert expected.high is not None
    assert np.signbit(expected.low[0])
    assert not np.signbit(expected.high[0])
