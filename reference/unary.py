"""unary and unary1: ``out = f(x)`` and ``out = f(x, param)``, in Candle's order of operations and types.

Each row below is one op. ``Call`` rows hold one library function: ``argument`` makes its arguments, ``finish`` what
is left to do with its result, so that the result can also be tried ``library_ulp`` steps away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import ARITHMETIC, Arithmetic
from reference.exact import Wide, rounded_on_the_way, rounded_once
from reference.expected import Exact, Expected
from reference.result import contiguous
from reference.softmax import bounds
from reference.strided import bits, one_operand

Array = NDArray[Any]
Argument = Callable[[Arithmetic, Array, Array], tuple[Array, ...]]


def _plain_argument(a: Arithmetic, x: Array, param: Array) -> tuple[Array, ...]:
    return (x,)


def _plain_finish(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return result


@dataclass(frozen=True)
class Call:
    """One op around one call of the library function ``function``. ``unfused`` makes its arguments where the compiler
    does not fuse a product with the sum that it is added to, where that is its choice. ``better`` is another form of
    the same formula that loses no digits where Candle's does: it tells the true value, and a kernel may be written so.
    """

    function: str
    argument: Argument = _plain_argument
    finish: Callable[[Arithmetic, Array, Array, Array], Array] = _plain_finish
    unfused: Argument | None = None
    better: Call | None = None
    better_from: int = 1
    """The bytes of the narrowest type in which the better form shows."""


def _round(a: Arithmetic, x: Array) -> Array:
    whole = np.trunc(x)
    away = (np.abs(x - whole) >= 0.5).astype(x.dtype)
    rounded: Array = whole + np.copysign(away, x)
    return rounded


def _relu(a: Arithmetic, x: Array) -> Array:
    # The native types ignore a NaN, float16 and bfloat16 keep it.
    positive = np.where(x > 0, x, np.zeros_like(x))
    return np.where(np.isnan(x), x, positive) if a.nan_maximum else positive


def _sign(a: Arithmetic, x: Array) -> Array:
    return np.subtract(x > 0, x < 0, dtype=x.dtype)


def _negative(a: Arithmetic, x: Array, param: Array) -> tuple[Array, ...]:
    return (-x,)


def _gelu_argument(a: Arithmetic, x: Array, param: Array) -> tuple[Array, ...]:
    cube = a.mul(a.mul(x, x), x)
    return _gelu_scaled(a, a.fma(a.number(0.044715), cube, x))


def _gelu_unfused(a: Arithmetic, x: Array, param: Array) -> tuple[Array, ...]:
    cube = a.mul(a.mul(x, x), x)
    return _gelu_scaled(a, a.add(x, a.mul(a.number(0.044715), cube)))


def _gelu_scaled(a: Arithmetic, inner: Array) -> tuple[Array, ...]:
    return (a.mul(a.number(math.sqrt(2 / math.pi)), inner),)


def _gelu_finish(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return a.mul(a.mul(a.number(0.5), x), a.add(a.number(1), result))


def _gelu_by_sigmoid(a: Arithmetic, x: Array, param: Array) -> tuple[Array, ...]:
    """-2u for gelu's u, as a product, which rounds once more than Candle's sum: k x (1 + 0.044715 x^2)."""
    inner = a.add(a.number(1), a.mul(a.number(0.044715), a.mul(x, x)))
    return (-2 * a.mul(a.mul(a.number(math.sqrt(2 / math.pi)), x), inner),)


def _gelu_of_power(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    """x / (1 + exp(-2u)), which is x / 2 (1 + tanh u)."""
    return a.mul(x, a.div(a.number(1), a.add(a.number(1), result)))


def _gelu_erf(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return a.mul(x, result)


def _silu(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return a.div(x, a.add(a.number(1), result))


def _sigmoid(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return a.div(a.number(1), a.add(a.number(1), result))


def _elu(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return np.where(x > 0, x, a.mul(param, a.sub(result, a.number(1))))


def _elu_of_expm1(a: Arithmetic, x: Array, param: Array, result: Array) -> Array:
    return np.where(x > 0, x, a.mul(param, result))


def _both(a: Arithmetic, x: Array, param: Array) -> tuple[Array, ...]:
    return (x, param)


EXACT: dict[str, Callable[[Arithmetic, Array], Array]] = {
    "neg": lambda a, x: -x,
    "abs": lambda a, x: np.abs(x),
    "recip": lambda a, x: a.div(a.number(1), x),
    "ceil": lambda a, x: np.ceil(x),
    "floor": lambda a, x: np.floor(x),
    "round": _round,
    "sqr": lambda a, x: a.mul(x, x),
    "sqrt": lambda a, x: a.settle(np.sqrt(x)),
    "relu": _relu,
    "sign": _sign,
}

CALLS: dict[str, Call] = {
    **{name: Call(name) for name in ("exp", "log", "sin", "cos", "tanh", "erf", "normcdf")},
    "gelu": Call(
        "tanh", _gelu_argument, _gelu_finish, _gelu_unfused, better=Call("exp", _gelu_by_sigmoid, _gelu_of_power)
    ),
    "gelu_erf": Call("normcdf", finish=_gelu_erf),
    "silu": Call("exp", _negative, _silu),
    "sigmoid": Call("exp", _negative, _sigmoid),
    "elu": Call("exp", finish=_elu, better=Call("expm1", finish=_elu_of_expm1), better_from=4),
    "powf": Call("pow", _both),
}

_NO_PARAM = np.zeros(1)
Parts = tuple[Array, Array | None, Array | None]


@np.errstate(all="ignore")
def unary(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array | None,
    inp: Array | None,
    out: Array,
) -> dict[str, Expected]:
    """``inp`` null: in place, ``out`` is read and the layout ignored. ``copy`` moves bits and exists for integers."""
    x = one_operand(numel, num_dims, info, inp, out)
    op, dtype = variant["op"], variant["dtype"]
    if op == "copy":
        return {"out": contiguous(out, x)}
    if out.dtype.itemsize > 2:
        parts = _compute(op, ARITHMETIC[dtype], x, _NO_PARAM, library_ulp)
        return {"out": contiguous(out, *parts, _exact(op, dtype, x, _NO_PARAM))}
    index = bits(x)
    value, low, high = (None if part is None else part[index] for part in _table(op, dtype, library_ulp))
    assert value is not None
    return {"out": contiguous(out, value, low, high, _exact(op, dtype, x, _NO_PARAM))}


@np.errstate(all="ignore")
def unary1(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array | None,
    param: Any,
    inp: Array | None,
    out: Array,
) -> dict[str, Expected]:
    """As ``unary`` with a scalar ``param`` of the dtype: elu's alpha, powf's exponent."""
    x = one_operand(numel, num_dims, info, inp, out)
    a = ARITHMETIC[variant["dtype"]]
    scalar = a.load(np.asarray(param, dtype=out.dtype).reshape(1))
    parts = _compute(variant["op"], a, x, scalar, library_ulp)
    return {"out": contiguous(out, *parts, _exact(variant["op"], variant["dtype"], x, scalar))}


@cache
@np.errstate(all="ignore")
def _table(op: str, dtype: str, library_ulp: int) -> Parts:
    """The op on every bit pattern of an 8- or 16-bit type, in the order of the patterns."""
    a = ARITHMETIC[dtype]
    size = a.storage.itemsize
    patterns = np.arange(1 << (8 * size), dtype=f"u{size}").view(a.storage)
    return _compute(op, a, patterns, _NO_PARAM, library_ulp)


def _compute(op: str, a: Arithmetic, stored: Array, param: Array, library_ulp: int) -> Parts:
    x = a.load(stored)
    if op in EXACT:
        return a.store(EXACT[op](a, x)), None, None
    row = CALLS[op]
    called = a.call(row.function, row.argument(a, x, param), library_ulp)
    if row.unfused is not None:
        called += a.call(row.function, row.unfused(a, x, param), library_ulp)
    results = [row.finish(a, x, param, part) for part in called]
    value = results[0]
    if len(results) == 1:
        return a.store(value), None, None
    value, low, high = bounds(results)
    return a.store(value), a.store(low), a.store(high)


def _exact(op: str, dtype: str, stored: Array, param: Array) -> Exact | None:
    """The op over the reals. One without a function rounds once, if at all, and has no other value than that."""
    if op in EXACT:
        return None
    candles = CALLS[op]

    def of(row: Call, a: Wide) -> list[Array]:
        x, number = a.load(stored), param.astype(a.carrier)
        return [row.finish(a, x, number, part) for part in a.call(row.function, row.argument(a, x, number), 0)]

    better = candles.better if stored.dtype.itemsize >= candles.better_from else None

    def formula(a: Wide) -> list[Array]:
        return [*([] if better is None else rounded_on_the_way(a, partial(of, better))), *of(candles, a)]

    return rounded_once(dtype, formula)
