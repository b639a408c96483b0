"""avg_pool2d and max_pool2d over a source (b, c, w, h), as Candle names its dimensions; whole windows only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import ARITHMETIC
from reference.binary import FLOAT, INTEGER
from reference.expected import Expected
from reference.image import SUMS, tensors, to_unsigned, written

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
    """The sum of the window, times 1 / (w_k * h_k) rounded to float32, float64 too. The sum of u8 and u32 wraps."""
    kind = SUMS[variant["dtype"]]
    (x,) = tensors(info, 4, src)
    total: Array | None = None
    for part in _windows(kind.load(x), int(w_k), int(h_k), int(w_stride), int(h_stride)):
        # From 0, as Candle starts: a window of -0 gives 0.
        total = (np.zeros_like(part) if total is None else total) + part
    assert total is not None
    scale = np.float32(1) / np.float32(int(w_k) * int(h_k))
    if variant["dtype"] == "f64":
        return written(dst, total * np.float64(scale))
    value = total.astype(np.float32) * scale
    return written(dst, to_unsigned(value, dst.dtype) if dst.dtype.kind == "u" else kind.store(value))


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
