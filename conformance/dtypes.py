"""The dtype spellings of Candle's kernels and what each is in numpy."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class DType:
    """One element type: its spelling, numpy dtype, the unsigned type of its bits, and its C kind."""

    name: str
    numpy: np.dtype[np.generic]
    bits: np.dtype[np.generic]
    kind: str  # "float", "int", "uint", "bool" or "bytes"

    @property
    def size(self) -> int:
        """Bytes per element."""
        return int(self.numpy.itemsize)


def _row(name: str, numpy: object, kind: str) -> DType:
    dtype = np.dtype(numpy)  # type: ignore[call-overload]
    return DType(name, dtype, np.dtype(f"u{dtype.itemsize}"), kind)


DTYPES: dict[str, DType] = {
    row.name: row
    for row in (
        _row("f64", np.float64, "float"),
        _row("f32", np.float32, "float"),
        _row("f16", np.float16, "float"),
        _row("bf16", ml_dtypes.bfloat16, "float"),
        _row("f8e4m3", ml_dtypes.float8_e4m3fn, "float"),
        _row("i64", np.int64, "int"),
        _row("i32", np.int32, "int"),
        _row("i16", np.int16, "int"),
        _row("u32", np.uint32, "uint"),
        _row("u8", np.uint8, "uint"),
        _row("size_t", np.uint64, "uint"),
        _row("int", np.int32, "int"),
        _row("bool", np.uint8, "bool"),
        _row("void*", np.uint8, "bytes"),
    )
}


def dtype(name: str) -> DType:
    """The row of ``name``; raises ``ValueError`` naming the known spellings when there is none."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ValueError(f"unknown dtype {name!r}; known: {', '.join(DTYPES)}") from None
