"""What holds for all wrong elements of a buffer together: a mistake that explains them, where they lie, their operands.

Computed of failures only, where the verdict is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Launch
from conformance.dtypes import dtype
from conformance.verdict.compare import is_nan, judge
from conformance.verdict.conversions import CONVERSIONS, equal
from conformance.verdict.cpu_backend import CPU_BACKEND
from conformance.verdict.mistakes import INFO, mistakes
from conformance.verdict.operands import Operand
from conformance.verdict.references import evaluate
from conformance.verdict.wrong_elements import WrongBuffer
from reference.expected import Expected

_FILLS = (0x7B, 0xC2)
"""Bytes of which a float is far from others, so that it shows in a sum."""

PACK = 16
"""Elements that a vectorised kernel takes at a time, at most."""

_SINGLE = 2.0**-20
"""What computing in float32 leaves as a relative error, at most."""

_SOME_SINGLE = 2.0**-30
"""What it leaves somewhere: a computation whose errors are all smaller is of more digits."""

_CANCELLING = 8
"""Units of the operand's last place: what subtracting near values leaves as an error."""

_NEAR_1 = 0.02
"""How far a factor is from 1 at most of which rounding may hide a part."""

_SPREAD = 3
"""Units of the last place by which answers that are off by one factor may differ from that."""

SCALED_BY = "off by 1 and "
"""How what holds of answers begins that are all off by one factor near 1: what follows is how far from 1 it is."""

_GELUS = {"gelu": "gelu_erf", "gelu_erf": "gelu"}
"""Each with the one that it is mistaken for."""

_WAVE = 64
_FEW = 8
"""Elements of which too much may hold by chance."""


def answers(buffer: WrongBuffer) -> tuple[str, ...]:
    """The names of everything that holds for all wrong elements of ``buffer``."""
    found: list[str] = []
    with np.errstate(all="ignore"):
        found += (name for name in _made_mistakes(buffer))
        found += _position(buffer)
        found += (name for name, holds in _WHOLE if holds(buffer))
        found += _factor(buffer)
        found += _scaled(buffer)
        bits = buffer.dtype.bits
        wrong = buffer.elements.wrong
        found += _lane_mistakes(buffer.launch, wrong.at, wrong.got.view(bits), buffer.expected.value.view(bits))
        known = bool(buffer.operands) or buffer.rows is not None
        found += ["NaN only from NaN"] if known and _rule_for_nan(buffer) else []
        found += (name for name, holds in _OPERANDS if buffer.operands and holds(buffer))
        found += (name for name, holds in _ROWS if buffer.rows is not None and holds(buffer.rows))
        found += _of_the_row(buffer)
        family = buffer.kernel.launch
        found += (
            name for name, families, holds in (*CONVERSIONS, *CPU_BACKEND) if family in families and holds(buffer)
        )
    return tuple(found)


def _made_mistakes(buffer: WrongBuffer) -> Iterator[str]:
    """The mistakes with which the reference gives just what the kernel has written."""
    return (name for name, arguments in mistakes(buffer.kernel, buffer.launch) if _explains(buffer, arguments))


def _explains(buffer: WrongBuffer, arguments: Callable[[], dict[str, Any]]) -> bool:
    """Whether what the reference answers to ``arguments`` is what stands in ``buffer``."""
    kernel = buffer.kernel

    def answer(given: dict[str, Any]) -> Expected:
        return evaluate(kernel, given)[buffer.name]

    try:
        given = arguments()
        try:
            expected = answer(given)
        except (ValueError, IndexError):  # an element behind an operand's last: whatever is there
            expected = _where_known(buffer, [answer(_longer(buffer, given, fill)) for fill in _FILLS])
        mismatch = judge(buffer.name, buffer.got, expected, buffer.before, buffer.dtype, kernel.tolerance.ulp)
    except Exception:
        return False  # with that mistake the launch has no answer
    return mismatch is None


def _longer(buffer: WrongBuffer, given: dict[str, Any], fill: int) -> dict[str, Any]:
    """``given`` with operands that go on behind their last element, with bytes of ``fill``."""
    operands = [arg.name for arg in buffer.launch.args if isinstance(arg, Buffer) and arg.role == "in"]
    longer = {}
    for name in operands:
        array: NDArray[Any] = given[name]
        if array is not None and name not in INFO:
            rest = np.full(buffer.got.size * array.itemsize, fill, np.uint8).view(array.dtype)
            longer[name] = np.concatenate([array, rest])
    return {**given, **longer}


def _where_known(buffer: WrongBuffer, answers: list[Expected]) -> Expected:
    """The first of two answers; where they differ nothing is known of an element, and what is there is taken."""
    bits = buffer.dtype.bits
    first, second = answers
    unknown = first.value.view(bits) != second.value.view(bits)
    if unknown[buffer.elements.wrong.at].all():
        raise ValueError("it says nothing of any wrong element")
    return Expected(np.where(unknown, buffer.got, first.value), first.low, first.high)


