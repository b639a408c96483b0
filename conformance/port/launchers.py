"""The host functions that a port's sources define: its launchers, which Candle is linked with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from conformance.dtypes import dtype
from conformance.port.definitions.parameters import c_type
from conformance.port.definitions.scan import Definition, scan_source
from conformance.port.definitions.source_text import ScanError, reached
from conformance.port.options import BuildOptions
from conformance.port.signature import spelled
from conformance.port.sources import KernelSource
from conformance.reading import read_bytes
from conformance.spec.kernel import Kernel, Parameter

_MOST = 64 << 20
_OPAQUE = ("hipStream_t", "cudaStream_t", "CUstream")
"""Types of streams, which are pointers."""

_WIDE = 8


def stem(name: str) -> str:
    """The part of the launcher's name that its source has to spell out, whatever its macros paste: the first two
    words."""
    return "_".join(name.split("_")[:2])


def full_text(source: KernelSource, options: BuildOptions) -> bytes:
    """The bytes of the file ``source`` and the headers that it includes; empty for a code object.

    If its headers cannot be read, only those of the file: the error is reported where it is compiled.
    """
    if source.is_code_object:
        return b""
    places = (source.path.parent, *options.include_dirs, source.root)
    try:
        files = {source.path, *reached([source.path], places).files}
    except (OSError, ScanError):
        files = {source.path}
    return b"\n".join(map(_read, files))


def may_define(source: KernelSource, names: Collection[str], options: BuildOptions) -> bool:
    """Whether ``source`` or a header that it includes spells the beginning of one of ``names``."""
    text = full_text(source, options) if names else b""
    return any(one.encode() in text for one in {stem(name) for name in names})


def identifiers(source: KernelSource) -> frozenset[str]:
    """The identifiers in the file ``source``, words of comments included."""
    return frozenset(re.findall(r"\w+", _read(source.path).decode(errors="replace"), re.ASCII))


def _read(file: Path) -> bytes:
    """Its bytes; none where it cannot be read."""
    try:
        return read_bytes(file, _MOST)
    except OSError:
        return b""


def spells(source: KernelSource, name: str) -> bool:
    """Whether ``name`` is one of the ``identifiers`` of ``source``."""
    return name in identifiers(source)


def launchers_in(source: KernelSource, options: BuildOptions) -> dict[str, Definition]:
    """The host functions with C linkage that ``source`` defines, by name. Raises ``ScanError``."""
    return {one.name: one for one in scan_source(source, options).functions if one.extern_c}


def host_functions(source: KernelSource, options: BuildOptions, *, extern_c: bool) -> dict[str, Definition]:
    """The host functions of ``source`` with C linkage (``extern_c``), or those without, whose symbols are mangled.

    Empty where the source cannot be read.
    """
    try:
        return {one.name: one for one in scan_source(source, options).functions if one.extern_c == extern_c}
    except ScanError:
        return {}


def difference(launcher: Kernel, definition: Definition) -> str | None:
    """How the parameters of ``definition`` differ from the spec's, in words; ``None`` where a caller sees none.

    A caller does not see what a pointer points to.
    """
    wanted, given = launcher.params, definition.params
    whose = "Candle's" if launcher.own is None else "its spec's"
    if len(given) != len(wanted):
        has = "Candle's has" if launcher.own is None else "its spec has"
        return f"has {len(given)} parameters, {has} {len(wanted)} ({', '.join(map(spelled, wanted))})"
    for number, (have, want) in enumerate(zip(given, wanted, strict=True), 1):
        if not _passes(have.type, want):
            shown = f"{have.type} {have.name}".strip()
            return f"parameter {number} is {shown}, {whose} is {spelled(want)}"
    return None


def _passes(written: str, want: Parameter) -> bool:
    """Whether an argument for ``want`` arrives in a parameter of the type ``written``; so where that is not known."""
    have = c_type(written)
    pointer = have.pointers > 0 or have.base in _OPAQUE
    if want.role == "stream":
        return pointer or not have.dtypes or any(dtype(one).size == _WIDE for one in have.dtypes)
    if pointer or want.pointer:
        return pointer == want.pointer
    row = dtype(want.dtype)
    same = [
        one
        for one in have.dtypes
        if dtype(one).size == row.size and (dtype(one).kind == "float") == (row.kind == "float")
    ]
    return not have.dtypes or bool(same)


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
    """The error ``why`` of a compiler or loader about ``source``, with the sources among ``others`` that it names, and
    what to do.

    A host function of another source is there when the port is linked, and so are ROCm's libraries. A device function
    of another source is not, unless it was compiled with ``-fgpu-rdc``.
    """
    undefined = _UNDEFINED.search(why)
    if undefined is None:
        return Unlinked(why)
    name = plain_name(undefined["name"])
    if _OF_LIBRARIES.match(name):
        return Unlinked(
            f"it calls {name}, and launchers are linked here with no library but the HIP runtime", of_the_port=False
        )
    spelling = [other for other in others if other != source and not other.is_code_object and spells(other, name)]
    if undefined["linker"]:
        rule = "without -fgpu-rdc a kernel calls what its source includes"
        return Unlinked(f"{why} ({name} is in {spelling[0].label}: {rule})" if spelling else why)
    defining = [
        other for other in spelling for c in (False, True) if name in host_functions(other, options, extern_c=c)
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
