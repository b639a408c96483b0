"""The wrong elements of a buffer, and of what kind each is: how what a kernel wrote is related to what was expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Launch
from conformance.cases.specials import integer_limits
from conformance.dtypes import DType
from conformance.spec.kernel import Kernel
from conformance.verdict.compare import Wrong, is_nan, ordinals
from conformance.verdict.operands import Operand, operand_values, rows_of
from reference.expected import Expected

Mask = NDArray[np.bool_]

FEW_ULPS = 16
"""An error that another order of operations or another formula makes."""

CLOSE = 2e-3
"""A relative error that an approximation of a function makes: tanh for erf is off by 5e-4."""


@dataclass(frozen=True)
class Elements:
    """The wrong elements of one buffer, 1-D and in the buffer's dtype: what the kernel wrote, what was expected, and
    ``before``, their content before the launch."""

    wrong: Wrong
    before: NDArray[Any]
    dtype: DType

    @cached_property
    def got(self) -> NDArray[np.float64]:
        return np.asarray(self.wrong.got).astype(np.float64)

    @cached_property
    def expected(self) -> NDArray[np.float64]:
        return np.asarray(self.wrong.expected).astype(np.float64)

    @cached_property
    def is_float(self) -> bool:
        return self.dtype.kind == "float"

    @cached_property
    def nan_got(self) -> Mask:
        return is_nan(self.wrong.got, self.dtype)

    @cached_property
    def nan_expected(self) -> Mask:
        return is_nan(self.wrong.expected, self.dtype)

    @cached_property
    def least_normal(self) -> float:
        """The smallest number of the dtype that is not subnormal."""
        one = self.dtype.bits.type(1 << self.dtype.floating.mantissa)
        return float(np.array([one]).view(self.dtype.numpy).astype(np.float64)[0])

    @cached_property
    def outside(self) -> NDArray[np.float64]:
        """How many ulps an element lies outside of what is allowed around the expected value."""
        low, _, high = self.wrong.bounds
        actual = ordinals(self.wrong.got, self.dtype)
        return np.asarray(np.maximum(np.maximum(low - actual, actual - high), 0), np.float64)

    @cached_property
    def relative(self) -> NDArray[np.float64]:
        """The relative error; infinite where 0 is expected."""
        with np.errstate(all="ignore"):
            error = np.abs(self.got - self.expected) / np.abs(self.expected)
        return np.where(np.isfinite(error), error, np.inf)

    def at_limit(self, values: NDArray[Any]) -> Mask:
        """Which ``values`` are the least or greatest finite one of the dtype."""
        if self.is_float:
            magnitude = values.view(self.dtype.bits) & self.dtype.bits.type((1 << (8 * self.dtype.size - 1)) - 1)
            return np.asarray(magnitude == self.dtype.floating.largest)
        low, high = integer_limits(self.dtype)
        return np.asarray((values == low) | (values == high))


@dataclass(frozen=True)
class WrongBuffer:
    """A buffer with wrong elements: what the kernel left in it from its start on, and what was expected."""

    kernel: Kernel
    launch: Launch
    name: str
    got: NDArray[Any]
    expected: Expected
    before: NDArray[Any]
    elements: Elements

    @property
    def dtype(self) -> DType:
        return self.elements.dtype

    @cached_property
    def operands(self) -> list[Operand]:
        return operand_values(self.launch, self.elements.wrong.at)

    @cached_property
    def rows(self) -> Operand | None:
        return rows_of(self.launch, self.kernel.launch, self.elements.wrong.at)


def _bits(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    return values.view(dtype.bits)


def _unwritten(e: Elements) -> Mask:
    return np.asarray(_bits(e.wrong.got, e.dtype) == _bits(e.before, e.dtype))


def _none(e: Elements) -> Mask:
    return np.zeros(e.wrong.at.size, np.bool_)


def _ulps(e: Elements, least: int, most: int) -> Mask:
    if not e.is_float:
        return _none(e)
    finite = np.isfinite(e.got) | np.isfinite(e.expected)
    return finite & ~e.nan_got & ~e.nan_expected & (e.wrong.steps >= least) & (e.wrong.steps <= most)


def _one_ulp(e: Elements, smaller: bool) -> Mask:
    less = np.abs(e.got) < np.abs(e.expected)
    return _ulps(e, 1, 1) & (less if smaller else ~less)


_KINDS: tuple[tuple[str, Callable[[Elements], Mask]], ...] = (
    ("overwritten", lambda e: e.wrong.untouched),
    ("unwritten", _unwritten),
    ("inf for NaN", lambda e: e.nan_expected & np.isinf(e.got)),
    ("number for NaN", lambda e: e.nan_expected),
    ("NaN for number", lambda e: e.nan_got),
    ("sign of zero", lambda e: (e.got == 0) & (e.expected == 0) & e.is_float),
    ("zero for subnormal", lambda e: (e.got == 0) & (np.abs(e.expected) < e.least_normal) if e.is_float else _none(e)),
    ("subnormal for zero", lambda e: (e.expected == 0) & (np.abs(e.got) < e.least_normal) if e.is_float else _none(e)),
    ("other sign", lambda e: (e.got == -e.expected) if e.dtype.kind in ("float", "int") else _none(e)),
    ("1 ulp towards zero", lambda e: _one_ulp(e, smaller=True)),
    ("1 ulp away from zero", lambda e: _one_ulp(e, smaller=False)),
    ("few ulp", lambda e: _ulps(e, 2, FEW_ULPS) | (_ulps(e, 2, 2**62) & (e.outside <= FEW_ULPS))),
    ("inf for number", lambda e: np.isinf(e.got)),
    ("number for inf", lambda e: np.isinf(e.expected)),
    ("zero for number", lambda e: e.got == 0),
    ("number for zero", lambda e: e.expected == 0),
    ("close", lambda e: (e.relative <= CLOSE) & e.is_float),
    ("limit for number", lambda e: e.at_limit(e.wrong.got)),
    ("number for limit", lambda e: e.at_limit(e.wrong.expected)),
    ("other", lambda e: ~_none(e)),
)
"""An element is of the first kind that fits."""

KINDS: tuple[str, ...] = tuple(name for name, _ in _KINDS)


def kinds(elements: Elements) -> tuple[str, ...]:
    """The kinds of the wrong elements, each once, in the order of ``KINDS``."""
    left = np.ones(elements.wrong.at.size, np.bool_)
    found: list[str] = []
    with np.errstate(all="ignore"):
        for name, fits in _KINDS:
            mine = left & fits(elements)
            if mine.any():
                found.append(name)
                left &= ~mine
            if not left.any():
                break
    return tuple(found)
