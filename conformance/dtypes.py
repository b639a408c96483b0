"""The dtypes of Candle's kernels: one row each for numpy, C, the bits of floats and the reports.

A port may declare further ones for its own kernels (``declare``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, ParamSpec, TypeVar, cast

import ml_dtypes
import numpy as np

Kind = Literal["float", "int", "uint", "bool", "bytes"]


@dataclass(frozen=True)
class FloatFormat:
    """The bits of a float type, and how Candle's kernels compute in it.

    ``exponent`` and ``mantissa`` are widths in bits. ``largest`` is the bit pattern of the largest finite value; the
    patterns after it are infinity, if the type ``has_inf``, and NaN. With ``saturates`` the conversion of a larger
    number gives the largest finite value. With ``unsigned_zero`` the pattern of -0 is the only NaN and the bias is
    greater by one, as in AMD's FNUZ types.

    ``computes`` says where Candle rounds: ``natively``, every operation in the type itself; ``each``, every operation
    rounded to the type; ``f32``, the whole formula in float32 and one rounding at the end.
    """

    exponent: int
    mantissa: int
    largest: int
    computes: Literal["natively", "each", "f32"]
    has_inf: bool = True
    saturates: bool = False
    unsigned_zero: bool = False

    @property
    def bias(self) -> int:
        """What is subtracted from the exponent's bits: 127 for f32."""
        return (1 << self.exponent - 1) - 1 + self.unsigned_zero

    @property
    def smallest_nan(self) -> int:
        """The smallest NaN without its sign, as a bit pattern: all greater ones are NaN too. Means nothing with
        ``unsigned_zero``."""
        return self.largest + 1 + self.has_inf


@dataclass(frozen=True)
class DType:
    """One element type of kernels: a row of the table below.

    ``name`` is its name in specs and case ids. ``c`` are its names in C, HIP and CUDA. ``own`` matches names that ports
    give to a type that they define for it themselves. ``spellings`` are further names of it inside of kernel names.
    ``column`` says whether reports have a column for it.
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
        """The unsigned numpy type of the same size, for comparing bits."""
        return np.dtype(f"u{self.size}")

    @property
    def is_integer(self) -> bool:
        """Whether it is a signed or unsigned integer; ``bool`` and ``void*`` are none."""
        return self.kind in ("int", "uint")

    @property
    def floating(self) -> FloatFormat:
        """The type's float format. Raises ``ValueError`` for a type that is no float."""
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
_FURTHER_INTEGERS = {
    "int8": ("int8_t", "signed char"),
    "uint16": ("uint16_t", "unsigned short", "unsigned short int"),
}
"""What C calls the integers that no kernel of Candle's has."""

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

NEW_DTYPE = "a new dtype needs a row in conformance/dtypes.py, one of own kernels a row in the file `dtypes` of [own]"

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


@dataclass(frozen=True)
class DeclaredDType:
    """A dtype that a port declares for its own kernels.

    ``name`` is its name in the port's specs, ``numpy`` the name of a type of numpy or ml_dtypes with the same bits,
    ``c`` its names in C and HIP. With ``saturates`` a conversion of a number that is too large gives the largest finite
    value.
    """

    name: str
    numpy: str
    c: tuple[str, ...]
    saturates: bool = False


