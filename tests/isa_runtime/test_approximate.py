"""Instructions that are documented as approximate, and their deviations within the documented error (--perturb)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import VECTOR, A, vop3
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_vector_instructions import LANES, run, same

FUNCTIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "exp": np.exp2,
    "log": np.log2,
}


def numbers(kind: Any) -> NDArray[Any]:
    return np.random.default_rng(1).uniform(1.1, 9, LANES).astype(kind)


@pytest.mark.nightly("launches for each instruction and seed, after building the interpreter")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_float_deviates_to_the_other_neighbour_of_the_exact_value(machine: Machine, name: str) -> None:
    a = numbers(np.float32)
    exact = FUNCTIONS[name](a.astype(np.float64))
    words = vop3(f"v_{name}_f32", VECTOR + A)
    same(run(machine, words, np.float32, a), exact.astype(np.float32))
    answers = [run(machine, words, np.float32, a, perturb=seed) for seed in (1, 2)]
    for got in answers:
        assert (np.abs(got - exact) < np.spacing(np.abs(exact).astype(np.float32))).all()
        assert 8 < (got != exact.astype(np.float32)).sum() < 56
    assert not np.array_equal(*answers)
    same(run(machine, words, np.float32, a, perturb=1), answers[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_half_is_within_its_closer_bound(machine: Machine, name: str) -> None:
    a = numbers(np.float16)
    exact = FUNCTIONS[name](a.astype(np.float64))
    got = run(machine, vop3(f"v_{name}_f16", VECTOR + A), np.float16, a, perturb=1)
    assert (np.abs(got - exact) <= 0.51 * np.spacing(np.abs(exact).astype(np.float16))).all()


@pytest.mark.parametrize("name", ["rcp", "rsq", "sqrt"])
def test_a_double_has_the_accuracy_of_a_float(machine: Machine, name: str) -> None:
    a = numbers(np.float64)
    exact = FUNCTIONS[name](a)
    got = run(machine, vop3(f"v_{name}_f64", VECTOR + A), np.float64, a, perturb=1)
    steps = np.abs(got.view(np.int64) - exact.view(np.int64))
    assert (steps <= 1 << 29).all()
    assert np.median(steps) > 1 << 26


def _refined(x: float, guess: float) -> float:
    """A Newton step of two fused operations, each rounded once."""
    residue = float(1 - Fraction(x) * Fraction(guess))
    return float(Fraction(guess) + Fraction(guess) * Fraction(residue))


def test_a_double_quotient_is_right_whatever_the_deviation(machine: Machine) -> None:
    """Two Newton steps give the reciprocal that a division needs, also where all bits of the divisor are set."""
    below_two = np.nextafter(2.0, 1) * 2.0 ** np.arange(-LANES // 2, LANES // 2)
    for a in (below_two, numbers(np.float64)):
        got = [run(machine, vop3("v_rcp_f64", VECTOR + A), np.float64, a, perturb=seed) for seed in (1, 2, 3)]
        for x, *guesses in zip(a, *got, strict=True):
            assert [_refined(x, _refined(x, guess)) for guess in guesses] == [1 / x] * 3


def test_what_is_exact_stays(machine: Machine) -> None:
    a = np.full(LANES, 4, np.float32)
    same(run(machine, vop3("v_sqrt_f32", VECTOR + A), np.float32, a, perturb=1), np.full(LANES, 2))


def test_powers_of_two_over_the_whole_range(machine: Machine) -> None:
    """Also where they are out of the range of a float, and next to a half, where the nearest integer changes."""
    ends = [0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1000.5, -1000.5, 128, 127.99999, -126, -126.5, -149.2]
    near = [0.5, -0.5, 1.5, -1.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 1e-30, -1e-30, 1e-40, 3e-8]
    some = np.random.default_rng(1).uniform(-127, 129, LANES - len(ends) - len(near))
    a = np.concatenate([ends, near, some]).astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp2(a.astype(np.float64)).astype(np.float32)
    expected[expected < np.finfo(np.float32).tiny] = 0
    same(run(machine, vop3("v_exp_f32", VECTOR + A), np.float32, a), expected)


def test_floats_have_no_subnormals(machine: Machine) -> None:
    tiny, huge = np.float32(1e-40), np.finfo(np.float32).max
    a = np.tile(np.array([tiny, -tiny, huge, 4], np.float32), 16)
    for name, expected in (
        ("rcp", [np.inf, -np.inf, 0, 0.25]),
        ("sqrt", [0, -0.0, np.sqrt(huge), 2]),
        ("rsq", [np.inf, -np.inf, 1 / np.sqrt(np.float64(huge)), 0.5]),
    ):
        got = run(machine, vop3(f"v_{name}_f32", VECTOR + A), np.float32, a)
        same(got, np.tile(np.array(expected, np.float32), 16))
