"""The intervals that an inexact library function is given, and the error function's own accuracy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from reference import errorfunction, evaluate
from reference.library import FUNCTIONS, call

F32, F64, F16 = (np.dtype(kind) for kind in (np.float32, np.float64, np.float16))

# x, erf(x), Phi(x): 25 digits, computed with 200-bit arithmetic.
KNOWN = [
    ("0.5", "0.5204998778130465376827467", "0.6914624612740131036377046"),
    ("1", "0.8427007929497148693412206", "0.8413447460685429485852325"),
    ("2", "0.9953222650189527341620693", "0.9772498680518207927997174"),
    ("-3", "-0.9999779095030014145586272", "0.001349898031630094526651815"),
    ("-10", "-1", "7.619853024160526065973343e-24"),
    ("-37.5", "-1", "4.605353009581954843827969e-308"),
    ("1e-300", "1.128379167095512573896159e-300", "0.5"),
]


@pytest.mark.parametrize(("x", "erf", "phi"), KNOWN)
def test_error_function(x: str, erf: str, phi: str) -> None:
    argument = np.array([x]).astype(np.longdouble)
    for function, expected in ((errorfunction.erf, erf), (errorfunction.normcdf, phi)):
        exact = np.array([expected]).astype(np.longdouble)
        # A sixteenth of float64's relative step, far below half an ulp; float64's own range gets four steps.
        assert abs(function(argument) / exact - 1)[0] < 2.0**-56
        assert abs(function(argument.astype(np.float64)) / exact - 1)[0] < 2.0**-50


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
@np.errstate(all="ignore")
def test_error_function_of_specials(dtype: Any) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300, -1000.0], dtype)
    assert [str(v) for v in errorfunction.erf(x)] == ["1.0", "-1.0", "nan", "0.0", "-0.0", "1.0", "-1.0", "-1.0"]
    assert [str(v) for v in errorfunction.normcdf(x)] == ["1.0", "0.0", "nan", "0.5", "0.5", "1.0", "0.0", "0.0"]


@pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
def test_error_function_has_no_seam(dtype: Any) -> None:
    """Either side of |z| = 1, where the expansions meet, and of the pole's limit pi / h, the slope goes on."""
    step = 2.0**-20
    for function, seam in (
        (errorfunction.erf, 1.0),
        (errorfunction.normcdf, -np.sqrt(2.0)),
        (errorfunction.normcdf, -9.87),
    ):
        x = (seam + step * np.arange(-4, 5)).astype(dtype)
        y = function(x)
        third = np.abs(np.diff(y, 3)) / np.abs(y[0])
        assert third.max() < 64 * np.finfo(dtype).eps + 1e3 * step**3


def test_steps_go_both_ways() -> None:
    value, lower, upper = call("exp", (np.array([1.0, -1.0], np.float32),), F32, 2)
    assert (lower.view(np.int32) - value.view(np.int32)).tolist() == [-2, -2]
    assert (upper.view(np.int32) - value.view(np.int32)).tolist() == [2, 2]


@np.errstate(all="ignore")
@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", -np.inf, (0.0, 0.0, 0.0)),
        ("exp", np.inf, (np.inf, np.inf, np.inf)),
        ("exp", 200.0, (np.inf, np.inf, np.inf)),
        ("log", 0.0, (-np.inf, -np.inf, -np.inf)),
        ("log", 1.0, (0.0, 0.0, 0.0)),
        ("tanh", 1e5, (1.0, 1.0, 1.0)),
        ("tanh", -1e5, (-1.0, -1.0, -1.0)),
        ("tanh", 9.2, (1.0, 1.0 - 2.0**-23, 1.0)),
        ("erf", 0.0, (0.0, 0.0, 0.0)),
        ("sin", 0.0, (0.0, 0.0, 0.0)),
        ("cos", 0.0, (1.0, 1.0 - 2.0**-23, 1.0)),
    ],
)
def test_steps_stop_at_the_functions_limits(name: str, x: float, expected: tuple[float, float, float]) -> None:
    value, lower, upper = call(name, (np.array([x], np.float32),), F32, 2)
    assert (value[0], lower[0], upper[0]) == tuple(np.float32(number) for number in expected)


@np.errstate(all="ignore")
def test_steps_at_the_overflow_edge() -> None:
    """2^64 squared overflows by one step: an implementation two steps off may stay finite; 2^70 squared may not."""
    x = np.array([2.0**64 - 2.0**40, 2.0**64, 2.0**70], np.float32)
    value, lower, upper = (part.view(np.int32) for part in call("pow", (x, np.array([2], np.float32)), F32, 2))
    infinity = int(np.array([np.inf], np.float32).view(np.int32)[0])
    assert (value - infinity).tolist() == [-2, 0, 0]
    assert (lower - infinity).tolist() == [-4, -2, 0]
    assert (upper - infinity).tolist() == [0, 0, 0]


