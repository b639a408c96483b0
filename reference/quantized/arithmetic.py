"""Products that are added: fused, as CUDA compiles them, or rounded first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.expected import Expected
from reference.fma import fma_f32
from reference.result import contiguous

Array = NDArray[Any]

Fma = Callable[[Array, Array, Array], Array]
"""``a * b + c`` in float32."""


def fused(a: Array, b: Array, c: Array) -> Array:
    """One rounding. Broadcasts."""
    whole = np.broadcast_arrays(a, b, c)
    return np.asarray(fma_f32(*(x.reshape(-1) for x in whole))).reshape(whole[0].shape)


def unfused(a: Array, b: Array, c: Array) -> Array:
    """Two roundings."""
    return np.asarray(a * b + c)


def either(before: Array, compute: Callable[[Fma], Array]) -> Expected:
    """The content of a buffer whose first elements are ``compute(fma)``, flat.

    The value is CUDA's, with every product fused that its code for compute capability 9.0 fuses. A compiler need not
    fuse: the interval reaches to the same operations with none fused.
    """
    value, other = (compute(fma).reshape(-1) for fma in (fused, unfused))
    # NaN is not in an interval: where one form overflows and the other does not, the value alone stands.
    other = np.where(np.isfinite(other) & np.isfinite(value), other, value)
    return contiguous(before, value, np.minimum(value, other), np.maximum(value, other))


def as_f32(x: Array) -> Array:
    """Integers below 2^24 as float32, exactly."""
    return x.astype(np.float32)
