"""float8 e4m3 (finite only: bias 7, largest 448, NaN 0x7F and 0xFF) as Candle's kernels decode and encode it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

F8 = np.dtype(ml_dtypes.float8_e4m3fn)
LARGEST = np.float32(448)
_DECODED: NDArray[np.float32] = np.arange(256, dtype=np.uint8).view(F8).astype(np.float32)


def decode(x: NDArray[Any]) -> NDArray[np.float32]:
    """float8 -> float32, exact. Any shape."""
    return _DECODED[x.view(np.uint8)]


def encode(x: NDArray[np.float32]) -> NDArray[Any]:
    """float32 -> float8: nearest even, beyond 448 (infinities too) to 448 with the sign kept, every NaN to 0x7F."""
    # ml_dtypes turns what rounds beyond 448 into NaN; limiting first is the same as saturating afterwards.
    bits = np.clip(x, -LARGEST, LARGEST).astype(F8).view(np.uint8)
    return np.where(np.isnan(x), np.uint8(0x7F), bits).view(F8)
