"""avg_pool2d and max_pool2d over a source (b, c, w, h), as Candle names its dimensions; whole windows only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import ARITHMETIC
from reference.binary import FLOAT, INTEGER
from reference.exact import rounded_once
from reference.expected import Expected
from reference.image import SUMS, tensors, to_unsigned, written
from reference.result import placed
from reference.softmax import bounds
from reference.summation import accumulator, along, any_order, storing

Array = NDArray[Any]


@np.errstate(all="ignore")
def avg_pool2d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    w_k: int,
    h_k: int,
    w_stride: int,
    h_stride: int,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """The sum of the window, times 1 / (w_k * h_k) rounded to float32, float64 too. The sum of u8 and u32 wraps.

    Floats may be added in any order and, but for float64, divided by the size of the window as well. With
    ``pool-scale`` fixed the scale of float64 is a float64; with ``pool-wrap`` u8 adds up without wrapping, and the mean
    is cut off by a quotient of integers or of floats.
    """
    name = variant["dtype"]
    kind = SUMS[name]
    (x,) = tensors(info, 4, src)
    parts = np.stack(list(_windows(kind.load(x), int(w_k), int(h_k), int(w_stride), int(h_stride))))
    # From 0, as Candle starts: a window of -0 gives 0.
    total = np.add.accumulate(np.concatenate([np.zeros_like(parts[:1]), parts]), axis=0, dtype=parts.dtype)[-1]
    size = np.float32(int(w_k) * int(h_k))
    scale = np.float32(1) / size
    if variant.get("fixed") == "pool-wrap":
        exact = parts.astype(np.uint32).sum(axis=0, dtype=np.uint32)
        means = (exact // np.uint32(size), to_unsigned(exact.astype(np.float32) * scale, dst.dtype))
        quotient, product = (np.ascontiguousarray(mean.astype(dst.dtype)).reshape(-1) for mean in means)
        low, high = np.minimum(quotient, product), np.maximum(quotient, product)
        return {"dst": placed(dst, Expected(quotient, low, high))}
    if name not in ARITHMETIC:
        return written(dst, to_unsigned(total.astype(np.float32) * scale, dst.dtype))
    wide = accumulator(name)
    sums = any_order(along(parts, 0), wide, total, storing(wide.name))
    ends = (sums.value, sums.low, sums.high)
    fixed = variant.get("fixed") == "pool-scale"
    factor = 1 / np.float64(size) if fixed else wide.numpy.type(scale)
    results = [kind.store(end * factor) for end in ends if end is not None]
    if fixed or name != "f64":
        results += [kind.store(end / size) for end in ends if end is not None]
    if name == "f64":
        return {"dst": placed(dst, Expected(*bounds(results), sums.free))}
    exact = rounded_once(name, lambda a: [along(parts, 0).total.astype(a.carrier).reshape(-1) / size])
    return {"dst": placed(dst, Expected(*bounds(results), sums.free, exact=exact))}


@np.errstate(all="ignore")
def max_pool2d(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    src_numel: int,
    w_k: int,
    h_k: int,
    w_stride: int,
    h_stride: int,
    info: Array,
    src: Array,
    dst: Array,
) -> dict[str, Expected]:
    """The largest of the window, starting with its first element; NaN and zeros as in ``maximum``."""
    (x,) = tensors(info, 4, src)
    kind = ARITHMETIC.get(variant["dtype"])
    windows = _windows(x if kind is None else kind.load(x), int(w_k), int(h_k), int(w_stride), int(h_stride))
    largest = next(windows)
    for part in windows:
        largest = INTEGER["maximum"](largest, part) if kind is None else FLOAT["maximum"](kind, largest, part)
    if kind is None:
        return written(dst, largest)
    return written(dst, kind.store(np.ascontiguousarray(largest).reshape(-1)))


def _windows(x: Array, w_k: int, h_k: int, w_stride: int, h_stride: int) -> Iterator[Array]:
    """For each place in the window, w outermost: the elements at that place of all windows, (b, c, w_out, h_out)."""
    w_out, h_out = (x.shape[2] - w_k) // w_stride + 1, (x.shape[3] - h_k) // h_stride + 1
    for w in range(w_k):
        for h in range(h_k):
            yield x[:, :, w : w + (w_out - 1) * w_stride + 1 : w_stride, h : h + (h_out - 1) * h_stride + 1 : h_stride]
