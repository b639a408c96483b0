"""8-bit floats as Candle's kernels decode and encode them: computed in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DType

Array = NDArray[Any]


def decoder(row: DType) -> Callable[[Array], NDArray[np.float32]]:
    """The conversion of dtype ``row`` to float32, exact. Any shape."""
    decoded = np.arange(256, dtype=np.uint8).view(row.numpy).astype(np.float32)
    return lambda x: decoded[x.view(np.uint8)]


def encoder(row: DType) -> Callable[[Array], Array]:
    """The conversion of float32 to dtype ``row``: nearest even, every NaN to the first positive one.

    Of a type that saturates, what lies beyond its largest value (infinities too) becomes that value, sign kept.
    """
    form = row.floating
    largest = np.array(form.largest, np.uint8).view(row.numpy).astype(np.float32)
    limit = largest if form.saturates else np.float32(np.inf)

    def encode(x: Array) -> Array:
        # ml_dtypes turns what rounds beyond the largest into NaN; limiting first is the same as saturating afterwards.
        bits = np.clip(x, -limit, limit).astype(row.numpy).view(np.uint8)
        return np.where(np.isnan(x), np.uint8(form.smallest_nan), bits).view(row.numpy)

    return encode
