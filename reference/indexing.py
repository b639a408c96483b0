"""index_select, gather, index_add, scatter and scatter_add.

Data is left x dim x right, row-major, dim being the indexed dimension. An id with the largest value of its type stands
for "none": it selects zero and adds or stores nothing. Any other id outside the dimension stops the kernel: ``Faults``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.arithmetic import ARITHMETIC
from reference.expected import Expected, Faults
from reference.result import contiguous, placed
from reference.strided import bits, layout
from reference.summation import LONG, any_order, grouped, storing

Array = NDArray[Any]
Places = NDArray[np.int64]


def index_select(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array,
    ids: Array,
    inp: Array,
    out: Array,
    left_size: int,
    src_dim_size: int,
    ids_dim_size: int,
    right_size: int,
) -> dict[str, Expected]:
    """``out[l, k, r] = inp[l, ids[k], r]``.

    ``info`` holds the dims and strides of the ids. Candle reads ids without them and, where they are not contiguous,
    walks the source offset through them instead, each dimension wrapping; with ``strided-ids`` fixed they are the
    strides of the ids, where info describes as many as there are. Raises ``Faults`` for an id out of range,
    ``ValueError`` for an offset beyond the source, which has no defined result.
    """
    flat = np.arange(int(numel), dtype=np.int64)
    src_dim, ids_dim, right = int(src_dim_size), int(ids_dim_size), int(right_size)
    rest, r = np.divmod(flat, max(right, 1))
    left, k = np.divmod(rest, max(ids_dim, 1))
    shape = layout(info, num_dims)
    if variant.get("fixed") == "strided-ids" and shape is not None and math.prod(shape[0]) == ids_dim:
        k, shape = _walked(k, shape[0], shape[1][0]), None
    id_, none = _checked(ids[k], src_dim, "src_dim_size")
    source = (left * src_dim + id_) * right + r
    if shape is not None and not _is_contiguous(shape[0], shape[1][0]):
        source = _walked(source, shape[0], shape[1][0])
    return {"out": contiguous(out, _selected(inp, source, none))}


def gather(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    ids: Array,
    inp: Array,
    out: Array,
    left_size: int,
    src_dim_size: int,
    ids_dim_size: int,
    right_size: int,
) -> dict[str, Expected]:
    """``out[l, k, r] = inp[l, ids[l, k, r], r]``; ``numel`` is the number of ids. Raises as ``index_select``."""
    flat = np.arange(int(numel), dtype=np.int64)
    src_dim, ids_dim, right = int(src_dim_size), int(ids_dim_size), int(right_size)
    id_, none = _checked(ids[: flat.size], src_dim, "src_dim_size")
    source = (flat // max(right * ids_dim, 1) * src_dim + id_) * right + flat % max(right, 1)
    return {"out": contiguous(out, _selected(inp, source, none))}


def index_add(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    ids: Array,
    ids_dim_size: int,
    inp: Array,
    out: Array,
    left_size: int,
    src_dim_size: int,
    dst_dim_size: int,
    right_size: int,
) -> dict[str, Expected]:
    """``out[l, ids[j], r] += inp[l, j, r]``, in the type or a wider one, floats in any order of j.

    Raises ``Faults`` for an id out of range.
    """
    count = int(ids_dim_size)
    each = np.broadcast_to(ids[:count].reshape(1, count, 1), (int(left_size), count, int(right_size))).reshape(-1)
    to, values = _destinations(each, inp, left_size, count, dst_dim_size, right_size)
    return {"out": _added(variant["dtype"], out, to, values)}


def scatter_add(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    ids: Array,
    inp: Array,
    out: Array,
    left_size: int,
    src_dim_size: int,
    dst_dim_size: int,
    right_size: int,
) -> dict[str, Expected]:
    """``out[l, ids[l, j, r], r] += inp[l, j, r]``, in the type or a wider one, floats in any order of j.

    Raises as ``index_add``.
    """
    to, values = _destinations(ids, inp, left_size, src_dim_size, dst_dim_size, right_size)
    return {"out": _added(variant["dtype"], out, to, values)}


def scatter(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    ids: Array,
    inp: Array,
    out: Array,
    left_size: int,
    src_dim_size: int,
    dst_dim_size: int,
    right_size: int,
) -> dict[str, Expected]:
    """``out[l, ids[l, j, r], r] = inp[l, j, r]`` for j in order: the last wins. Raises as ``index_add``."""
    to, values = _destinations(ids, inp, left_size, src_dim_size, dst_dim_size, right_size)
    content = out.copy()
    # The first of the reversed order is the last of the order.
    places, last = np.unique(to[::-1], return_index=True)
    bits(content)[_within(places, content)] = bits(values)[::-1][last]
    return {"out": Expected(content)}


def _checked(ids: Array, limit: int, parameter: str) -> tuple[Places, NDArray[np.bool_]]:
    """The ids as places, 0 where there is none, and where that is; raises ``Faults`` for one beyond ``limit``."""
    none: NDArray[np.bool_] = ids == np.iinfo(ids.dtype).max
    wide = np.where(none, 0, ids.astype(np.int64))
    outside = ~none & ((wide < 0) | (wide >= limit))
    if outside.any():
        raise Faults(f"id {int(wide[outside][0])} is outside the dimension: {parameter} is {limit}")
    return wide, none


def _selected(inp: Array, source: Places, none: NDArray[np.bool_]) -> Array:
    """The bits at ``source``, zero bits where there is no id."""
    raw = bits(inp)
    at = _within(np.where(none, 0, source), raw) if not none.all() else np.zeros(0, np.int64)
    value = raw[at] if at.size else np.zeros(source.size, raw.dtype)
    return np.where(none, raw.dtype.type(0), value).view(inp.dtype)


def _within(places: Places, buffer: Array) -> Places:
    if places.size and int(places.max()) >= buffer.size:
        raise ValueError(f"element {int(places.max())} asked of a buffer of {buffer.size}")
    return places


def _is_contiguous(dims: Sequence[int], strides: Sequence[int]) -> bool:
    """Row-major without gaps; strides of dimensions of size 1 or less do not count."""
    step = 1
    for size, stride in zip(reversed(dims), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _walked(flat: Places, dims: Sequence[int], strides: Sequence[int]) -> Places:
    """The strided offsets of flat indices; an index beyond the dims starts again."""
    offset = np.zeros_like(flat)
    for size, stride in zip(reversed(dims), reversed(strides), strict=True):
        flat, index = np.divmod(flat, size)
        offset += index * stride
    return offset


def _destinations(
    ids: Array, inp: Array, left_size: int, count: int, dst_dim_size: int, right_size: int
) -> tuple[Places, Array]:
    """The elements of the source (left x count x right) that have an id, and where each of them goes."""
    count, dst_dim, right = int(count), int(dst_dim_size), int(right_size)
    flat = np.arange(int(left_size) * count * right, dtype=np.int64)
    id_, none = _checked(ids[: flat.size], dst_dim, "dst_dim_size")
    to = (flat // max(count * right, 1) * dst_dim + id_) * right + flat % max(right, 1)
    return to[~none], inp[: flat.size][~none]


def _added(name: str, out: Array, to: Places, values: Array) -> Expected:
    """``out`` with ``values`` added at ``to``, and of floats the interval of all orders in which they may be."""
    content = _one_after_the_other(name, out, to, values)
    if name not in ARITHMETIC or not to.size:
        return Expected(content)
    written, group = np.unique(to, return_inverse=True)
    load = ARITHMETIC[name].load
    terms = grouped(
        np.concatenate([load(part).astype(LONG) for part in (out[written], values)]),
        np.concatenate([np.arange(written.size), group]),
    )
    return placed(content, any_order(terms, dtype(name), content[written], storing(name)), written)


def _one_after_the_other(name: str, out: Array, to: Places, values: Array) -> Array:
    """``out`` with ``values`` added at ``to``, rounding every time, in order where places are equal: as Candle does it.

    A round takes the n-th value of every place, so that there are as many rounds as the most frequent place has values.
    """
    content = out.copy()
    _within(to, content)
    order = np.argsort(to, kind="stable")
    ranked = to[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    turn = np.arange(ranked.size) - np.repeat(starts, np.diff(starts, append=ranked.size))
    by_turn = order[np.argsort(turn, kind="stable")]
    with np.errstate(all="ignore"):
        for now in np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if turn.size else ():
            content[to[now]] = _sum(name, content[to[now]], values[now])
    return content


def _sum(name: str, a: Array, b: Array) -> Array:
    if name not in ARITHMETIC:
        return a + b
    kind = ARITHMETIC[name]
    return kind.store(kind.add(kind.load(a), kind.load(b)))
