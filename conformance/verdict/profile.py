"""Where over its input a unary kernel is how far off: the worst element of each bin, in units of its bound.

The bins are powers of two of the input: 32 of negative inputs, from the largest magnitude down, and 32 of positive ones
up. The outermost have all magnitudes from 2^15 on, the innermost all below 2^-15, with the zeros. Inputs that are NaN
are in none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Scalar
from conformance.dtypes import DType, dtype
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import distance, is_nan, ordinals, wrong_elements
from conformance.verdict.loop import Buffers
from conformance.verdict.operands import operand_values
from conformance.verdict.trials import TrialCase
from reference.expected import Expected

HALF = 32
BINS = 2 * HALF
MARKS = ".0123456789abcdefghijkx"
"""No element; bit-equal; so many twentieths of the bound, rounded up, the last of them the bound itself; wrong."""

_EQUAL, _BOUND, _WRONG = 1, 21, 22
_FAMILIES = ("unary", "unary1")


class Profile:
    """Takes note of the answers of one kernel; it stays empty where that is not a unary one of floats."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._wanted = kernel.launch in _FAMILIES and dtype(kernel.param("out").dtype).kind == "float"
        self._marks = np.zeros(BINS, np.int64)
        self._case: TrialCase | None = None
        self._bins: NDArray[np.int64] = np.zeros(0, np.int64)
        self._equal: list[TrialCase] = []

    def take(self, case: TrialCase, buffers: Buffers, right: bool) -> None:
        """Take note of an answer to ``case``, of which every element is ``right`` or some may not be."""
        if not self._wanted or case.must_fault or case.flaw:
            return
        name = next(iter(case.expected), None)
        out = next((arg for arg in case.launch.args if isinstance(arg, Buffer) and arg.name == name), None)
        if out is None:
            return
        row = dtype(out.dtype)
        got, expected = buffers[out.name][out.start :], case.expected[out.name]
        at = np.flatnonzero(got.view(row.bits) != expected.value.view(row.bits))
        if not at.size:  # most kernels are bit-equal throughout, and their bins are never asked for
            self._equal.append(case)
            return
        if case is not self._case:  # each thread order answers the same case
            self._case, self._bins = case, _bins(case)
            self._see(self._bins)
        at = at[at < self._bins.size]
        at = at[self._bins[at] < BINS]
        if at.size:
            np.maximum.at(self._marks, self._bins[at], self._off(at, got, expected, out, row, right))

    def _see(self, bins: NDArray[np.int64]) -> None:
        """Mark ``bins`` as those of elements that were compared."""
        seen = np.bincount(bins, minlength=BINS)[:BINS] > 0
        self._marks[seen] = np.maximum(self._marks[seen], _EQUAL)

    def _off(
        self, at: NDArray[np.int64], got: NDArray[Any], expected: Expected, out: Buffer, row: DType, right: bool
    ) -> NDArray[np.int64]:
        """The marks of the elements ``at``, which are not bit-equal."""
        ulp = self._kernel.tolerance.ulp
        value, actual = ordinals(expected.value[at], row), ordinals(got[at], row)
        low = value if expected.low is None else np.minimum(ordinals(expected.low[at], row), value)
        high = value if expected.high is None else np.maximum(ordinals(expected.high[at], row), value)
        bound = distance(value, np.where(actual < value, low, high)) + ulp
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.ceil((_BOUND - _EQUAL) * distance(actual, value) / bound)
        counted = ~is_nan(expected.value[at], row) & ~is_nan(got[at], row) & np.isfinite(share)
        marks = _EQUAL + np.where(counted, np.minimum(share, _BOUND - _EQUAL), 0).astype(np.int64)
        wrong = None if right else wrong_elements(got, expected, out.data[out.start :], row, ulp)
        return marks if wrong is None else np.where(np.isin(at, wrong.at), _WRONG, marks)

    def text(self) -> str | None:
        """A mark for each bin; ``None`` where every element was bit-equal, or none was compared."""
        if self._marks.max() <= _EQUAL:
            return None
        for case in self._equal:
            self._see(_bins(case))
        return "".join(MARKS[mark] for mark in self._marks)


def _bins(case: TrialCase) -> NDArray[np.int64]:
    """The bin of each output element's input, ``BINS`` for NaN; empty where the launch is not elementwise."""
    scalars = [arg for arg in case.launch.args if isinstance(arg, Scalar) and arg.name == "numel"]
    operands = operand_values(case.launch, np.arange(int(scalars[0].value))) if scalars else []
    if len(operands) != 1:
        return np.zeros(0, np.int64)
    with np.errstate(invalid="ignore"):
        inputs = operands[0].values.astype(np.float64)
    _, exponent = np.frexp(np.where(np.isinf(inputs), np.finfo(np.float64).max, inputs))
    step = np.where(inputs == 0, 0, np.clip(exponent + HALF // 2 - 1, 0, HALF - 1))
    return np.where(np.isnan(inputs), BINS, np.where(np.signbit(inputs), HALF - 1 - step, HALF + step))
