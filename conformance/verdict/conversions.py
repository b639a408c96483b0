"""How casts and formulas round and convert: other ways that explain what a kernel has written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Scalar
from conformance.cases.specials import integer_limits
from conformance.dtypes import DType
from conformance.verdict.compare import is_nan, ordinals
from conformance.verdict.wrong_elements import WrongBuffer
from reference.arithmetic import ARITHMETIC
from reference.rounding import rounded


def _source(buffer: WrongBuffer) -> NDArray[np.float64] | None:
    """What was to be converted, exactly, at the wrong elements; ``None`` where that is not known."""
    if len(buffer.operands) != 1:
        return None
    operand = buffer.operands[0]
    if operand.dtype.size == 8 and operand.dtype.kind != "float":
        return None  # not exact in float64
    return operand.values.astype(np.float64)


def _rounded(values: NDArray[np.float64], kind: DType) -> NDArray[Any]:
    arithmetic = ARITHMETIC[kind.name]
    if kind.floating.computes == "f32":
        return arithmetic.store(values.astype(np.float32))
    return rounded(values, kind.numpy)


def _truncated(buffer: WrongBuffer) -> bool:
    """Whether what is lost was cut off; NaN aside, whose payload may be cut to that of an infinity."""
    source, kind = _source(buffer), buffer.dtype
    if source is None or not buffer.elements.is_float:
        return False
    got = ordinals(buffer.elements.wrong.got, kind)
    right = np.isnan(source)
    for values in (source, source.astype(np.float32).astype(np.float64)):
        nearest = _rounded(values, kind)
        order = ordinals(nearest, kind)
        beyond = np.abs(nearest.astype(np.float64)) > np.abs(values)
        right = right | (got == np.where(beyond, np.where(order < 0, order + 1, order - 1), order))
    return bool(right.all()) and not bool(np.isnan(source).all())


def _through_f32(buffer: WrongBuffer) -> bool:
    source, kind = _source(buffer), buffer.dtype
    if source is None or not buffer.elements.is_float:
        return False
    twice = _rounded(source.astype(np.float32).astype(np.float64), kind)
    return equal(buffer.elements.wrong.got, twice, kind)


def _ties(buffer: WrongBuffer) -> bool:
    """Whether every wrong element was to be rounded from halfway between what is there and what was expected."""
    source, e = _source(buffer), buffer.elements
    if source is None or not e.is_float:
        return False
    return bool((np.abs(source - e.got) == np.abs(source - e.expected)).all())


def out_of_range(buffer: WrongBuffer) -> bool:
    """Whether every wrong element comes from a NaN or from a number whose integer part the type cannot hold."""
    source, kind = _source(buffer), buffer.dtype
    if source is None or not kind.is_integer or buffer.operands[0].dtype.kind != "float":
        return False
    low, high = integer_limits(kind)
    whole = np.trunc(source)
    return bool((np.isnan(source) | (whole < low) | (whole >= high + 1)).all())


def _low_bits(buffer: WrongBuffer) -> bool:
    """Whether every wrong element is what the lowest bits of the integer part are."""
    source, kind = _source(buffer), buffer.dtype
    if source is None or not kind.is_integer or not np.isfinite(source).all() or kind.size == 8:
        return False
    whole = np.fmod(np.trunc(source), 2.0 ** (8 * kind.size)).astype(np.int64)
    return bool((whole.astype(kind.bits) == buffer.elements.wrong.got.view(kind.bits)).all())


def _two_roundings(buffer: WrongBuffer) -> bool:
    """Whether product and sum were rounded each: no fused multiply and add."""
    kind = buffer.dtype
    if kind.name not in ARITHMETIC or len(buffer.operands) != 1:
        return False
    scalars = {arg.name: arg.value for arg in buffer.launch.args if isinstance(arg, Scalar)}
    a = ARITHMETIC[kind.name]
    factor, term = (np.asarray(scalars[name], kind.numpy).reshape(1) for name in ("mul", "add"))
    twice = a.store(a.add(a.mul(a.load(buffer.operands[0].values), a.load(factor)), a.load(term)))
    return equal(buffer.elements.wrong.got, twice, kind)


def equal(got: NDArray[Any], other: NDArray[Any], kind: DType) -> bool:
    """Whether each element has the same bits, or both are NaN."""
    same = (got.view(kind.bits) == other.view(kind.bits)) | (is_nan(got, kind) & is_nan(other, kind))
    return bool(same.all())


CONVERSIONS: tuple[tuple[str, tuple[str, ...], Callable[[WrongBuffer], bool]], ...] = (
    ("truncated", ("cast",), _truncated),
    ("rounded to float first", ("cast",), _through_f32),
    ("halfway between", ("cast",), _ties),
    ("source out of range", ("cast",), out_of_range),
    ("low bits of the source", ("cast",), _low_bits),
    ("product and sum rounded each", ("affine",), _two_roundings),
)
"""Name, launch families, and whether it holds for all wrong elements."""