@np.errstate(all="ignore")
@pytest.mark.parametrize("kind", [F16, np.dtype(ml_dtypes.bfloat16), F32, F64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_interval_holds_the_value(name: str, kind: np.dtype[Any]) -> None:
    x = np.concatenate([np.linspace(-100, 100, 4001), [0.0, -0.0, np.inf, -np.inf, 1e-30, -1e-30, 3e38]])
    x = x.astype(kind)
    arguments = (x, np.array([1.75]).astype(kind)) if name == "pow" else (x,)
    value, near, far = (part.astype(np.float64) for part in call(name, arguments, kind, 3))
    number = ~np.isnan(value)
    assert number.any()
    assert (np.abs(near) <= np.abs(value))[number].all()
    assert (np.abs(value) <= np.abs(far))[number].all()
    assert (np.abs(far)[number] <= FUNCTIONS[name].limit).all()
    assert (np.signbit(near) == np.signbit(value))[number].all()


def test_cancellation_widens_the_interval() -> None:
    """1 + tanh near -1: a step of tanh is many steps of gelu; for positive arguments it is a step or two."""
    x = np.array([-3.0, 3.0], np.float32)
    out = np.zeros(2, np.float32)
    arguments = {"numel": 2, "num_dims": 1, "info": None, "inp": x, "out": out}
    answer = evaluate("unary", "unary", {"op": "gelu", "dtype": "f32"}, 1, arguments)["out"]
    assert answer.low is not None
    assert answer.high is not None
    width = np.abs(answer.high.view(np.int32) - answer.low.view(np.int32))
    assert width[0] > 100
    assert width[1] <= 4


def test_both_zeros_are_right_where_exp_may_fall_on_either_side_of_one() -> None:
    """elu with a slope of 0: 0 * (1 - 1) is +0, and 0 * (0.99999994 - 1) is -0; for -1 it is -0 alone."""
    x = np.array([-8.881785e-16, -1.0] * 32, np.float32)
    arguments = {"numel": 64, "num_dims": 1, "info": None, "param": np.float32(0), "inp": x, "out": np.zeros_like(x)}
    answer = evaluate("unary", "unary1", {"op": "elu", "dtype": "f32"}, 1, arguments)["out"]
    assert answer.low is not None
    assert answer.high is not None
    signs = np.signbit([answer.value, answer.low, answer.high])
    assert signs.tolist() == [[False, True] * 32, [True, True] * 32, [False, True] * 32]


@np.errstate(all="ignore")
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3"])
@pytest.mark.parametrize("op", ["exp", "log", "tanh", "gelu", "gelu_erf", "silu", "sigmoid", "normcdf"])
def test_every_pattern_lies_in_its_interval(op: str, dtype: str) -> None:
    kind = np.dtype({"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn}[dtype])
    patterns = np.arange(1 << (8 * kind.itemsize), dtype=f"u{kind.itemsize}").view(kind)
    arguments = {"numel": patterns.size, "num_dims": 1, "info": None, "inp": patterns, "out": np.zeros_like(patterns)}
    answer = evaluate("unary", "unary", {"op": op, "dtype": dtype}, 1, arguments)["out"]
    assert answer.low is not None
    assert answer.high is not None
    value, low, high = (part.astype(np.float64) for part in (answer.value, answer.low, answer.high))
    number = ~np.isnan(value)
    assert (low <= value)[number].all()
    assert (value <= high)[number].all()
    assert np.isnan(low[~number]).all()
    if dtype != "f8e4m3":  # a step of float32 rarely shows in three bits
        assert (low < high)[number].mean() > 0.01


@pytest.mark.parametrize("kind", [F32, F64])
def test_a_power_of_a_half_is_pow_and_not_sqrt(kind: np.dtype[Any]) -> None:
    base = np.array([-np.inf, -0.0, 4.0], kind)
    (value,) = call("pow", (base, np.array([0.5], kind)), kind, 0)
    assert value.tolist() == [np.inf, 0.0, 2.0]
    assert not np.signbit(value).any()


def test_gelu_in_float64_is_right_next_to_the_limit_of_tanh() -> None:
    """1 + tanh is 2^-53 there where tanh is rounded right, 0 in float32 and where a float64 tanh is one step off."""
    x = np.array([-7.194809913635254, -7.199997901916504, -7.4, -40], np.float32)
    arguments = {"numel": 4, "num_dims": 1, "info": None, "inp": x, "out": np.zeros_like(x)}
    out = evaluate("unary", "unary", {"op": "gelu", "dtype": "f32"}, 2, arguments)["out"]
    assert out.exact is not None
    truth = out.exact()
    low, high = truth.least, truth.most
    tanh = -1 + 2.0**-53
    right = (0.5 * x * (1 + tanh)).astype(np.float32)
    assert ((low <= right) & (right <= high)).tolist() == [True, True, True, False]
    assert (low[2:] > 10 * right[2:]).all()
