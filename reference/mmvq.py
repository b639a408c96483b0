"""Candle's linked launchers of mmvq_gguf.cu: activations quantized to q8_1, and up to eight columns of products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import dtype
from reference.expected import Expected
from reference.quantized.activations import quantize_q8_1, sums_in_another_order
from reference.quantized.blocks import FORMATS, GROUP, columns, named
from reference.quantized.products import vector_sums
from reference.result import placed

Array = NDArray[Any]

MOST_COLUMNS = 8
"""Columns of one call; upstream launches nothing for more, or for none."""


def mmvq_quantize_q8_1(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    x: Array,
    vy: Array,
    kx: int,
    kx_padded: int,
    num_rows: int,
) -> dict[str, Expected]:
    """``num_rows`` rows of ``kx`` values to rows of ``kx_padded`` / 32 blocks of 36 bytes.

    A block: the largest magnitude / 127 and the sum of the values, both rounded to float16 from float32, and 32 bytes
    value / scale, rounded half away from zero; the scale they are divided by is the float32 one. What is beyond ``kx``
    is zero. Every byte is the only right one but those of the sums, which may be added in any order: ``equivalent``.
    """
    return quantize_q8_1(variant, library_ulp, x=_rows(variant, x, kx, num_rows), vy=vy, kx=kx, kx_padded=kx_padded)


@np.errstate(all="ignore")
def mmvq(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    vx: Array,
    vy: Array,
    dst: Array,
    ncols_x: int,
    nrows_x: int,
    stride_col_y: int,
    stride_col_dst: int,
    b_size: int,
) -> dict[str, Expected]:
    """``dst[column * stride_col_dst + row]``: ``b_size`` columns of ``ncols_x`` activations times ``nrows_x`` rows.

    Columns begin ``stride_col_y`` blocks of q8_1 apart. Integer sums are exact; of the float32 sums the interval allows
    every order and every choice of fused products (``reference.quantized.sums.summed``), around Candle's own
    result. It is rounded once more to the type of ``dst``, and so are the ends of the interval. Nothing is written for
    a ``b_size`` that is not 1 to 8.
    """
    qtype, count, rows = named(variant["qtype"]), int(b_size), int(nrows_x)
    if not 1 <= count <= MOST_COLUMNS:
        return {"dst": Expected(dst.copy())}
    format_ = FORMATS[qtype]
    per_row = int(ncols_x) // format_.length
    weights = format_.blocks(vx, rows * per_row).reshaped(1, rows, per_row)
    stride, groups = int(stride_col_y), int(ncols_x) // GROUP
    # The last column need not be followed by its padding.
    activations = columns(vy, count, groups, stride)
    room = np.zeros(count * rows, np.float32)
    found = vector_sums(qtype, 4 if count <= 4 else 2, room, weights, activations, by_scale=True)
    at = (np.arange(count)[:, None] * int(stride_col_dst) + np.arange(rows)).reshape(-1)
    value, low, high = (np.asarray(part).astype(dst.dtype) for part in (found.value, found.low, found.high))
    return {"dst": placed(dst, Expected(value, low, high), at)}


def equivalent(variant: Mapping[str, str], arguments: Mapping[str, Any], got: Mapping[str, Array]) -> dict[str, Array]:
    """See ``reference.equivalent``: the quantizers write float16 sums into bytes, for which there are no bounds."""
    if "kx_padded" not in arguments:
        return {}
    x = _rows(variant, arguments["x"], arguments["kx"], arguments["num_rows"])
    return sums_in_another_order({**arguments, "x": x}, got)


def _rows(variant: Mapping[str, str], x: Array, kx: int, num_rows: int) -> Array:
    """The first ``num_rows`` rows as float32."""
    return np.asarray(x[: int(kx) * int(num_rows)].view(dtype(variant["dtype"]).numpy).astype(np.float32))