def _position(buffer: WrongBuffer) -> Iterator[str]:
    """Where the wrong elements lie, if they are everything that is written from some element on."""
    bits = buffer.dtype.bits
    written = np.flatnonzero(buffer.expected.value.view(bits) != buffer.before.view(bits))
    at = buffer.elements.wrong.at
    first = int(at[0])
    if buffer.elements.wrong.untouched.any() or not np.array_equal(at, written[written >= first]):
        return
    grid, block = buffer.launch.grid, buffer.launch.block
    threads = int(np.prod(grid)) * int(np.prod(block))
    if at.size == written.size:
        yield "all elements"
    elif first == threads:
        yield "from the number of threads on"
    elif first in (1 << 15, 1 << 16):
        yield f"from element {first} on"
    if at.size < PACK:
        yield "last elements"


def _lane_mistakes(launch: Launch, at: NDArray[np.intp], got: NDArray[Any], expected: NDArray[Any]) -> Iterator[str]:
    """Names of what holds for the elements ``at`` with the bits ``got``; ``expected`` has those of the whole buffer.

    Empty for blocks that are not whole waves of 64.
    """
    if at.size < _FEW or int(np.prod(launch.block)) % _WAVE:
        return
    upper = at % _WAVE >= _WAVE // 2
    if upper.all() and 2 * at.size > np.count_nonzero(np.arange(expected.size) % _WAVE >= _WAVE // 2):
        yield "lanes 32 to 63"
    if got.itemsize > 1 and got.all() and np.unique(expected).size > expected.size // 2:
        waves = np.resize(expected, -(-expected.size // _WAVE) * _WAVE).reshape(-1, _WAVE)
        if (waves[at // _WAVE] == got[:, None]).any(axis=1).all():
            yield "value of another lane"


def _shifted(buffer: WrongBuffer, by: int) -> bool:
    """Whether each wrong element has what was expected of the element ``by`` further on, and they are of several
    values, as an element or two may have by chance."""
    at = buffer.elements.wrong.at
    bits = buffer.dtype.bits
    there = at + by
    inside = (there >= 0) & (there < buffer.got.size)
    if np.count_nonzero(inside) < max(2, at.size - 1):
        return False
    got, expected = buffer.got[at[inside]], buffer.expected.value[there[inside]]
    both_nan = is_nan(got, buffer.dtype) & is_nan(expected, buffer.dtype)
    several = np.unique(got.view(bits)[~both_nan]).size > 1
    return several and bool(((got.view(bits) == expected.view(bits)) | both_nan).all())


def _permuted(buffer: WrongBuffer) -> bool:
    bits = buffer.dtype.bits
    wrong = buffer.elements.wrong
    got, expected = (np.sort(values.view(bits)) for values in (wrong.got, wrong.expected))
    return wrong.at.size > 1 and bool((got == expected).all())


def _factor(buffer: WrongBuffer) -> Iterator[str]:
    """The one factor by which the wrong elements are off, but for -1, which is another sign; numbers at the ends of the
    range may not show it."""
    e = buffer.elements
    ratio = e.got / e.expected
    least = e.least_normal if e.is_float else 1.0
    usable = np.isfinite(ratio) & (np.abs(e.got) >= least) & (np.abs(e.expected) >= least)
    ends = [np.isinf(values) | (np.abs(values) < least) for values in (e.got, e.expected)]
    if not usable.any() or not (usable | ends[0] | ends[1]).all() or (e.nan_got != e.nan_expected).any():
        return
    middle = float(np.median(ratio[usable]))
    precision = 2.0 ** -(e.dtype.floating.mantissa if e.is_float else 6)
    if abs(abs(middle) - 1) > _NEAR_1 and bool((np.abs(ratio[usable] / middle - 1) <= 4 * precision).all()):
        yield f"factor {middle:.3g}"


def _scaled(buffer: WrongBuffer) -> Iterator[str]:
    """The one factor near 1 by which all that is written is off, right elements too, where that is more than what
    rounding and a library function leave."""
    e = buffer.elements
    if not e.is_float:
        return
    bits, unit = buffer.dtype.bits, 2.0**-e.dtype.floating.mantissa
    written = buffer.expected.value.view(bits) != buffer.before.view(bits)
    got, expected = (values[written].astype(np.float64) for values in (buffer.got, buffer.expected.value))
    usable = np.isfinite(got) & np.isfinite(expected) & (np.minimum(np.abs(got), np.abs(expected)) >= e.least_normal)
    off = got[usable] / expected[usable] - 1
    if not off.size:
        return
    middle, spread = float(np.median(off)), _SPREAD * unit
    if 2 * spread < abs(middle) <= _NEAR_1 and bool((np.abs(off - middle) <= spread).all()):
        yield f"{SCALED_BY}{middle:.3g}"


def _cancelled(buffer: WrongBuffer) -> bool:
    """Whether each error is small against the operand, though not against the result."""
    e = buffer.elements
    if not e.is_float or len(buffer.operands) != 1:
        return False
    unit = 2.0**-e.dtype.floating.mantissa
    operand = np.abs(buffer.operands[0].values.astype(np.float64))
    return bool((np.abs(e.got - e.expected) <= _CANCELLING * unit * operand).all())


def _relative_to_operands(buffer: WrongBuffer) -> NDArray[np.float64]:
    """The errors, relative to the result or an operand, whichever is largest."""
    e = buffer.elements
    operands = [np.abs(operand.values.astype(np.float64)) for operand in buffer.operands]
    return np.asarray(np.abs(e.got - e.expected) / np.max([np.abs(e.expected), *operands], axis=0))


def _single(buffer: WrongBuffer) -> bool:
    """Whether each error is what a computation in float32 leaves, and some are not smaller than that."""
    errors = _relative_to_operands(buffer) if buffer.dtype.name == "f64" else np.ones(1)
    return bool((errors <= _SINGLE).all() and (errors > _SOME_SINGLE).any())


def _short(buffer: WrongBuffer) -> bool:
    """Whether all errors are smaller than those of float32, and some larger than what cancelling digits leaves."""
    errors = _relative_to_operands(buffer) if buffer.dtype.name == "f64" else np.ones(1)
    return bool((errors <= _SOME_SINGLE).all() and (errors > _CANCELLING * 2.0**-52).any())


def _otherwise(buffer: WrongBuffer, **other: str) -> NDArray[Any] | None:
    """What the formula of another variant of the kernel, such as ``dtype``, gives at the wrong elements; ``None`` where
    there is none."""
    e, kernel = buffer.elements, buffer.kernel
    kind = dtype(other.get("dtype", e.dtype.name)).numpy
    if not e.is_float or kernel.variant.get("dtype") != e.dtype.name or kernel.variant.items() >= other.items():
        return None
    given = {
        name: value.astype(kind) if value is not None and value.dtype == e.dtype.numpy else value
        for name, value in buffer.launch.reference_arguments().items()
    }
    try:
        found = evaluate(kernel, given, {**kernel.variant, **other})[buffer.name]
    except Exception:
        return None  # the family has no such formula
    return np.asarray(found.value[e.wrong.at])


def _nan_as_in_f32(buffer: WrongBuffer) -> bool:
    """Whether a NaN is missing, or has come, at every wrong element, and float32's formula of the operands, of which
    some are NaN, gives what is there."""
    e = buffer.elements
    inputs = [arg for arg in buffer.launch.args if isinstance(arg, Buffer) and arg.dtype == e.dtype.name]
    if e.dtype.size != 2 or not (e.nan_got != e.nan_expected).all():
        return False
    found = _otherwise(buffer, dtype="f32") if any(is_nan(arg.data, e.dtype).any() for arg in inputs) else None
    return found is not None and equal(e.wrong.got, found.astype(e.dtype.numpy), e.dtype)


def _rounded_twice(buffer: WrongBuffer) -> bool:
    """Whether the formula's value, as float32 has it, lies halfway between each wrong element and the expected one, and
    goes to the wrong one: float64 may be halfway as well, where digits are far apart."""
    e, found = buffer.elements, _otherwise(buffer, dtype="f64") if buffer.dtype.size == 2 else None
    if found is None:
        return False
    once = found.astype(np.float32)
    halfway = np.abs(once - e.got) == np.abs(once - e.expected)
    return bool(halfway.all()) and equal(e.wrong.got, once.astype(e.dtype.numpy), e.dtype)


def _other_gelu(buffer: WrongBuffer) -> bool:
    """Whether each wrong element is what the other GELU gives, to a few units of the operand, of which digits may
    cancel, or in 16 bits, where float leaves enough, of the result; and one of them is far from the own GELU."""
    e, op = buffer.elements, buffer.kernel.variant.get("op", "")
    found = _otherwise(buffer, op=_GELUS[op]) if op in _GELUS else None
    if found is None or not buffer.operands:
        return False
    error = np.abs(found.astype(np.float64) - e.got)
    scale = e.got if e.dtype.size == 2 else buffer.operands[0].values.astype(np.float64)
    unit = 2.0**-e.dtype.floating.mantissa * np.abs(scale) + e.least_normal
    near = (error <= _CANCELLING * unit) | (np.isnan(found.astype(np.float64)) & e.nan_got)
    return bool(near.all() and (np.abs(e.got - e.expected) > 4 * _CANCELLING * unit).any())


def _ends_of_8_bits(buffer: WrongBuffer) -> bool:
    """Whether an 8-bit float was to be 0 wherever another number stands, or the largest one where a NaN stands."""
    e = buffer.elements
    at_end = np.where(e.nan_got, e.at_limit(e.wrong.expected), e.expected == 0)
    return buffer.dtype.name == "f8e4m3" and bool(at_end.all())


def _step_towards_zero(buffer: WrongBuffer) -> bool:
    """Whether every wrong element is the next float towards 0, including 0."""
    e = buffer.elements
    smaller = np.abs(e.got) < np.abs(e.expected)
    return e.is_float and bool((smaller & (e.wrong.steps == 1)).all())


def _over_all_rows(buffer: WrongBuffer) -> bool:
    """Whether every index counts from the first element of the first row, not from that of its own."""
    if buffer.kernel.variant.get("op") not in ("argmin", "argmax"):
        return False
    wrong, length = buffer.elements.wrong, int(buffer.launch.reference_arguments()["el_to_sum_per_block"])
    return bool((wrong.got.astype(np.int64) == wrong.expected.astype(np.int64) + wrong.at * length).all())


_WHOLE: tuple[tuple[str, Callable[[WrongBuffer], bool]], ...] = (
    ("value of the next element", lambda b: _shifted(b, 1)),
    ("value of the element before", lambda b: _shifted(b, -1)),
    ("other order", _permuted),
    ("index over all rows", _over_all_rows),
    ("next float towards zero", _step_towards_zero),
    ("ends of 8-bit floats", _ends_of_8_bits),
    ("precision of f32", _single),
    ("fewer digits than f64", _short),
    ("rounded to float first", _rounded_twice),
    ("NaN by the rule of f32", _nan_as_in_f32),
    ("the other GELU", _other_gelu),
    ("error small against the operand", _cancelled),
)


def _of_the_row(buffer: WrongBuffer) -> Iterator[str]:
    """Whether every wrong maximum or minimum is another value of its row, or none: what the search started from."""
    if buffer.rows is None or buffer.kernel.variant.get("op") not in ("max", "min"):
        return
    got = buffer.elements.wrong.got.view(buffer.dtype.bits)[:, None]
    rows = buffer.rows.values.view(buffer.dtype.bits)
    if not (rows == got).any():
        yield "no value of the row"
    elif (rows[buffer.rows.places] == got).any(axis=1).all():
        yield "another value of the row"


def _each(test: Callable[[Operand], NDArray[np.bool_]]) -> Callable[[WrongBuffer], bool]:
    """Whether every wrong element has an operand that passes ``test``."""
    return lambda buffer: bool(np.any([test(operand) for operand in buffer.operands], axis=0).all())


def _nan(operand: Operand) -> NDArray[np.bool_]:
    return is_nan(operand.values, operand.dtype)


def _wide(operand: Operand) -> NDArray[np.float64]:
    return operand.values.astype(np.float64)


def _subnormal(operand: Operand) -> NDArray[np.bool_]:
    values = np.abs(_wide(operand))
    if operand.dtype.format is None:
        return np.zeros(values.shape, np.bool_)
    least = np.array([1 << operand.dtype.floating.mantissa], operand.dtype.bits).view(operand.dtype.numpy)
    return np.asarray((values != 0) & (values < float(least.astype(np.float64)[0])))


def _rule_for_nan(buffer: WrongBuffer) -> bool:
    """Whether a NaN is missing, or has come, only where an operand or the row has one; zeros aside."""
    e = buffer.elements
    changed = e.nan_got != e.nan_expected
    if not (changed | ((e.got == 0) & (e.expected == 0))).all():
        return False
    if buffer.rows is not None:
        of_row = np.asarray(_nan(buffer.rows).any(axis=1))
        return bool((of_row[buffer.rows.places] | ~changed).all())
    return bool((np.any([_nan(operand) for operand in buffer.operands], axis=0) | ~changed).all())


_OPERANDS: tuple[tuple[str, Callable[[WrongBuffer], bool]], ...] = (
    ("operand NaN", _each(_nan)),
    ("operand infinite", _each(lambda operand: np.isinf(_wide(operand)))),
    ("operand zero", _each(lambda operand: _wide(operand) == 0)),
    ("operand subnormal", _each(_subnormal)),
    ("operand negative", _each(lambda operand: _wide(operand) < 0)),
)

_ROWS: tuple[tuple[str, Callable[[Operand], bool]], ...] = (
    ("row with NaN", lambda rows: bool(_nan(rows).any(axis=1).all())),
    ("row of infinities", lambda rows: bool(np.isinf(_wide(rows)).all(axis=1).all())),
    ("row with infinities", lambda rows: bool(np.isinf(_wide(rows)).any(axis=1).all())),
)
