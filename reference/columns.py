"""im2col, im2col1d and col2im1d: between a source and the matrix of its patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.arithmetic import ARITHMETIC
from reference.expected import Expected
from reference.image import tensors, written
from reference.result import placed
from reference.strided import bits
from reference.summation import along, any_order, storing

Array = NDArray[Any]


def im2col1d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    dst_numel: int,
    l_out: int,
    l_k: int,
    stride: int,
    padding: int,
    dilation: int,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c, l) to (b, l_out, c, l_k), 0 outside; ``dst_numel`` is b * l_out * c, the number of threads."""
    (x,) = tensors(info, 3, bits(src))
    at, inside = _positions(int(l_out), int(l_k), int(stride), int(padding), int(dilation), x.shape[2])
    patches = np.where(inside, x[:, :, at], x.dtype.type(0))  # b, c, l_out, l_k
    rows = patches.transpose(0, 2, 1, 3).reshape(-1)
    return written(dst, rows[: int(dst_numel) * int(l_k)].view(dst.dtype))


def im2col(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    dst_numel: int,
    h_out: int,
    w_out: int,
    h_k: int,
    w_k: int,
    stride: int,
    padding: int,
    dilation: int,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c, h, w) to (b, h_out, w_out, c, h_k, w_k), 0 outside; ``dst_numel`` elements."""
    (x,) = tensors(info, 4, bits(src))
    common = (int(stride), int(padding), int(dilation))
    y, y_inside = _positions(int(h_out), int(h_k), *common, x.shape[2])
    z, z_inside = _positions(int(w_out), int(w_k), *common, x.shape[3])
    patches = x[:, :, y[:, :, None, None], z]  # b, c, h_out, h_k, w_out, w_k
    patches = np.where(y_inside[:, :, None, None] & z_inside, patches, x.dtype.type(0))
    rows = patches.transpose(0, 2, 4, 1, 3, 5).reshape(-1)
    return written(dst, rows[: int(dst_numel)].view(dst.dtype))


@np.errstate(all="ignore")
def col2im1d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    dst_el: int,
    l_out: int,
    l_in: int,
    c_out: int,
    k_size: int,
    stride: int,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, l_in, c_out, k) to (b, c_out, l_out): what reaches a position, added in the type or a wider one.

    Candle adds from the last source position that reaches it down, so with the tap growing; floats in any order.
    """
    length, last, channels, taps, step = (int(n) for n in (l_out, l_in, c_out, k_size, stride))
    batch = int(dst_el) // max(channels * length, 1)
    kind = ARITHMETIC.get(variant["dtype"])
    x = src[: batch * last * channels * taps].reshape(batch, last, channels, taps)
    x = x if kind is None else kind.load(x.reshape(-1)).reshape(x.shape)
    total = np.zeros((batch, channels, length), x.dtype)
    turns = -(-taps // step)
    # Of a position at most `last` turns reach the source, one after the other; one more is 0 where others do not.
    terms = np.zeros((min(turns, last + 1), *total.shape), x.dtype)
    position, rest = np.divmod(np.arange(length), step)
    first = np.maximum(position - last + 1, 0)
    for turn in range(turns):
        at, tap = position - turn, rest + turn * step
        on = np.flatnonzero((tap < taps) & (at >= 0) & (at < last))
        part, more = total[:, :, on], x[:, at[on], :, tap[on]].transpose(1, 2, 0)
        terms[turn - first[on], :, :, on] = more.transpose(2, 0, 1)
        total[:, :, on] = (
            part + more if kind is None else kind.add(part.reshape(-1), more.reshape(-1)).reshape(part.shape)
        )
    if kind is None:
        return written(dst, total)
    name = variant["dtype"]
    value = kind.store(total.reshape(-1)).reshape(total.shape)
    return {"dst": placed(dst, any_order(along(terms, 0), dtype(name), value, storing(name)))}


def _positions(
    out: int, taps: int, stride: int, padding: int, dilation: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Per output and tap the position in a dimension of ``size``, 0 where outside, and whether it lies inside."""
    at = np.arange(out)[:, None] * stride + np.arange(taps) * dilation - padding
    inside = (at >= 0) & (at < size)
    return np.where(inside, at, 0), inside
