"""Where the elements of an operand lie: strides, start offset and allocation length of a named layout."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]

MAX_ELEMENTS = 1 << 28
"""The most elements an operand may have: a mistyped shape must not fill the machine's memory."""

NARROW_TAIL = 5
"""Elements of a narrowed operand's allocation that lie after the last one it addresses."""

EMPTY_LENGTH = 4
"""Elements allocated for an operand that has none, so that its address is that of a buffer."""

_UNUSED_STRIDE = 977
"""Stride of a dimension of size 1 in layout ``ones``: no index reaches it."""


@dataclass(frozen=True)
class Layout:
    """``strides`` are in elements, outermost dimension first, as Candle uploads them.

    Element ``start`` of an allocation of ``length`` elements is the operand's first. ``contiguous`` is Candle's rule:
    row-major, dimensions of size 1 ignored.
    """

    name: str
    shape: Shape
    strides: Shape
    start: int
    length: int
    contiguous: bool

    @property
    def numel(self) -> int:
        """The number of elements of the shape, not of the allocation: the product of its sizes, 1 for rank 0."""
        return math.prod(self.shape)


def row_major(shape: Shape) -> Shape:
    """Strides of a row-major tensor of ``shape``, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(1, shape[axis + 1])
    return tuple(strides)


def _stored(shape: Shape, order: Shape, cut: Shape = ()) -> tuple[Shape, int]:
    """Strides and start of a tensor stored in axis ``order``; axes in ``cut`` lost one index before and two after."""
    stored = tuple(shape[axis] + (3 if axis in cut else 0) for axis in order)
    strides = [0] * len(shape)
    for axis, stride in zip(order, row_major(stored), strict=True):
        strides[axis] = stride
    return tuple(strides), sum(strides[axis] for axis in cut)


def _axes(shape: Shape) -> Shape:
    return tuple(range(len(shape)))


def _swapped(shape: Shape, first: int, second: int) -> Shape:
    order = list(_axes(shape))
    order[first], order[second] = order[second], order[first]
    return tuple(order)


def _frozen(shape: Shape, axis: int) -> tuple[Shape, int]:
    """One index of ``axis`` expanded again: stride 0 there, all other strides those of the whole tensor."""
    strides = list(row_major(shape))
    strides[axis] = 0
    return tuple(strides), 0


def _broadcast(shape: Shape) -> tuple[Shape, int]:
    """The middle dimension expanded from a tensor that has size 1 there."""
    middle = len(shape) // 2
    source = (*shape[:middle], 1, *shape[middle + 1 :])
    strides = list(row_major(source))
    strides[middle] = 0
    return tuple(strides), 0


def _one_axis(shape: Shape, axis: int) -> tuple[Shape, int]:
    """A vector along ``axis`` expanded to ``shape``: stride 1 there and 0 elsewhere, as of a channel's bias."""
    return tuple(int(other == axis) for other in _axes(shape)), 0


def _ones(shape: Shape) -> tuple[Shape, int]:
    strides = row_major(shape)
    return tuple(_UNUSED_STRIDE if size == 1 else step for size, step in zip(shape, strides, strict=True)), 0


