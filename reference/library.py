"""The library functions inside the kernels' formulas, computed in a wider type than the kernel's.

float32 (and narrower) functions are computed in float64, float64 functions in ``np.longdouble``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import errorfunction
from reference.rounding import rounded

Array = NDArray[Any]
LONG = np.dtype(np.longdouble)


@dataclass(frozen=True)
class Function:
    """``wide`` maps arrays of the wider type to an array of it.

    ``limit`` bounds the magnitude of every result. ``asymptotic`` says that the limit is approached for large
    arguments: where even the wider type gives the limit itself, no implementation gives anything else. ``documented``
    is the larger of CUDA's and HIP's bounds in steps of float32 and of float64, as the specs have them.
    """

    wide: Callable[..., Array]
    documented: dict[str, int]
    limit: float = np.inf
    asymptotic: bool = False


def _power(base: Array, exponent: Array) -> Array:
    """C99 pow. ``np.power`` turns a scalar exponent of 0.5 into sqrt, which differs at -0 and -inf; an array stays."""
    power: Array = np.power(base, np.broadcast_to(exponent, base.shape).copy())
    return power


def _steps(f32: int, f64: int) -> dict[str, int]:
    return {"float32": f32, "float64": f64}


FUNCTIONS: dict[str, Function] = {
    "exp": Function(np.exp, _steps(2, 1)),
    "log": Function(np.log, _steps(2, 1)),
    "sin": Function(np.sin, _steps(2, 1), 1.0),
    "cos": Function(np.cos, _steps(2, 1), 1.0),
    "tanh": Function(np.tanh, _steps(2, 1), 1.0, asymptotic=True),
    "erf": Function(errorfunction.erf, _steps(4, 4), 1.0, asymptotic=True),
    "normcdf": Function(errorfunction.normcdf, _steps(5, 5), 1.0, asymptotic=True),
    "pow": Function(_power, _steps(4, 2)),
    # Candle calls it nowhere. CUDA C++ Programming Guide, mathematical functions, and HIP math API: 1 in both types.
    "expm1": Function(np.expm1, _steps(1, 1)),
}


def call(name: str, arguments: tuple[Array, ...], kind: np.dtype[Any], ulp: int) -> list[Array]:
    """The function rounded to ``kind``; with ``ulp`` > 0 also ``ulp`` steps nearer to and farther from zero.

    ``arguments`` hold values of ``kind`` (in any wider type). A step never crosses zero or the function's limit. A
    result that the wider type has as an exact 0, as NaN, as an infinity or as the limit of an asymptotic function is
    left alone; one that overflows only on rounding to ``kind`` may step back only where it is within ``ulp`` steps of
    the largest number.
    """
    function = FUNCTIONS[name]
    wider = LONG if kind == np.float64 else np.dtype(np.float64)
    wide = function.wide(*(argument.astype(wider) for argument in arguments))
    value = rounded(wide, kind)
    if ulp == 0:
        return [value]
    unsigned = np.dtype(f"u{kind.itemsize}")
    pattern = value.view(unsigned)
    sign_bit = unsigned.type(1 << (8 * kind.itemsize - 1))
    sign, magnitude = pattern & sign_bit, (pattern & ~sign_bit).astype(np.int64)
    infinity, ceiling = (int(np.asarray([number], kind).view(unsigned)[0]) for number in (np.inf, function.limit))
    fixed = (wide == 0) | ~np.isfinite(wide)
    if function.asymptotic:
        fixed |= np.abs(wide) == function.limit
    largest = np.asarray([infinity - 1, infinity - 2], unsigned).view(kind).astype(wider)
    # Above this an overflow is beyond doubt.
    reach = largest[0] + ulp * (largest[0] - largest[1])
    fixed |= np.isinf(value.astype(np.float64)) & (np.abs(wide) > reach)
    steps = np.where(fixed, 0, ulp)
    lower = np.maximum(magnitude - steps, 0)
    upper = np.where(fixed, magnitude, np.minimum(magnitude + steps, ceiling))
    return [value, *((part.astype(unsigned) | sign).view(kind) for part in (lower, upper))]
