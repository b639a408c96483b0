"""conv1d, conv2d and their transposes: per output one sum, tap by tap and in a tap channel by channel, fused.

A float sum may be added up in any order in the type that Candle keeps it in, with products fused or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import ARITHMETIC
from reference.expected import Expected
from reference.image import SUMS, Sum, tensors, written
from reference.result import placed
from reference.summation import Products, accumulator, any_order, last_bit, storing

Array = NDArray[Any]
Index = NDArray[np.int64]
Tap = tuple[Index, Index]
"""Where a tap takes part: positions in the output, and the position in the source that each takes."""


@np.errstate(all="ignore")
def conv1d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    num_dims: int,
    stride: int,
    padding: int,
    dilation: int,
    info: Array,
    src: Array,
    kernel: Array,
    dst: Array,
) -> dict[str, Expected]:
    """``num_dims`` is the length of the output; source (b, c_in, l), kernel (c_out, c_in, k), output (b, c_out, l).

    The dilation multiplies the whole position, as in Candle: right for 1 only. With ``dilation`` fixed it is the
    distance of taps.
    """
    x, k = tensors(info, 3, src, kernel)
    at = np.arange(int(num_dims)) * int(stride)
    apart, before = int(dilation), int(padding)
    whole = 1 if variant.get("fixed") == "dilation" else apart
    taps = [_taking(at * whole + tap * apart - before, x.shape[2]) for tap in range(k.shape[2])]
    return _summed(variant, dst, x[:, :, None], k[:, :, None], taps, _single(), (1, int(num_dims)))


@np.errstate(all="ignore")
def conv2d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    w_out: int,
    h_out: int,
    stride: int,
    padding: int,
    dilation: int,
    info: Array,
    src: Array,
    kernel: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c_in, h, w), kernel (c_out, c_in, h, w), output (b, c_out, h, w)."""
    x, k = tensors(info, 4, src, kernel)
    step, before, apart = int(stride), int(padding), int(dilation)
    columns, rows = (
        [_taking(np.arange(int(n)) * step + tap * apart - before, x.shape[axis]) for tap in range(k.shape[axis])]
        for n, axis in ((w_out, 3), (h_out, 2))
    )
    return _summed(variant, dst, x, k, columns, rows, (int(h_out), int(w_out)))


@np.errstate(all="ignore")
def conv_transpose1d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    l_out: int,
    stride: int,
    padding: int,
    out_padding: int,
    dilation: int,
    info: Array,
    src: Array,
    kernel: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c_in, l), kernel (c_in, c_out, k), output (b, c_out, l). ``out_padding`` shows in ``l_out`` only."""
    x, k = tensors(info, 3, src, kernel)
    taps = _reaching(l_out, k.shape[2], stride, padding, dilation, x.shape[2])
    swapped = k.swapaxes(0, 1)[:, :, None]
    return _summed(variant, dst, x[:, :, None], swapped, taps, _single(), (1, int(l_out)))


@np.errstate(all="ignore")
def conv_transpose2d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    w_out: int,
    h_out: int,
    stride: int,
    padding: int,
    out_padding: int,
    dilation: int,
    info: Array,
    src: Array,
    kernel: Array,
    dst: Array,
) -> dict[str, Expected]:
    """Source (b, c_in, h, w), kernel (c_in, c_out, h, w), output (b, c_out, h, w)."""
    x, k = tensors(info, 4, src, kernel)
    columns, rows = (
        _reaching(n, k.shape[axis], stride, padding, dilation, x.shape[axis]) for n, axis in ((w_out, 3), (h_out, 2))
    )
    return _summed(variant, dst, x, k.swapaxes(0, 1), columns, rows, (int(h_out), int(w_out)))


def _single() -> list[Tap]:
    """The rows of a one-dimensional convolution: one tap, one position."""
    return [(np.zeros(1, np.int64), np.zeros(1, np.int64))]


def _taking(at: Index, size: int) -> Tap:
    """Outputs whose source position ``at`` lies inside a dimension of ``size``."""
    out = np.flatnonzero((at >= 0) & (at < size))
    return out, at[out]


def _reaching(out: int, taps: int, stride: int, padding: int, dilation: int, size: int) -> list[Tap]:
    """Per tap the outputs that a source position reaches: their distance is a multiple of ``stride`` from 0 on."""
    distance = np.arange(int(out)) + int(padding) - np.arange(taps)[:, None] * int(dilation)
    quotient, rest = np.divmod(distance, int(stride))
    reached = (rest == 0) & (quotient >= 0) & (quotient < size)
    return [(np.flatnonzero(on), at[on]) for on, at in zip(reached, quotient, strict=True)]


def _summed(
    variant: Mapping[str, str],
    dst: Array,
    x: Array,
    k: Array,
    columns: Sequence[Tap],
    rows: Sequence[Tap],
    size: tuple[int, int],
) -> dict[str, Expected]:
    """The sums (b, c_out, h, w) of ``x`` (b, c_in, h, w) and ``k`` (c_out, c_in, h, w), in ``dst``."""
    name = variant["dtype"]
    kind = SUMS[name]
    value = kind.store(_convolved(kind, x, k, columns, rows, size))
    if name not in ARITHMETIC:
        return written(dst, value)
    products = Products(value.shape, accumulator(name))
    wide_x, wide_k = (kind.load(part).astype(products.wide) for part in (x, k))
    # Over the channels: no product has a bit below those of the source's element and the weight that have the lowest.
    unit_x, unit_k = (last_bit(part).min(axis=1) for part in (wide_x, wide_k))
    for to, source, weight in _taps(columns, rows):
        b, _, h, w = source
        units = unit_x[b, h, w][:, None] * unit_k[:, *weight[2:]][None, :, None, None]
        products.add(to, wide_x[source][:, None], wide_k[weight][None, ..., None, None], units, axis=2)
    found = any_order(products.terms(), accumulator(name), value, storing(name))
    return {"dst": placed(dst, found)}


def _convolved(
    kind: Sum, x: Array, k: Array, columns: Sequence[Tap], rows: Sequence[Tap], size: tuple[int, int]
) -> Array:
    """The sums as Candle adds them up: columns of taps outermost, then rows, then channels.

    A tap outside the source is left out, not added as 0.
    """
    x, k = kind.load(x), kind.load(k)
    total = np.zeros((x.shape[0], k.shape[0], *size), kind.carrier)
    for to, source, weight in _taps(columns, rows):
        taken, weights, sums = x[source], k[weight], np.ascontiguousarray(total[to])
        a, b = np.empty_like(sums), np.empty_like(sums)
        part = sums.reshape(-1)
        for c in range(x.shape[1]):
            a[...], b[...] = taken[:, None, c], weights[None, :, c, None, None]
            part = kind.fma(a.reshape(-1), b.reshape(-1), part)
        total[to] = part.reshape(sums.shape)
    return total


def _taps(columns: Sequence[Tap], rows: Sequence[Tap]) -> Iterator[tuple[Any, Any, Any]]:
    """Per tap that takes part anywhere: the index of outputs, of the source elements for them, and of its weights."""
    everything = slice(None)
    for across, (w_to, w_from) in enumerate(columns):
        for down, (h_to, h_from) in enumerate(rows):
            if w_to.size and h_to.size:
                to = (everything, everything, h_to[:, None], w_to)
                yield to, (everything, everything, h_from[:, None], w_from), (everything, everything, down, across)
