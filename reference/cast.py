"""cast: ``out = (dst) inp``, with CUDA's conversions where C++ leaves the result undefined."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.dtypes import DTYPES, dtype
from reference.arithmetic import ARITHMETIC
from reference.exact import rounded_once
from reference.expected import Expected
from reference.result import contiguous
from reference.rounding import rounded
from reference.strided import bits, one_operand

Array = NDArray[Any]

_NAN_I64 = -(2**63)
_NAN_F64_U32 = 0x80000000
_LIMITS = {"u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1)}
_INTEGERS = {row.name: row.numpy.type for row in DTYPES.values() if row.is_integer}


@np.errstate(all="ignore")
def cast(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array | None,
    inp: Array | None,
    out: Array,
) -> dict[str, Expected]:
    """``inp`` has ``src_dtype`` and ``out`` ``dst_dtype``. Same type: a copy of the bits.

    With ``byte-saturation`` fixed floats beyond a byte become its nearest value, and NaN 0.
    """
    src, dst = variant["src_dtype"], variant["dst_dtype"]
    saturates = variant.get("fixed") == "byte-saturation"
    x = one_operand(numel, num_dims, info, inp, out)
    if src == dst:
        value = x
    elif saturates:
        value = np.nan_to_num(np.clip(ARITHMETIC[src].load(x).astype(np.float64), 0, 255), nan=0).astype(out.dtype)
    elif x.dtype.itemsize <= 2:
        value = _table(src, dst, x.dtype, out.dtype)[bits(x)]
    else:
        value = _convert(x, src, dst, out.dtype)
        if dst in ARITHMETIC and dtype(dst).floating.computes == "f32":
            # By way of float32, that is rounded twice.
            exact = rounded_once(dst, lambda a: [x.astype(a.carrier)])
            return {"out": contiguous(out, value, exact=exact)}
    return {"out": contiguous(out, value)}


@cache
@np.errstate(all="ignore")
def _table(src: str, dst: str, source: np.dtype[Any], target: np.dtype[Any]) -> Array:
    """The conversion of every bit pattern of an 8- or 16-bit type, in the order of the patterns."""
    size = source.itemsize
    return _convert(np.arange(1 << (8 * size), dtype=f"u{size}").view(source), src, dst, target)


def _convert(x: Array, src: str, dst: str, target: np.dtype[Any]) -> Array:
    if src in _INTEGERS:
        return x.astype(target) if dst in _INTEGERS else _from_integer(x, dst, target)
    if dst in _INTEGERS:
        value = ARITHMETIC[src].load(x).astype(np.float64, copy=False)
        return _to_integer(value, dst, nan_u32=_NAN_F64_U32 if src == "f64" else 0)
    return _narrow(ARITHMETIC[src].load(x), dst, target)


def _from_integer(x: Array, dst: str, target: np.dtype[Any]) -> Array:
    # The integers that are converted to 16-bit floats have 32 bits at most: exact in float64.
    return x.astype(target) if target.itemsize >= 4 else _narrow(x, dst, target)


def _narrow(x: Array, dst: str, target: np.dtype[Any]) -> Array:
    if dtype(dst).floating.computes == "f32":
        # An 8-bit float is made from a float32, also from float64: two roundings, as in Candle.
        return ARITHMETIC[dst].store(x.astype(np.float32))
    return rounded(x.astype(np.float64), target)


def _to_integer(x: Array, dst: str, nan_u32: int) -> Array:
    """float64 -> integer as PTX ``cvt.rzi`` does: towards zero, saturating; NaN as the instruction answers.

    There is no 8-bit instruction: u8 is the low byte of the conversion to u32.
    """
    if dst == "i64":
        # 2^63 is a float64 and its neighbour below fits: clamp by comparison, since 2^63 - 1 is not a float64.
        inside = np.abs(x) < 2.0**63
        value = np.where(inside, x, 0).astype(np.int64)
        beyond = np.where(x > 0, np.int64(2**63 - 1), np.int64(_NAN_I64))
        return np.where(inside, value, beyond)
    wide = "i32" if dst == "i32" else "u32"
    least, most = _LIMITS[wide]
    nan = nan_u32 if wide == "u32" else 0
    whole = np.where(np.isnan(x), nan, np.clip(x, least, most)).astype(np.int64)
    return whole.astype(_INTEGERS[dst])
