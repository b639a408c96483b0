"""Row patterns that reductions and sorts may get wrong, written over random data: the field ``mark`` of a case id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.values import scalar
from conformance.dtypes import DType

Array = NDArray[Any]
RowPattern = Callable[[Array, DType], None]


def _put(value: float, *columns: int | slice) -> RowPattern:
    """``value`` in some columns of every row; one behind the last is the last."""

    def write(rows: Array, _: DType) -> None:
        for column in columns:
            rows[:, column if isinstance(column, slice) else min(column, rows.shape[1] - 1)] = value

    return write


def _equal(rows: Array, kind: DType) -> None:
    rows.view(kind.bits)[...] = rows.view(kind.bits)[:, :1]


def _zeros(rows: Array, _: DType) -> None:
    """Zeros of both signs; the first row has +0 only in the middle, the second one only -0."""
    rows[...] = 0.0
    rows[:2] = -0.0
    rows[:1, rows.shape[1] // 2] = 0.0
    rows[2:, rows.shape[1] // 3] = -0.0


def _high(rows: Array, kind: DType) -> None:
    """Negative numbers, or for unsigned types the upper half: nothing near 0."""
    bits = rows.view(kind.bits)
    bits |= kind.bits.type(1 << (8 * kind.size - 1))
    if kind.kind == "int":
        rows[rows == rows.dtype.type(-(1 << (8 * kind.size - 1)))] = -1


def _limit(upper: bool) -> RowPattern:
    """The finite limit of the type in every place."""

    def write(rows: Array, kind: DType) -> None:
        rows[...] = scalar(kind.name, "max" if upper else "min")

    return write


def _ends(rows: Array, kind: DType) -> None:
    """The finite limits of the type in the last two places, the greatest in the last."""
    for place, text in ((-2, "min"), (-1, "max")):
        rows[:, place:][:, :1] = scalar(kind.name, text)


def _spread(rows: Array, kind: DType) -> None:
    """The finite limits of the type once each in every row, at the first column of another part of it in each."""
    row = np.arange(len(rows))
    part = rows.shape[1] // len(rows)
    least = scalar(kind.name, "min")
    rows[rows == least] = 1
    rows[row, row * part] = scalar(kind.name, "max")
    rows[row, np.roll(row, 1) * part] = least


def _without_nan(rows: Array, _: DType) -> None:
    with np.errstate(invalid="ignore"):
        rows[np.isnan(rows.astype(np.float64))] = 1.0


def _near(value: float) -> RowPattern:
    """The numbers as they are around 0, around ``value``."""

    def write(rows: Array, kind: DType) -> None:
        rows[...] = (rows.astype(np.float64) + value).astype(kind.numpy)

    return write


def _infinities(rows: Array, _: DType) -> None:
    """Infinities of both signs, between numbers."""
    rows[:, 1::4] = np.inf
    rows[:, 3::4] = -np.inf


def _sparse(rows: Array, _: DType) -> None:
    """Numbers in some 60 columns of each row, 0 elsewhere: few enough that values=ties add up exactly in bfloat16."""
    count = rows.shape[1]
    kept = np.zeros(count, np.bool_)
    kept[np.linspace(0, count - 1, 60).astype(np.int64)] = True
    rows[:, ~kept] = 0.0
    met = rows[:, kept]
    rows[:, kept] = np.where(met == 0, rows.dtype.type(1), met)


_FLOAT_PATTERNS: dict[str, RowPattern] = {
    "nan_first": _put(np.nan, 0),
    "nan_later": _put(np.nan, 5, 1029),
    "nan_last": _put(np.nan, 1 << 30),
    "nan": _put(np.nan, slice(None)),
    "minus_inf": _put(-np.inf, slice(None)),
    "plus_inf": _put(np.inf, slice(None)),
    "one_inf": _put(np.inf, 2),
    "masked": _put(-np.inf, slice(1, None, 3)),
    "infinities": _infinities,
    "zeros": _zeros,
    "no_nan": _without_nan,
    "offset": _near(30),  # squares whose mean is far greater than the variance
    "far_below": _near(-200),
    "sparse": _sparse,
}

_PATTERNS: dict[str, RowPattern] = {
    "equal": _equal,
    "high": _high,
    "lowest": _limit(upper=False),
    "greatest": _limit(upper=True),
    "ends": _ends,
    "spread": _spread,
}

ROW_PATTERN_NAMES: tuple[str, ...] = (*_PATTERNS, *_FLOAT_PATTERNS)


def with_row_pattern(name: str, data: Array, columns: int, kind: DType) -> Array:
    """A copy of ``data`` (of dtype ``kind``: whole rows of ``columns`` elements and a rest) with a pattern in its rows.

    Raises ``ValueError`` for an unknown name and for a pattern that integers do not have.
    """
    if name not in ROW_PATTERN_NAMES:
        raise ValueError(f"unknown mark {name!r}; known: {', '.join(ROW_PATTERN_NAMES)}")
    if name in _FLOAT_PATTERNS and kind.kind != "float":
        raise ValueError(f"mark={name} needs a float type, not {kind.name}")
    copy = data.copy()
    columns = max(columns, 1)
    rows = copy[: copy.size // columns * columns].reshape(-1, columns)
    if rows.size:
        (_PATTERNS | _FLOAT_PATTERNS)[name](rows, kind)
    return copy
