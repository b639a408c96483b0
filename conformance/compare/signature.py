"""A compiled kernel's parameters against the spec's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.sources.types import is_other_float8
from conformance.spec.kernel import Kernel, Parameter

_C_TYPES: dict[str, tuple[str, ...]] = {
    "f64": ("double",),
    "f32": ("float",),
    "i64": ("long", "long long", "int64_t"),
    "i32": ("int", "int32_t"),
    "i16": ("short", "int16_t"),
    "u32": ("unsigned int", "unsigned", "uint32_t"),
    "u8": ("unsigned char", "uint8_t"),
    "size_t": ("unsigned long", "unsigned long long", "size_t", "uint64_t"),
    "int": ("int", "int32_t"),
    "bool": ("bool",),
}
"""The C types that hold a dtype. Other dtypes (16- and 8-bit floats, packed blocks) are types of the port's own."""

_BUILTIN = {name for names in _C_TYPES.values() for name in names} | {"char", "signed char", "unsigned short", "void"}

_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "i64": 8, "i32": 4, "i16": 2, "u32": 4, "u8": 1}
_BYTES |= {"size_t": 8, "int": 4, "bool": 1}


@dataclass(frozen=True)
class CompiledParameter:
    """A parameter as the compiler saw it: its type in words (``None`` where only the size is known) and its size in
    bytes."""

    type: str | None
    size: int

    @property
    def is_pointer(self) -> bool:
        return self.pointee != " ".join(self._bare.split())

    @property
    def pointee(self) -> str:
        """The type pointed to (or the type itself), without qualifiers."""
        return " ".join(self._bare.replace("*", " ").split())

    @property
    def _bare(self) -> str:
        return re.sub(r"\b(const|volatile|__restrict__|__restrict|restrict)\b", " ", self.type or "")


def signature_difference(kernel: Kernel, parameters: Sequence[CompiledParameter] | None) -> str | None:
    """The first difference between ``kernel``'s parameters and the compiled ones, in words, or ``None``.

    ``parameters`` is ``None`` where the runtime cannot tell: nothing is checked then.
    """
    if parameters is None:
        return None
    if len(parameters) != len(kernel.params):
        return f"has {len(parameters)} parameters, Candle's has {len(kernel.params)} ({_list(kernel.params)})"
    for position, (have, want) in enumerate(zip(parameters, kernel.params, strict=True), 1):
        if not _matches(have, want):
            have_words = f"{have.size} bytes long" if have.type is None else have.type
            return f"parameter {position} is {have_words}, Candle's is {_words(want)}"
    return None


def _matches(have: CompiledParameter, want: Parameter) -> bool:
    if have.type is None:
        return have.size == (8 if want.pointer else _BYTES[want.dtype])
    if have.is_pointer != want.pointer:
        return False
    if want.dtype == "void*":
        return True
    if not want.pointer and have.size != _BYTES[want.dtype]:
        return False
    allowed = _C_TYPES.get(want.dtype)
    if allowed is not None:
        return have.pointee in allowed
    # 16- and 8-bit floats: any struct of the port's, or the storage integer of that size; never another number type.
    if is_other_float8(have.pointee):
        return False
    storage = {2: ("unsigned short",), 1: ("unsigned char",)}[_BYTES[want.dtype]]
    return have.pointee not in _BUILTIN or have.pointee in storage


def _words(parameter: Parameter) -> str:
    star = "" if parameter.dtype == "void*" else "*" if parameter.pointer else ""
    return f"{parameter.dtype}{star} {parameter.name}"


def _list(parameters: Sequence[Parameter]) -> str:
    return ", ".join(_words(parameter) for parameter in parameters)