_SHIPPED = frozenset(DTYPES)
_declared: list[DeclaredDType] = []
_of_others: list[Callable[[], None]] = []
"""What forgets the answers that were kept while other dtypes were declared."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def kept_by_dtype(function: Callable[_P, _T], most: int = 256) -> Callable[_P, _T]:
    """``functools.lru_cache`` for a ``function`` that takes names of dtypes.

    ``declare`` empties it, since a name may stand for another type afterwards (in ``--watch``, after the port's file
    was edited). ``most`` is the number of answers that are kept.
    """
    kept = lru_cache(most)(function)
    _of_others.append(kept.cache_clear)
    return cast("Callable[_P, _T]", kept)


def declare(rows: Sequence[DeclaredDType]) -> None:
    """Have ``DTYPES`` hold ``rows`` besides Candle's dtypes, in place of those that were declared before.

    Raises ``ValueError``, which names the row, for a name that is taken and for a type that no element in memory can
    have.
    """
    taken = next((row.name for row in rows if row.name in _SHIPPED), None)
    if taken is not None:
        raise ValueError(f"{taken}: is a dtype of candle-parity's; give the port's another name")
    made = {row.name: _made(row) for row in rows}
    if list(rows) == _declared:
        return
    for forget in _of_others:
        forget()
    for row in _declared:
        DTYPES.pop(row.name, None)
    DTYPES.update(made)
    _declared[:] = rows


def declared() -> tuple[DeclaredDType, ...]:
    """The dtypes that the last ``declare`` added. They are sent to the other processes of a run."""
    return tuple(_declared)


def _made(row: DeclaredDType) -> DType:
    """The row of ``DTYPES``; what a float's bits mean is found out from the type itself."""
    try:
        kind = np.dtype(getattr(ml_dtypes, row.numpy, row.numpy))
    except (TypeError, ValueError, SyntaxError):  # numpy reads a text with a comma as one of Python's
        raise ValueError(
            f"{row.name}: neither numpy nor ml_dtypes has a type {row.numpy!r}; expected one such as float8_e5m2"
        ) from None
    # Of the other byte order a type has the same name.
    if kind.isnative and kind.kind in "iu" and kind.name == f"{'u' * (kind.kind == 'u')}int{8 * kind.itemsize}":
        # A name of the port's own for an integer is seen as what it stands for.
        plain = [name for other in _ROWS if other.is_integer and other.numpy == kind for name in other.c]
        names = (*row.c, *plain, *_FURTHER_INTEGERS.get(kind.name, ()))
        return _row(row.name, kind, "int" if kind.kind == "i" else "uint", names, column=False)
    if row.numpy in vars(ml_dtypes) or kind.kind == "f":
        form = _format(kind, row.saturates)
        if form is not None:
            return _row(row.name, kind, "float", row.c, form, column=False)
    raise ValueError(
        f"{row.name}: elements of {row.numpy} cannot be compared; expected an integer of 8 to 64 bits, or a float of "
        "as many with sign, exponent and mantissa; declare packed values as uint8, and unpack them in the reference"
    )


def _format(kind: np.dtype[np.generic], saturates: bool) -> FloatFormat | None:
    """What the bits of ``kind`` mean; ``None`` where they are not a sign, an exponent and a mantissa as in IEEE 754."""
    width = 8 * kind.itemsize
    if width > 64:
        return None
    try:
        limits = ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    except ValueError:  # an integer of ml_dtypes'
        return None
    bits = np.dtype(f"u{kind.itemsize}")

    def pattern(value: object) -> int:
        return int(np.array([value]).astype(kind).view(bits)[0])

    def value(pattern: int) -> float:
        return float(np.array([pattern], bits).view(kind)[0])

    largest = pattern(limits.max)
    form = FloatFormat(
        int(limits.nexp),
        int(limits.nmant),
        largest,
        "f32" if width == 8 else "each" if width == 16 else "natively",
        has_inf=bool(np.isinf(value(largest + 1))),
        saturates=saturates,
        unsigned_zero=bool(np.isnan(value(1 << width - 1))),
    )
    has_sign = form.exponent + form.mantissa + 1 == width and value(1 << form.mantissa) > 0
    return form if has_sign and pattern(1.0) == form.bias << form.mantissa else None


def dtype(name: str) -> DType:
    """The row of the dtype ``name``, a name of specs such as ``f16``. Raises ``ValueError``, which lists the known
    names."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ValueError(f"unknown dtype {name!r}; known: {', '.join(DTYPES)}; {NEW_DTYPE}") from None
