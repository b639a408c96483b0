"""C types in words, as the dtypes of the specs."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES: dict[str, tuple[str, ...]] = {
    "f64": ("double",),
    "f32": ("float", "float32_t"),
    "f16": ("half", "__half", "_Float16", "__fp16", "float16_t", "half_t"),
    "bf16": ("__nv_bfloat16", "nv_bfloat16", "__hip_bfloat16", "hip_bfloat16", "__bf16", "bfloat16"),
    "f8e4m3": ("__nv_fp8_e4m3", "__hip_fp8_e4m3", "__nv_fp8_storage_t", "__hip_fp8_storage_t"),
    "i64": ("int64_t", "long", "long int", "long long", "long long int", "signed long"),
    "i32": ("int32_t", "int", "signed int", "signed"),
    "i16": ("int16_t", "short", "short int"),
    "u32": ("uint32_t", "unsigned int", "unsigned", "uint"),
    "u8": ("uint8_t", "unsigned char"),
    "size_t": ("size_t", "uint64_t", "unsigned long", "unsigned long int", "unsigned long long"),
    "int": ("int", "int32_t", "signed int", "signed"),
    "bool": ("bool",),
    "void*": ("void",),
}
_OTHER_FLOAT8 = re.compile(r"e5m2|fnuz|e8m0|e3m4|e4m3b11|f(?:p|loat)?8_?x_?[24]", re.IGNORECASE)
_QUALIFIER = re.compile(r"\b(const|volatile)\b|\bstd::")


@dataclass(frozen=True)
class CType:
    """A parameter's type.

    ``base`` is the type pointed to, or the type itself, without qualifiers; ``dtypes`` are those of the specs that it
    may be (none for a type of the source's own); ``pointers`` is how many pointers lead to it.
    """

    base: str
    dtypes: frozenset[str]
    pointers: int

    def is_dtype(self, dtype: str, pointer: bool) -> bool:
        """Whether a spec's ``dtype`` and ``pointer`` describe this type."""
        return dtype in self.dtypes and self.pointers == int(pointer)


def c_type(text: str) -> CType:
    """The type that ``text`` spells, such as ``const float *``."""
    pointers = text.count("*")
    base = " ".join(_QUALIFIER.sub(" ", text.replace("*", " ").replace("&", " ")).split())
    return CType(base, frozenset(dtype for dtype, names in _NAMES.items() if base in names), pointers)


def is_other_float8(name: str) -> bool:
    """Whether the type ``name`` is an 8-bit float other than ``f8e4m3``, or a vector of 8-bit floats.

    ``f8e4m3`` is OCP's e4m3 (e4m3fn), HIP's ``__hip_fp8_e4m3``. The other formats have the same size and other values:
    e5m2, and AMD's FNUZ forms on gfx942.
    """
    return _OTHER_FLOAT8.search(name.rpartition("::")[2]) is not None
