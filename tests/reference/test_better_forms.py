"""Forms of gelu and elu that lose no digits where Candle's do are right, and what is a little wrong in them is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.dtypes import dtype
from conformance.verdict.compare import wrong_elements
from reference import evaluate
from reference.expected import Expected

Array = NDArray[Any]
K, C = 0.7978845608028654, 0.044715
"""sqrt(2 / pi), and the factor of the cube inside gelu."""


def inner(x: Array) -> Array:
    kind = x.dtype.type
    return np.asarray(x + kind(C) * (x * x * x))


@np.errstate(over="ignore")
def by_quotient(x: Array, k: float = K) -> Array:
    kind = x.dtype.type
    return np.asarray(x / (kind(1) + np.exp(kind(-2 * k) * inner(x))))


@np.errstate(over="ignore")
def by_sigmoid(x: Array) -> Array:
    kind = x.dtype.type
    return np.asarray(x * (kind(1) / (kind(1) + np.exp(kind(-2) * (kind(K) * inner(x))))))


def of_product(x: Array) -> Array:
    kind = x.dtype.type
    u = kind(K) * x * (kind(1) + kind(C) * x * x)
    return np.asarray(kind(0.5) * x * (kind(1) + np.tanh(u)))


def ends_at_minus_4(x: Array) -> Array:
    return np.where(x < -4, x.dtype.type(-0.0), by_quotient(x))


def expected_of(op: str, x: Array, param: float | None) -> Expected:
    name = {4: "f32", 8: "f64"}[x.dtype.itemsize]
    given = {"numel": x.size, "num_dims": 1, "info": None, "inp": x, "out": np.ones_like(x)}
    family = "unary" if param is None else "unary1"
    given |= {} if param is None else {"param": x.dtype.type(param)}
    return evaluate("unary", family, {"op": op, "dtype": name}, {"f32": 2, "f64": 1}[name], given)["out"]


def wrong_of(op: str, got: Array, x: Array, param: float | None = None) -> int:
    """How many of the results are wrong."""
    row = dtype({4: "f32", 8: "f64"}[x.dtype.itemsize])
    wrong = wrong_elements(got, expected_of(op, x, param), np.ones_like(x), row, 0)
    return 0 if wrong is None else wrong.at.size


def operands(kind: type) -> Array:
    """4,000 numbers, most of them negative, a third of them next to 0."""
    random = np.random.default_rng(56)
    parts = random.uniform(-12, 6, 2000), random.uniform(-1, 1, 1300), -np.geomspace(1e-6, 12, 700)
    return np.concatenate(parts).astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("form", [by_quotient, by_sigmoid, of_product])
def test_gelu_in_another_form_is_right(form: Callable[[Array], Array], kind: type) -> None:
    x = operands(kind)
    assert wrong_of("gelu", form(x), x) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_gelu_that_ends_too_early_is_wrong(kind: type) -> None:
    x = operands(kind)
    assert wrong_of("gelu", ends_at_minus_4(x), x) > 50


@pytest.mark.parametrize("form", [by_quotient, of_product])
def test_gelu_of_float64_in_float32_is_wrong(form: Callable[[Array], Array]) -> None:
    x = operands(np.float64)
    assert wrong_of("gelu", form(x.astype(np.float32)).astype(np.float64), x) > 3000


def test_gelu_with_a_constant_of_ten_digits_is_wrong() -> None:
    x = operands(np.float64)
    assert wrong_of("gelu", by_quotient(x, 0.7978845608), x) > 2000


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1.0, 1.75])
def test_elu_by_expm1_is_right(kind: type, alpha: float) -> None:
    x = operands(kind)
    elu = np.where(x > 0, x, kind(alpha) * np.expm1(x))
    assert wrong_of("elu", elu, x, alpha) == 0


def test_elu_by_an_expm1_that_is_a_step_off_is_right() -> None:
    """expm1f(-17.133) may be -1: the documented error is 1 step of the result."""
    x = np.array([-17.133], np.float32)
    assert wrong_of("elu", np.array([-1.75], np.float32), x, 1.75) == 0
    assert wrong_of("elu", np.array([-1.7500005], np.float32), x, 1.75) == 1
    assert wrong_of("elu", np.array([-1.7499992], np.float32), x, 1.75) == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_elu_that_is_linear_next_to_0_is_wrong(kind: type) -> None:
    x = operands(kind)
    elu = np.where(x > 0, x, np.where(x > -1 / 16, x, np.expm1(x)))
    assert wrong_of("elu", elu, x, 1.0) > 100
