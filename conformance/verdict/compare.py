"""The verdict on one buffer: bit-equal, within the bound, or how far off and where.

Distances are of ordinals, which count representable steps: +0 is 0, the smallest positive subnormal 1, -0 is -1. The
distance of two ordinals is their distance in ulps, and infinity is one step beyond the largest finite value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import OUTPUT_POISON_BYTES, POISON_BYTE, Buffer
from conformance.dtypes import DType
from conformance.dtypes import dtype as dtype_of
from conformance.outcome import NO_EVIDENCE, Evidence
from reference.expected import Expected, Truth
from reference.rounding import rounded


@dataclass(frozen=True)
class Mismatch:
    """The worst element of a buffer that is not as expected.

    ``ulp`` is its distance in representable steps, ``None`` where there is no such thing (a NaN on one side).
    ``evidence`` is about all wrong elements.
    """

    why: str
    index: int
    got: str
    expected: str
    ulp: float | None
    evidence: Evidence = NO_EVIDENCE


@dataclass
class Margins:
    """How far elements lie from what was expected, in ulps: the largest distance with the bound that its element had,
    and the distance and bound of the right element that comes nearest to its bound."""

    largest: float = 0.0
    largest_bound: float | None = None
    nearest: float | None = None
    nearest_bound: float | None = None
    nearer_than_candle: bool = False
    """Whether an element is right only because it is as near to the true value as Candle's order of operations."""

    def note(self, steps: NDArray[np.float64], bounds: NDArray[np.float64]) -> None:
        """Take note of right elements that are not bit-equal: their distances and bounds, 1-D, both in ulp."""
        away = steps > 0
        steps, bounds = steps[away], bounds[away]
        if not steps.size:
            return
        far, near = int(np.argmax(steps)), int(np.argmax(steps / bounds))
        self.farther(float(steps[far]), float(bounds[far]))
        self.nearer(float(steps[near]), float(bounds[near]))

    def add(self, other: Margins) -> None:
        """Merge the margins of another buffer or case into these: the larger distance, the nearer element."""
        self.farther(other.largest, other.largest_bound)
        if other.nearest is not None and other.nearest_bound is not None:
            self.nearer(other.nearest, other.nearest_bound)

    def farther(self, steps: float, bound: float | None) -> None:
        """Keep this element where none was farther off."""
        if steps > self.largest:
            self.largest, self.largest_bound = steps, bound

    def nearer(self, steps: float, bound: float) -> None:
        """Keep this right element where none came nearer to its bound."""
        if self.nearest is None or self.nearest_bound is None or steps * self.nearest_bound > self.nearest * bound:
            self.nearest, self.nearest_bound = steps, bound


@dataclass(frozen=True)
class Wrong:
    """The wrong elements of a buffer: their indices, what they are and were to be, all of the buffer's dtype.

    ``untouched`` are those that had to keep their content, ``steps`` the distances in ulps, ``bounds`` the ordinals of
    the interval and of the value: (low, value, high) each.
    """

    at: NDArray[np.int64]
    got: NDArray[Any]
    expected: NDArray[Any]
    untouched: NDArray[np.bool_]
    steps: NDArray[np.float64]
    bounds: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def judge(
    name: str,
    got: NDArray[Any],
    expected: Expected,
    before: NDArray[Any],
    dtype: DType,
    ulp: int,
    margins: Margins | None = None,
) -> Mismatch | None:
    """Compare buffer ``name`` with what was expected.

    ``got``, ``expected.value`` and ``before`` (the content before the launch) are 1-D, of ``dtype`` and equal length.
    An element is right when it is bit-equal, when both are NaN, when it lies at most ``ulp`` steps outside [low, high]
    or between that and ``expected.exact``, or when it is as near to the true value as ``expected.value`` is, on either
    side. A zero keeps its sign: -0 for +0 is right only inside [low, high] itself, and a zero that is as near to the
    true value has that value's sign. Where ``expected.free`` says so any value is right. Elements that the reference
    leaves poisoned must be bit-equal, unless it says that they are written.
    Wrong integers have no distance, for many are indices. ``margins`` takes note of the distances and of the
    bounds next to them.
    """
    wrong = wrong_elements(got, expected, before, dtype, ulp, margins)
    if wrong is None:
        return None
    is_float = dtype.kind == "float"
    one_nan = is_nan(wrong.expected, dtype) | is_nan(wrong.got, dtype)
    worst = int(np.argmax(np.where(one_nan, np.inf, wrong.steps)))
    no_distance = bool(one_nan[worst]) or not is_float
    if wrong.untouched[worst]:
        rule = "this element must not be touched"
    elif one_nan[worst]:
        rule = "NaN equals only NaN"
    elif is_float:
        low, value, high = (int(bound[worst]) for bound in wrong.bounds)
        rule = f"{wrong.steps[worst]:.0f} ulp off, {_allowed(low, value, high, ulp)}"
    else:
        rule = "must be equal"
    if is_float and {int(wrong.bounds[1][worst]), int(ordinals(wrong.got[[worst]], dtype)[0])} == {0, -1}:
        rule += ": the sign of zero was lost"
    index = int(wrong.at[worst])
    why = f"{name}[{index}] {rule}; {wrong.at.size} of {got.size} elements wrong"
    distance_of_worst = None if no_distance else float(wrong.steps[worst])
    if margins is not None and distance_of_worst is not None:
        margins.farther(distance_of_worst, None)
    return Mismatch(why, index, show(wrong.got[worst], dtype), show(wrong.expected[worst], dtype), distance_of_worst)


