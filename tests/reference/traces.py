"""Recorded CUDA launches as reference arguments, and how far an answer is from the recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer
from conformance.files import traces_folder
from conformance.replay import Traces
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from reference import Expected, evaluate

Array = NDArray[Any]


@dataclass(frozen=True)
class TraceCase:
    """One recorded launch: what ``reference.evaluate`` takes, and what CUDA left in every written buffer."""

    kernel: Kernel
    label: str
    arguments: dict[str, Any]
    expected: dict[str, Array]

    def answers(self, library_ulp: int) -> dict[str, Expected]:
        """What the reference says of this launch."""
        kernel = self.kernel
        return evaluate(kernel.module, kernel.family, kernel.variant, library_ulp, self.arguments)


@cache
def kernels() -> dict[str, Kernel]:
    return load_specs().kernels


@cache
def recordings() -> Traces:
    return Traces(traces_folder())


def cases(module: str) -> Iterator[TraceCase]:
    """Every recorded case of ``module`` that ships with the reference."""
    for kernel in kernels().values():
        if kernel.module != module:
            continue
        for trace in recordings().of(kernel):
            starts = {arg.name: arg.start for arg in trace.launch.args if isinstance(arg, Buffer)}
            expected = {name: content[starts[name] :] for name, content in trace.answer.items()}
            yield TraceCase(kernel, trace.case.id, trace.launch.reference_arguments(), expected)


def steps(got: Array, expected: Expected) -> NDArray[np.float64]:
    """Per element, representable steps from ``got`` to the interval ``[low, high]``; 0 inside.

    NaN is 0 from NaN and infinitely far from numbers; so are zeros of different sign where there is no interval.
    """
    value = expected.value
    if got.dtype != value.dtype or got.shape != value.shape:
        raise AssertionError(f"{value.dtype}{value.shape} where {got.dtype}{got.shape} was recorded")
    low = value if expected.low is None else expected.low
    high = value if expected.high is None else expected.high
    if value.dtype.kind in "iub":
        return np.asarray(np.where(got == value, 0.0, np.inf))
    mine, least, most = (_ordered(part) for part in (got, low, high))
    distance: NDArray[np.float64] = np.maximum(np.maximum(least - mine, mine - most), 0).astype(np.float64)
    with np.errstate(invalid="ignore"):
        got_nan, value_nan = (np.isnan(part.astype(np.float64)) for part in (got, value))
    distance[got_nan & value_nan] = 0
    distance[got_nan != value_nan] = np.inf
    zeros = (_magnitude(got) == 0) & (_magnitude(value) == 0)
    distance[zeros & (_sign(got) != _sign(value))] = np.inf
    return distance


def _bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _sign(x: Array) -> Array:
    return np.asarray(_bits(x) >> (8 * x.dtype.itemsize - 1))


def _magnitude(x: Array) -> Array:
    return np.asarray(_bits(x) & _bits(x).dtype.type((1 << (8 * x.dtype.itemsize - 1)) - 1))


def _ordered(x: Array) -> Array:
    """Ranks in the order of the values; both zeros are 0. In longdouble, since float64 ranks can differ by 2^63."""
    magnitude = _magnitude(x).astype(np.longdouble)
    return np.where(_sign(x) == 1, -magnitude, magnitude)


def judge(module: str) -> Iterator[str]:
    """One line for each recorded case of ``module`` that the reference does not allow under ``tolerance``."""
    for case in cases(module):
        tolerance = case.kernel.tolerance
        answers = case.answers(tolerance.library_ulp)
        if set(answers) != set(case.expected):
            yield f"{case.kernel.name} {case.label}: wrote {sorted(answers)}, recorded {sorted(case.expected)}"
            continue
        for name, got in case.expected.items():
            distance = steps(got, answers[name])
            worst = int(distance.argmax())
            if distance[worst] > tolerance.ulp:
                value = answers[name].value[worst]
                found = f"{got[worst]} expected {value}, {distance[worst]} steps"
                yield f"{case.kernel.name} {case.label}: {name}[{worst}] {found}"
