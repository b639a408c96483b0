"""Where over its input a kernel is off: bins by powers of two, marks by the share of the bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.cases.case import Case
from conformance.cases.launch import Buffer, Launch, Null, Scalar
from conformance.spec.load import load_specs
from conformance.verdict.profile import BINS, HALF, Profile
from conformance.verdict.trials import TrialCase
from reference.expected import Expected

KERNELS = load_specs().kernels
EXP = replace(KERNELS["uexp_f32"], tolerance=replace(KERNELS["uexp_f32"].tolerance, ulp=4))


def profile(inputs: list[float], steps: list[int], kernel=EXP, value: float = 1.0) -> str | None:
    """The profile of answers that lie so many steps above ``value``."""
    taken = Profile(kernel)
    take(taken, inputs, steps, kernel, value)
    return taken.text()


def take(taken: Profile, inputs: list[float], steps: list[int], kernel=EXP, value: float = 1.0) -> None:
    """Have ``taken`` take note of such an answer; of ``EXP``, whose bound is 4, it is told whether it is right."""
    n = len(inputs)
    expected = np.full(n, value, np.float32)
    got = (expected.view(np.int32) + np.array(steps, np.int32)).view(np.float32)
    inp = Buffer("inp", "f32", "in", np.array(inputs, np.float32))
    out = Buffer("out", "f32", "out", np.zeros(n, np.float32))
    scalars = (Scalar("numel", "size_t", np.uint64(n)), Scalar("num_dims", "size_t", np.uint64(1)))
    launch = Launch(kernel.name, (1, 1, 1), (32, 1, 1), 0, (*scalars, Null("info"), inp, out))
    case = TrialCase(Case.parse(f"{kernel.name}(shape=[{n}])"), launch, {"out": Expected(expected)})
    taken.take(case, {"inp": inp.data, "out": got}, right=kernel is EXP and max(steps) <= 4)


def marks(text: str | None) -> dict[int, str]:
    assert text is not None
    assert len(text) == BINS
    return {at - HALF: mark for at, mark in enumerate(text) if mark != "."}


def test_each_power_of_two_has_its_worst_element():
    found = marks(profile([1.0, 1.5, 2.0, -1.0, 0.0, -0.0], [1, 2, 4, 0, 3, 1]))
    assert found == {16: "a", 17: "k", -17: "0", 0: "f", -1: "5"}


def test_an_element_beyond_its_bound_is_wrong_and_so_is_a_nan():
    assert marks(profile([1.0, 4.0], [5, 1])) == {16: "x", 18: "5"}
    assert marks(profile([1.0, 4.0], [0x7FC00000 - 0x3F800000, 1])) == {16: "x", 18: "5"}


@pytest.mark.parametrize(
    ("value", "at"), [(1e38, 31), (np.inf, 31), (-np.inf, -32), (1e-38, 0), (2.0**-15, 1), (2.0**15, 31)]
)
def test_the_outermost_bins_have_what_lies_beyond_them(value: float, at: int):
    assert marks(profile([value], [1])) == {at: "5"}


def test_what_is_bit_equal_or_no_unary_kernel_of_floats_has_no_profile():
    assert profile([1.0, 2.0], [0, 0]) is None
    assert profile([np.nan], [1]) is None
    assert profile([1.0], [1], KERNELS["affine_f32"]) is None
    assert profile([1.0], [1], KERNELS["ucopy_u32"]) is None


def test_the_element_of_a_bit_exact_kernel_is_wrong_or_equal():
    assert marks(profile([1.0, 2.0], [1, 0], KERNELS["uneg_f32"])) == {16: "x", 17: "0"}


@pytest.mark.parametrize("equal_first", [True, False])
def test_cases_that_are_bit_equal_are_in_the_profile_of_one_that_is_not(equal_first: bool):
    taken = Profile(EXP)
    answers = [([4.0, -1.0], [0, 0]), ([1.0, 4.0], [2, 1])]
    for inputs, steps in answers if equal_first else reversed(answers):
        take(taken, inputs, steps)
    assert marks(taken.text()) == {18: "5", -17: "0", 16: "a"}