def judge_argument(
    argument: Buffer, content: NDArray[Any], expected: Expected, ulp: int, margins: Margins | None = None
) -> Mismatch | None:
    """``judge`` of the whole ``content`` of an argument's buffer, from the address on that the kernel gets."""
    got, before = content[argument.start :], argument.data[argument.start :]
    return judge(argument.name, got, expected, before, dtype_of(argument.dtype), ulp, margins)


def wrong_elements(
    got: NDArray[Any], expected: Expected, before: NDArray[Any], dtype: DType, ulp: int, margins: Margins | None = None
) -> Wrong | None:
    """The elements that ``judge`` calls wrong, ``None`` where there is none."""
    value_bits, got_bits = expected.value.view(dtype.bits), got.view(dtype.bits)
    differs = got_bits != value_bits
    if not differs.any():
        return None
    at = np.flatnonzero(differs)
    value, actual = expected.value[at], got[at]
    nan_value, nan_actual = is_nan(value, dtype), is_nan(actual, dtype)
    untouched = (value_bits[at] == before.view(dtype.bits)[at]) & is_poison(value_bits[at], dtype)
    if expected.written is not None:
        untouched &= ~expected.written[at]
    right_nan = nan_value & nan_actual & ~untouched
    value_ord, actual_ord = ordinals(value, dtype), ordinals(actual, dtype)
    low = value_ord if expected.low is None else np.minimum(ordinals(expected.low[at], dtype), value_ord)
    high = value_ord if expected.high is None else np.maximum(ordinals(expected.high[at], dtype), value_ord)
    steps = distance(actual_ord, value_ord)
    inside = (actual_ord >= low) & (actual_ord <= high)
    near = (actual_ord >= low - ulp) & (actual_ord <= high + ulp)
    if dtype.kind == "float":
        near &= ~((value_ord + actual_ord == -1) & ((value_ord == 0) | (value_ord == -1)))
    right = right_nan | ((inside | near) & ~untouched & ~nan_value & ~nan_actual)
    if expected.exact is not None and not right.all():
        truth = expected.exact()
        low, high, known = _towards_exact(truth, at, low, high, nan_value, dtype)
        nearer = known & (actual_ord >= low) & (actual_ord <= high)
        least, most = _as_near(truth, expected, at, dtype)
        is_zero_of_other_sign = (np.abs(2 * actual_ord + 1) == 1) & ((actual_ord < 0) != np.signbit(truth.value[at]))
        nearer |= (actual_ord >= least) & (actual_ord <= most) & ~is_zero_of_other_sign
        low, high = np.minimum(low, least), np.maximum(high, most)
        nearer &= ~right & ~untouched & ~nan_actual
        right |= nearer
        if margins is not None:
            margins.nearer_than_candle |= bool(nearer.any())
    compared = right & ~right_nan & ~nan_value
    if expected.free is not None:
        right |= expected.free[at] & ~untouched & ~is_poison(got_bits[at], dtype)
    if margins is not None and compared.any():
        allowed = distance(value_ord, np.where(actual_ord < value_ord, low, high)) + ulp
        margins.note(steps[compared], allowed[compared])
    if right.all():
        return None
    bad = np.flatnonzero(~right)
    bounds = (low[bad], value_ord[bad], high[bad])
    return Wrong(at[bad], actual[bad], value[bad], untouched[bad], steps[bad], bounds)


