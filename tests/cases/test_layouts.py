"""Each layout, against a view that numpy makes of the same allocation."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from conformance.cases.layouts import LAYOUT_NAMES, info_array, is_contiguous, is_layout, layout

View = NDArray[np.int64]

SHAPES = ((3, 5, 7), (2, 3, 4, 5), (2, 3, 2, 4, 3), (4, 1, 6), (9, 8, 7))


def _cut(view: View, axes: tuple[int, ...]) -> View:
    return view[tuple(slice(1, -2) if axis in axes else slice(None) for axis in range(view.ndim))]


def _grown(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size + 3 if axis in axes else size for axis, size in enumerate(shape))


def _iota(shape: tuple[int, ...]) -> View:
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)


def _narrowed(shape: tuple[int, ...], axes: tuple[int, ...]) -> View:
    return _cut(_iota(_grown(shape, axes)), axes)


def _frozen(shape: tuple[int, ...], axis: int) -> View:
    return np.broadcast_to(np.take(_iota(shape), [0], axis), shape)


def _transposed(shape: tuple[int, ...]) -> View:
    return _iota((*shape[:-2], shape[-1], shape[-2])).swapaxes(-1, -2)


def _every(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(shape)))


# What each layout is, in numpy's own words; offsets are those of the view's elements in the allocation.
VIEWS: dict[str, Callable[[tuple[int, ...]], View]] = {
    "contiguous": _iota,
    "transposed": _transposed,
    "outer_swapped": lambda s: _iota((s[1], s[0], *s[2:])).swapaxes(0, 1),
    "middle_swapped": lambda s: _iota((s[0], s[2], s[1], *s[3:])).swapaxes(1, 2),
    "permuted": lambda s: np.moveaxis(_iota((s[-1], *s[:-1])), 0, -1),
    "reversed": lambda s: _iota(s[::-1]).T,
    "reversed_pair": lambda s: _iota((*s[-2:], *s[-3::-1])).transpose(*range(len(s) - 1, 1, -1), 0, 1),
    "narrowed": lambda s: _narrowed(s, (len(s) - 1,)),
    "narrowed_first": lambda s: _narrowed(s, (0,)),
    "narrowed_second": lambda s: _narrowed(s, (1,)),
    "narrowed_middle": lambda s: _narrowed(s, (len(s) // 2,)),
    "narrowed_all": lambda s: _narrowed(s, _every(s)),
    "narrowed_transposed": lambda s: _cut(_iota(_grown((*s[:-2], s[-1], s[-2]), _every(s))), _every(s)).swapaxes(
        -1, -2
    ),
    "stepped": lambda s: _iota((*s, 3))[..., 1],
    "stepped_by_2": lambda s: _iota((*s, 2))[..., 1],
    "broadcast": lambda s: np.broadcast_to(_iota(tuple(1 if a == len(s) // 2 else n for a, n in enumerate(s))), s),
    "broadcast_first": lambda s: _frozen(s, 0),
    "broadcast_second": lambda s: _frozen(s, 1),
    "broadcast_middle": lambda s: _frozen(s, len(s) // 2),
    "broadcast_last": lambda s: _frozen(s, len(s) - 1),
    "broadcast_all_but_1": lambda s: np.broadcast_to(np.arange(s[1]).reshape(-1, *(1 for _ in s[2:])), s),
    "scalar": lambda s: np.broadcast_to(np.int64(0), s),
    "ones": _iota,
}


def _offsets(name: str, shape: tuple[int, ...]) -> View:
    """Offset of each element as the kernels compute it from the info array: last dimension first."""
    placed = layout(name, shape)
    info = info_array(shape, placed.strides).astype(np.int64)
    dims, strides = info[: len(shape)], info[len(shape) :]
    flat = np.arange(placed.numel, dtype=np.int64)
    offset = np.zeros_like(flat)
    for axis in range(len(shape) - 1, -1, -1):
        offset += (flat % dims[axis]) * strides[axis]
        flat //= dims[axis]
    return offset.reshape(shape) + placed.start


@pytest.mark.parametrize("name", LAYOUT_NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_info_addresses_what_the_layout_says(name: str, shape: tuple[int, ...]) -> None:
    expected = VIEWS[name](shape)
    if name.startswith("narrowed") and expected.flat[0] % 2 == 0:
        expected = expected + 1  # an even start gets the odd element after it
    np.testing.assert_array_equal(_offsets(name, shape), expected)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_any_order_of_axes_in_memory_is_a_layout(order: tuple[int, ...]) -> None:
    shape = (2, 3, 4, 5)
    name = f"order_{''.join(map(str, order))}"
    view = _iota(tuple(shape[axis] for axis in order)).transpose(np.argsort(order))
    np.testing.assert_array_equal(_offsets(name, shape), view)
    assert layout(name, shape).contiguous == view.flags.c_contiguous
    assert is_layout(name)


@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_contiguous_is_what_numpy_calls_so(name: str) -> None:
    for shape in SHAPES:
        view = VIEWS[name](shape)
        assert layout(name, shape).contiguous == view.flags.c_contiguous, shape


def test_size_one_dimensions_do_not_count_as_strided() -> None:
    assert is_contiguous((3, 1, 5), (5, 977, 1))
    assert not is_contiguous((3, 2, 5), (5, 977, 1))
    assert not is_contiguous((4, 5, 6), (30, 0, 1))
    assert not is_contiguous((4, 5, 6), (30, 6, 0))


def test_narrowed_layouts_start_odd_and_end_before_the_allocation() -> None:
    for name in (name for name in LAYOUT_NAMES if name.startswith("narrowed")):
        for shape in SHAPES:
            placed = layout(name, shape)
            assert placed.start % 2 == 1
            assert _offsets(name, shape).max() < placed.length - 1


def test_other_layouts_use_their_allocation_up() -> None:
    for name in (name for name in LAYOUT_NAMES if not name.startswith("narrowed")):
        for shape in SHAPES:
            assert _offsets(name, shape).max() == layout(name, shape).length - 1, (name, shape)


@pytest.mark.parametrize(
    ("name", "shape", "start", "message"),
    [
        ("diagonal", (3, 4), None, "unknown layout 'diagonal'; known: contiguous, transposed"),
        ("transposed", (3,), None, "needs a shape of rank 2 or more, not \\[3\\]"),
        ("order_0213", (3, 4, 5), None, "needs a shape of rank 4, not \\[3, 4, 5\\]"),
        ("order_0223", (2, 3, 4, 5), None, "unknown layout 'order_0223'; known: contiguous, "),
        ("contiguous", (3,), -1, "0 or more, not -1"),
        ("contiguous", (1 << 40,), None, "needs more than 268435456 elements"),
        ("scalar", (1 << 40,), None, "needs more than 268435456 elements"),
    ],
)
def test_impossible_layouts_are_refused(name: str, shape: tuple[int, ...], start: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layout(name, shape, start)
