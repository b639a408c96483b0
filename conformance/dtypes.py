"""The dtypes of Candle's kernels: one row each for numpy, C, the bits of floats and the reports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import ml_dtypes
import numpy as np

Kind = Literal["float", "int", "uint", "bool", "bytes"]


@dataclass(frozen=True)
class FloatFormat:
    """The bits of a float and how Candle's kernels compute in it.

    ``exponent`` and ``mantissa`` are widths in bits and ``largest`` is the pattern of the largest finite value. Beyond
    it come infinity, where ``has_inf``, and the NaN patterns. ``saturates``: a conversion makes the largest value of
    what is too large. ``computes`` tells where a formula rounds: ``natively`` in the type itself, ``each`` operation
    rounded to the type, or ``f32``: computed in float32 and rounded once, at the end.
    """

    exponent: int
    mantissa: int
    largest: int
    computes: Literal["natively", "each", "f32"]
    has_inf: bool = True
    saturates: bool = False

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def smallest_nan(self) -> int:
        """The pattern, without its sign, from which on all are NaN."""
        return self.largest + 1 + self.has_inf


@dataclass(frozen=True)
class DType:
    """One element type.

    ``name`` is its spelling in the specs, ``bits`` the unsigned type of its bits. ``c`` is what C, HIP and CUDA call
    it, and ``own`` is found in the names that ports give to a type of their own for it. ``spellings`` are its other
    names in kernel names. ``column`` says that reports have a column for it.
    """

    name: str
    numpy: np.dtype[np.generic]
    kind: Kind
    c: tuple[str, ...]
    format: FloatFormat | None = None
    own: re.Pattern[str] | None = None
    spellings: tuple[str, ...] = ()
    column: bool = True

    @cached_property
    def size(self) -> int:
        """Bytes per element."""
        return int(self.numpy.itemsize)

    @cached_property
    def bits(self) -> np.dtype[np.generic]:
        return np.dtype(f"u{self.size}")

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def floating(self) -> FloatFormat:
        """The row's format; raises ``ValueError`` where the type is not a float."""
        if self.format is None:
            raise ValueError(f"dtype {self.name} is not a float: its row in conformance/dtypes.py has no format")
        return self.format


def _row(
    name: str,
    numpy: object,
    kind: Kind,
    c: tuple[str, ...],
    format: FloatFormat | None = None,
    own: str | None = None,
    spellings: tuple[str, ...] = (),
    column: bool = True,
) -> DType:
    pattern = None if own is None else re.compile(own, re.IGNORECASE)
    return DType(name, np.dtype(numpy), kind, c, format, pattern, spellings, column)  # type: ignore[call-overload]


_HALF = ("half", "__half", "_Float16", "__fp16", "float16_t", "half_t")
_BFLOAT = ("__nv_bfloat16", "nv_bfloat16", "__hip_bfloat16", "hip_bfloat16", "__bf16", "bfloat16")
_FLOAT8 = ("__nv_fp8_e4m3", "__hip_fp8_e4m3", "__nv_fp8_storage_t", "__hip_fp8_storage_t")
_LONG = ("int64_t", "long", "long int", "long long", "long long int", "signed long")
_INT = ("int", "int32_t", "signed int", "signed")
_UNSIGNED = ("uint32_t", "unsigned int", "unsigned", "uint")
_SIZE = (
    *("size_t", "uint64_t", "unsigned long", "unsigned long int", "long unsigned int"),
    *("unsigned long long", "unsigned long long int", "long long unsigned int"),
)
_E4M3 = ("f8_e4m3", "fp8_e4m3", "fp8e4m3")
_OCP_E4M3 = FloatFormat(4, 3, 0x7E, "f32", has_inf=False, saturates=True)

# In the order of the reports' columns.
_ROWS = (
    _row("f64", np.float64, "float", ("double",), FloatFormat(11, 52, 0x7FEFFFFFFFFFFFFF, "natively")),
    _row("f32", np.float32, "float", ("float", "float32_t"), FloatFormat(8, 23, 0x7F7FFFFF, "natively")),
    _row("f16", np.float16, "float", _HALF, FloatFormat(5, 10, 0x7BFF, "each"), own="f16|fp16|float16|half"),
    _row("bf16", ml_dtypes.bfloat16, "float", _BFLOAT, FloatFormat(8, 7, 0x7F7F, "each"), own="bf16|bfloat16"),
    _row("f8e4m3", ml_dtypes.float8_e4m3fn, "float", _FLOAT8, _OCP_E4M3, own="f8|fp8|float8|e4m3", spellings=_E4M3),
    _row("i64", np.int64, "int", _LONG),
    _row("i32", np.int32, "int", _INT),
    _row("i16", np.int16, "int", ("int16_t", "short", "short int")),
    _row("u32", np.uint32, "uint", _UNSIGNED),
    _row("u8", np.uint8, "uint", ("uint8_t", "unsigned char")),
    _row("size_t", np.uint64, "uint", _SIZE, column=False),
    _row("int", np.int32, "int", _INT, column=False),
    _row("bool", np.uint8, "bool", ("bool",), column=False),
    _row("void*", np.uint8, "bytes", ("void",), column=False),
)

DTYPES: dict[str, DType] = {row.name: row for row in _ROWS}

FLOATS: tuple[DType, ...] = tuple(row for row in _ROWS if row.format is not None)

COLUMNS: tuple[str, ...] = tuple(row.name for row in _ROWS if row.column)
"""The dtypes that elements of kernels have, in the order of the reports' columns."""

SPELLINGS: dict[str, str] = {
    spelling: row.name
    for spelling, row in sorted(
        ((spelling, row) for row in _ROWS if row.column for spelling in (row.name, *row.spellings)),
        key=lambda pair: -len(pair[0]),
    )
}
"""How kernel names spell a dtype, longest first: one may end in another."""


def dtype(name: str) -> DType:
    """The row of ``name``; raises ``ValueError`` naming the known spellings when there is none."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ValueError(
            f"unknown dtype {name!r}; known: {', '.join(DTYPES)}; a new one needs a row in conformance/dtypes.py"
        ) from None