_LAYOUTS: dict[str, tuple[int, Callable[[Shape], tuple[Shape, int]]]] = {
    # name: least rank, strides and start
    "contiguous": (0, lambda shape: (row_major(shape), 0)),
    "transposed": (2, lambda shape: _stored(shape, _swapped(shape, -2, -1))),
    "outer_swapped": (3, lambda shape: _stored(shape, _swapped(shape, 0, 1))),  # the last stride stays 1
    "middle_swapped": (3, lambda shape: _stored(shape, _swapped(shape, 1, 2))),  # Candle's transpose(1, 2)
    "permuted": (2, lambda shape: _stored(shape, (len(shape) - 1, *range(len(shape) - 1)))),
    "reversed": (2, lambda shape: _stored(shape, _axes(shape)[::-1])),
    "reversed_pair": (3, lambda shape: _stored(shape, (len(shape) - 2, len(shape) - 1, *_axes(shape)[-3::-1]))),
    "narrowed": (1, lambda shape: _stored(shape, _axes(shape), (len(shape) - 1,))),
    "narrowed_first": (1, lambda shape: _stored(shape, _axes(shape), (0,))),  # contiguous behind a start
    "narrowed_second": (2, lambda shape: _stored(shape, _axes(shape), (1,))),
    "narrowed_middle": (2, lambda shape: _stored(shape, _axes(shape), (len(shape) // 2,))),
    "narrowed_all": (1, lambda shape: _stored(shape, _axes(shape), _axes(shape))),
    "narrowed_transposed": (2, lambda shape: _stored(shape, _swapped(shape, -2, -1), _axes(shape))),
    "stepped": (1, lambda shape: (tuple(3 * step for step in row_major(shape)), 1)),  # one column of three
    "stepped_by_2": (1, lambda shape: (tuple(2 * step for step in row_major(shape)), 1)),
    "broadcast": (1, _broadcast),
    "broadcast_first": (1, lambda shape: _frozen(shape, 0)),
    "broadcast_second": (2, lambda shape: _frozen(shape, 1)),
    "broadcast_middle": (1, lambda shape: _frozen(shape, len(shape) // 2)),  # only the middle stride is off
    "broadcast_last": (1, lambda shape: _frozen(shape, len(shape) - 1)),  # only the last stride is off
    "broadcast_all_but_1": (2, lambda shape: _one_axis(shape, 1)),
    "scalar": (0, lambda shape: ((0,) * len(shape), 0)),
    "ones": (1, _ones),  # strides that no index uses, in dimensions of size 1
}

LAYOUT_NAMES: tuple[str, ...] = tuple(_LAYOUTS)
"""The layouts with a name of their own. Any order of axes in memory is a layout too: ``order_0231``."""

_ORDER = re.compile(r"order_([0-9]{2,10})")


def is_layout(name: str) -> bool:
    """Whether ``name`` is that of a layout, of shapes of some rank."""
    return name in _LAYOUTS or _order(name) is not None


def _order(name: str) -> Shape | None:
    """The axes that ``order_0231`` names, the outermost in memory first; ``None`` where ``name`` is no such layout."""
    match = _ORDER.fullmatch(name)
    axes = tuple(map(int, match[1])) if match else ()
    return axes if axes and sorted(axes) == list(range(len(axes))) else None


def _placed(name: str, shape: Shape) -> tuple[Shape, int]:
    """Strides and start of ``shape`` in the layout ``name``; raises ``ValueError`` as ``layout``."""
    order = _order(name)
    if order is not None:
        if len(shape) != len(order):
            raise ValueError(f"layout {name!r} needs a shape of rank {len(order)}, not {list(shape)}")
        return _stored(shape, order)
    if name not in _LAYOUTS:
        raise ValueError(f"unknown layout {name!r}; known: {', '.join(LAYOUT_NAMES)}, and orders of axes: order_0231")
    rank, make = _LAYOUTS[name]
    if len(shape) < rank:
        raise ValueError(f"layout {name!r} needs a shape of rank {rank} or more, not {list(shape)}")
    return make(shape)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Candle's rule: row-major, whatever the strides of dimensions of size 1 or less are."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


@lru_cache(maxsize=4096)
def layout(name: str, shape: Shape, start: int | None = None) -> Layout:
    """The layout called ``name`` of an operand of ``shape``; ``start`` overrides its first element.

    A narrowed layout starts at an odd element. Raises ``ValueError`` for an unknown name, a rank that the layout does
    not have, a negative ``start``, or an allocation above ``MAX_ELEMENTS``.
    """
    strides, first = _placed(name, shape)
    if name.startswith("narrowed"):
        first |= 1
    if start is not None:
        if start < 0:
            raise ValueError(f"a start offset is 0 or more, not {start}")
        first = start
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    length = first + (last + 1 if 0 not in shape else EMPTY_LENGTH)
    length += NARROW_TAIL if name.startswith("narrowed") else 0
    if length > MAX_ELEMENTS or math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(f"shape {list(shape)} in layout {name!r} needs more than {MAX_ELEMENTS} elements")
    return Layout(name, shape, strides, first, length, is_contiguous(shape, strides))


@lru_cache(maxsize=4096)
def info_array(shape: Shape, *strides: Shape) -> NDArray[np.uint64]:
    """``dims ++ strides ++ ...`` as the kernels read it; read-only, shared between launches.

    Rank 0 has no content: one poisoned word stands in for Candle's empty upload, which no kernel reads.
    """
    numbers = [*shape, *(step for operand in strides for step in operand)]
    array = np.array(numbers or [0xA5A5A5A5A5A5A5A5], dtype=np.uint64)
    array.flags.writeable = False
    return array
