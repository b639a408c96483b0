"""where: ``out = ids != 0 ? t : f``, bits copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.result import contiguous
from reference.strided import bits, layout, read

Array = NDArray[Any]


def where(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array,
    ids: Array,
    t: Array,
    f: Array,
    out: Array,
) -> dict[str, Expected]:
    """``info`` is never null: dims, then the strides of ids, t and f."""
    shape = layout(info, num_dims, operands=3)
    if shape is None:
        raise ValueError(
            "where: info is null, which Candle's kernels do not allow; pass dims and three sets of strides"
        )
    dims, strides = shape
    chosen, yes, no = (read(buffer, numel, dims, s) for buffer, s in zip((ids, t, f), strides, strict=True))
    value = np.where(bits(chosen) != 0, bits(yes), bits(no)).view(out.dtype)
    return {"out": contiguous(out, value)}
