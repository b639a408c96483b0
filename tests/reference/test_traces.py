"""The reference on trial: every recorded CUDA case of the modules that have a reference."""

from __future__ import annotations

import numpy as np
import pytest
import traces

from reference import Expected

MODULES = ("affine", "unary", "binary", "cast", "ternary", "fill")


@pytest.mark.slow("every recorded launch again, one step off")
def test_every_recorded_case_is_there() -> None:
    modules = {kernel.module for kernel in traces.kernels().values()}
    assert sum(1 for module in modules for _ in traces.cases(module)) == 1886


@pytest.mark.slow("every recorded launch again, one step off")
@pytest.mark.parametrize("module", MODULES)
def test_recorded_answers(module: str) -> None:
    assert list(traces.judge(module)) == []


@pytest.mark.slow("every recorded launch again, one step off")
@pytest.mark.parametrize("module", MODULES)
def test_one_step_off_is_noticed(module: str) -> None:
    """Where the reference gives no interval, one step on one element of any recorded answer is one step too many."""
    tried = 0
    for case in traces.cases(module):
        answers = case.answers(0)
        for name, got in case.expected.items():
            before = traces.steps(got, answers[name])
            # A number (NaN has many patterns) that is right as recorded.
            with np.errstate(invalid="ignore"):
                usable = np.flatnonzero((before == 0) & ~np.isnan(got.astype(np.longdouble)))
            for index in usable[:: max(1, usable.size // 3)]:
                corrupt = got.copy()
                pattern = corrupt.view(f"u{corrupt.dtype.itemsize}")
                pattern[index] ^= 1
                assert traces.steps(corrupt, answers[name])[index] >= 1, (
                    f"{case.kernel.name} {case.label} {name}[{index}]"
                )
                tried += 1
    assert tried > 50


def test_zero_of_the_other_sign_is_noticed() -> None:
    value = np.array([0.0, -0.0, 1.0], np.float32)
    assert traces.steps(-value, Expected(value)).tolist()[:2] == [np.inf, np.inf]
    assert traces.steps(value, Expected(value)).tolist() == [0, 0, 0]


def test_nan_equals_any_nan_and_no_number() -> None:
    value = np.array([0x7FC00000, 0xFF800001, 0x3F800000], np.uint32).view(np.float32)
    other = np.array([0xFFC12345, 0x3F800000, 0x7FC00000], np.uint32).view(np.float32)
    assert traces.steps(other, Expected(value)).tolist() == [0, np.inf, np.inf]