def _towards_exact(
    truth: Truth,
    at: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    nan: NDArray[np.bool_],
    dtype: DType,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """The interval of the elements ``at`` with what lies between it and the true value, and where there is one.

    Where Candle's order of operations makes a NaN (``nan``) of what is a number it is that number alone.
    """
    ends = [end[at] for end in (truth.least, truth.most)]
    known = ~is_nan(ends[0], dtype) & ~is_nan(ends[1], dtype)
    least, most = (ordinals(end, dtype) for end in ends)
    low = np.where(known, np.where(nan, least, np.minimum(low, least)), low)
    high = np.where(known, np.where(nan, most, np.maximum(high, most)), high)
    return low, high, known


def right_range(expected: Expected, dtype: DType) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ordinals of the least and the greatest number that is right, of all elements of a float ``dtype``, before the
    bound of the spec is added to either; where nothing but NaN is right they say nothing."""
    value = ordinals(expected.value, dtype)
    low = value if expected.low is None else np.minimum(value, ordinals(expected.low, dtype))
    high = value if expected.high is None else np.maximum(value, ordinals(expected.high, dtype))
    if expected.exact is None:
        return low, high
    truth, at = expected.exact(), np.arange(value.size)
    low, high, _ = _towards_exact(truth, at, low, high, is_nan(expected.value, dtype), dtype)
    least, most = _as_near(truth, expected, at, dtype)
    return np.minimum(low, least), np.maximum(high, most)


def _as_near(
    truth: Truth, expected: Expected, at: NDArray[np.int64], dtype: DType
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ordinals of the least and the greatest number that is as near to the true value as Candle's own answer, of
    the elements ``at``; an empty range where either is not known or not finite."""
    exact = truth.value[at]
    with np.errstate(invalid="ignore"):
        error = np.abs(expected.value[at].astype(np.float64).astype(np.longdouble) - exact)
    known = np.isfinite(error)
    exact, error = np.where(known, exact, 0), np.where(known, error, 0)
    least, most = (_inward(exact + side * error, side, dtype) for side in (-1, 1))
    ends = np.iinfo(np.int64)
    return np.where(known, least, ends.max), np.where(known, most, ends.min)


def _inward(x: NDArray[np.longdouble], side: int, dtype: DType) -> NDArray[np.int64]:
    """The ordinals of the numbers of ``dtype`` next to ``x``: at least that for the lower ``side`` of a range (-1), at
    most that for the upper one (1)."""
    largest = np.array([dtype.floating.largest], dtype.bits).view(dtype.numpy).astype(np.float64)[0]
    inside = np.clip(x, -largest, largest)
    nearest = rounded(inside, dtype.numpy)
    return np.asarray(ordinals(nearest, dtype) - side * (side * (nearest.astype(np.float64) - inside) > 0))


def is_poison(bits: NDArray[Any], dtype: DType) -> NDArray[np.bool_]:
    """Which elements, given as unsigned integers of ``dtype``'s size, hold what outputs hold before a launch."""
    bytes_ = (POISON_BYTE, *OUTPUT_POISON_BYTES)
    known = [int.from_bytes(bytes([byte]) * dtype.size, "little") for byte in bytes_]
    return np.isin(bits, np.array(known, bits.dtype))


def _allowed(low: int, value: int, high: int, ulp: int) -> str:
    below, above = value - low + ulp, high - value + ulp
    if below == above:
        return f"{above} allowed"
    return f"{below} below and {above} above allowed"


def show(value: Any, dtype: DType) -> str:
    """``value`` of ``dtype`` in decimal with its bits, as failures show it: ``0.1 (0x3dcccccd)``."""
    bits = int(np.asarray(value).view(dtype.bits))
    text = repr(float(value)) if dtype.kind == "float" else str(int(value))
    return f"{text} (0x{bits:0{2 * dtype.size}x})"


def is_nan(values: NDArray[Any], dtype: DType) -> NDArray[np.bool_]:
    """Which elements of ``values`` (of ``dtype``) are NaN, by bit pattern; all false for integers."""
    if dtype.format is None:
        return np.zeros(values.shape, np.bool_)
    bits = values.view(dtype.bits)
    sign = 1 << (8 * dtype.size - 1)
    if dtype.format.unsigned_zero:
        return np.asarray(bits == sign)
    magnitude = bits & dtype.bits.type(sign - 1)
    return np.asarray(magnitude >= dtype.bits.type(dtype.format.smallest_nan))


def ordinals(values: NDArray[Any], dtype: DType) -> NDArray[np.int64]:
    """The place of each of ``values`` among all numbers of ``dtype``, in ascending order: int64, one apart for
    neighbours, so that differences are ulp; -0 is one below +0. Integers are their own (u64 wraps)."""
    if dtype.kind != "float":
        return np.asarray(values.astype(np.int64))
    width = 8 * dtype.size
    bits = values.view(dtype.bits).astype(np.uint64)
    magnitude = (bits & np.uint64((1 << (width - 1)) - 1)).astype(np.int64)
    negative = (bits >> np.uint64(width - 1)).astype(np.bool_)
    return np.where(negative, -1 - magnitude, magnitude)


def distance(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """|left - right| without overflow: exact up to 2**53, rounded beyond."""
    same_sign = (left < 0) == (right < 0)
    near = np.abs(np.where(same_sign, left - right, 0)).astype(np.float64)
    far = np.abs(left.astype(np.float64) - right.astype(np.float64))
    return np.where(same_sign, near, far)
