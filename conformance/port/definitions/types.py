"""C types in words, as the dtypes of the specs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.dtypes import DTYPES, FLOATS

_DTYPES: dict[str, frozenset[str]] = {
    spelled: frozenset(row.name for row in DTYPES.values() if spelled in row.c)
    for spelled in {spelled for row in DTYPES.values() for spelled in row.c}
}
_OTHER_FLOAT8 = re.compile(r"e5m2|fnuz|e8m0|e3m4|e4m3b11|f(?:p|loat)?8_?x_?[24]", re.IGNORECASE)
_QUALIFIER = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict)\b|\bstd::")


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
    return CType(base, _DTYPES.get(base, frozenset()), pointers)


def is_other_float8(name: str) -> bool:
    """Whether the type ``name`` is an 8-bit float that no dtype is, or a vector of 8-bit floats.

    ``f8e4m3`` is OCP's e4m3 (e4m3fn), HIP's ``__hip_fp8_e4m3``. The other formats have the same size and other values:
    e5m2, and AMD's FNUZ forms on gfx942.
    """
    return _OTHER_FLOAT8.search(_last(name)) is not None and own_float(name) is None


def own_float(name: str) -> str | None:
    """The dtype that a port's own type ``name`` seems to be: of the rows whose pattern is found in the last part of the
    name, the one that matches most of it. What looks like another 8-bit float must be inside of the match."""
    last = _last(name)
    other = _OTHER_FLOAT8.search(last)
    start, end = other.span() if other is not None else (len(last), 0)
    found = [
        (len(match.group()), row.name)
        for row in FLOATS
        if row.own is not None
        for match in row.own.finditer(last)
        if match.start() <= start and end <= match.end()
    ]
    return max(found, key=lambda pair: pair[0], default=(0, None))[1]


def _last(name: str) -> str:
    return name.rpartition("::")[2]
