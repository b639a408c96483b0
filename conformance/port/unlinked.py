"""Symbols that the library of a source with launchers uses and does not have: whose doing that is, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from conformance.port.launchers import known_launchers, mangled_in, spells
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource

_UNDEFINED = re.compile(r"(?P<linker>lld: error: )?undefined (?:\w+ )?symbol: (?P<name>[\w.$:~]+)")
_OF_LIBRARIES = re.compile(
    r"hip(?:blas|blasLt|dnn|fft|rand|solver|sparse|sparselt|tensor)[A-Z_]"
    r"|roc(?:blas|fft|rand|solver|sparse|tx)[A-Z_]|miopen[A-Z]|cu(?:blas|blasLt|dnn|fft|rand|solver|sparse)[A-Z]|nccl[A-Z]"
)
"""How functions of ROCm's and CUDA's libraries are called that are not the runtime."""


class Unlinked(NamedTuple):
    """Why a library was not linked or loaded, and whether the port has to change for it."""

    why: str
    of_the_port: bool = True


def explained(why: str, source: KernelSource, others: Iterable[KernelSource], options: BuildOptions) -> Unlinked:
    """``why``, a compiler's or loader's words about ``source``, with what it names of ``others``, and what to do.

    A host function of another source is there when the port is linked, and so are ROCm's libraries; a device function
    is not, unless it was compiled with ``-fgpu-rdc``.
    """
    found = _UNDEFINED.search(why)
    if found is None:
        return Unlinked(why)
    name = plain_name(found["name"])
    if _OF_LIBRARIES.match(name):
        return Unlinked(f"it calls {name}, and launchers are linked here with the HIP runtime alone", of_the_port=False)
    spelling = [other for other in others if other != source and not other.is_code_object and spells(other, name)]
    if found["linker"]:
        rule = "without -fgpu-rdc a kernel calls what its source includes"
        return Unlinked(f"{why} ({name} is in {spelling[0].label}: {rule})" if spelling else why)
    defining = [
        other for other in spelling if name in mangled_in(other, options) or name in known_launchers(other, options)
    ]
    if not defining:
        return Unlinked(f"{why} ({name} is defined in no source)")
    advice = f"it calls {name}, which is in {defining[0].label}, and each source is linked by itself here"
    return Unlinked(f"{advice}: include what defines it", of_the_port=False)


def plain_name(symbol: str) -> str:
    """``helper`` of ``_ZN3own6helperEPv``, by Itanium's mangling, and of ``own::helper``."""
    if not symbol.startswith("_Z"):
        return symbol.rpartition("::")[2]
    rest, name = re.sub(r"^_Z(?:N[rVKRO]*|L)?", "", symbol), symbol
    while part := re.match(r"L?(\d+)", rest):
        end = part.end() + int(part[1])
        name, rest = rest[part.end() : end], rest[end:]
    return name
