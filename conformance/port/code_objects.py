"""What an AMD code object says of its kernels: arguments, registers, spills, shared memory, scratch, wave size.

The source is the note record ``AMDGPU`` of type 32 (code object version 3 and later), a msgpack map that LLVM's AMDGPU
usage document describes under "Code Object Metadata".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import NoteSegment

from conformance.port.bundles import UNKNOWN, amd_entries, choose
from conformance.reading import MIB, read_bytes
from conformance.text import some
from conformance.toolchains.targets import AmdError, OtherDevice

_MOST = 1024 * MIB
_AMDGPU = 224
_OTHER_MACHINES = {
    3: "an x86 processor",
    62: "an x86-64 processor (a host library)",
    183: "an ARM processor (a host library)",
    190: "an NVIDIA GPU (a CUDA cubin)",
    243: "a RISC-V processor (a host library)",
    247: "the BPF machine",
}
_NOTE_METADATA = 32


@dataclass(frozen=True)
class Argument:
    """A parameter of a kernel that the caller passes: its offset and size in the argument segment, in bytes, and its
    value kind."""

    offset: int
    size: int
    kind: str

    @property
    def is_pointer(self) -> bool:
        """Whether it is a pointer to global memory."""
        return self.kind == "global_buffer"


@dataclass(frozen=True)
class KernelObject:
    """A kernel of a code object.

    ``vgprs`` and ``sgprs`` are numbers of registers, ``vgpr_spills`` and ``sgpr_spills`` of registers that were written
    to memory. ``lds`` is the static shared memory of a block, ``scratch`` the memory of a thread, and ``kernarg`` the
    size of the argument segment, all in bytes. ``wave`` is in lanes, ``max_workgroup`` in threads. ``None`` where the
    code object does not say.
    """

    name: str
    arguments: tuple[Argument, ...]
    vgprs: int
    sgprs: int
    vgpr_spills: int | None
    sgpr_spills: int | None
    lds: int
    scratch: int
    wave: int
    max_workgroup: int
    kernarg: int


@dataclass(frozen=True)
class CodeObject:
    """A code object: its kernels by name, its ``target`` (``gfx942``, or ``gfx90a:xnack-`` with features), and ``elf``,
    the file that they were read from."""

    target: str
    kernels: Mapping[str, KernelObject]
    elf: bytes = field(default=b"", repr=False)


# What the readers of ELF and msgpack raise on bytes that are neither.
DAMAGE = (
    *(ELFError, ConstructError, msgpack.UnpackException, struct.error),
    *(LookupError, TypeError, ValueError, AttributeError, OverflowError),
)


def read_code_objects(path: Path) -> list[CodeObject]:
    """The code objects in the file ``path``: one, or one for each AMD target of an offload bundle.

    Raises ``AmdError`` for a file that cannot be read or is no AMD code object.
    """
    try:
        data = read_bytes(path, _MOST)
    except OSError as error:
        raise AmdError(f"{path}: cannot be read ({error.strerror})") from error
    entries = amd_entries(data, str(path))
    if entries is None:
        return [parse(data, str(path))]
    return [parse(code, f"{path} ({target})") for target, code in entries]


def code_for(data: bytes, arch: str, label: str) -> tuple[CodeObject, bytes]:
    """The code object that a device of ``arch`` takes, and its bytes. ``data`` is an ELF file or an offload bundle.

    Raises ``AmdError``; ``OtherDevice`` where there is none for the device; ``CompressedBundle``.
    """
    entries = amd_entries(data, label)
    if entries is None:
        entries = [(parse(data, label).target, data)]
    targets = [target for target, _ in entries]
    number = choose(targets, arch)
    if number is None:
        processor = arch.partition(":")[0]
        raise OtherDevice(
            f"{label}: is for {', '.join(targets)}, the device is {arch}; build it with --offload-arch={processor}, or "
            "give the sources"
        )
    code = entries[number][1]
    return parse(code, label), code


def embedded(library: bytes, arch: str, label: str) -> bytes:
    """The code object for a device of ``arch`` inside of a shared library with host functions.

    Raises ``AmdError`` as ``code_for``, also where the library has none.
    """
    try:
        section = ELFFile(BytesIO(library)).get_section_by_name(_EMBEDDED)
        data = b"" if section is None else bytes(section.data())
    except DAMAGE:
        data = b""
    if not data:
        raise AmdError(f"{label}: is not a library with code for an AMD GPU")
    return code_for(data, arch, label)[1]


_EMBEDDED = ".hip_fatbin"
"""The section in which clang puts the offload bundle."""


def parse(data: bytes, label: str) -> CodeObject:
    """The code object whose bytes are ``data``; ``label`` names it in errors. Raises ``AmdError``."""
    if not data.startswith(b"\x7fELF"):
        raise AmdError(f"{label}: is not a code object (an ELF file or an offload bundle was expected)")
    try:
        return _parse(data, label)
    except DAMAGE as error:
        if isinstance(error, AmdError):
            raise
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise AmdError(f"{label}: is a damaged code object ({why}); build it again") from error


def _parse(data: bytes, label: str) -> CodeObject:
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine != _AMDGPU:
        what = _OTHER_MACHINES.get(machine, f"another machine (ELF machine {machine})")
        raise AmdError(f"{label}: is built for {what}; expected a code object for an AMD GPU")
    elf = ELFFile(BytesIO(data))
    lacking = undefined(elf)
    if lacking is not None:
        raise AmdError(f"{label}: {lacking}; link it with what defines that")
    segments = (segment for segment in elf.iter_segments() if isinstance(segment, NoteSegment))
    for segment in segments:
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (_NOTE_METADATA, "NT_AMDGPU_METADATA"):
                return _code_object(msgpack.unpackb(note["n_descdata"]), data)
    raise AmdError(f"{label}: has no AMDGPU metadata; build it with -mcode-object-version=5 (3 or later is read)")


def _code_object(metadata: Mapping[str, Any], data: bytes) -> CodeObject:
    name = metadata.get("amdhsa.target", "").partition("amdgcn-amd-amdhsa--")[2] or UNKNOWN
    kernels = (_kernel(row) for row in metadata.get("amdhsa.kernels", ()))
    return CodeObject(name, {kernel.name: kernel for kernel in kernels}, data)


def _kernel(row: Mapping[str, Any]) -> KernelObject:
    arguments = tuple(
        Argument(_count(arg, ".offset"), _count(arg, ".size"), arg[".value_kind"])
        for arg in row.get(".args", ())
        if not arg[".value_kind"].startswith("hidden_")
    )
    return KernelObject(
        name=str(row[".name"]),
        arguments=arguments,
        vgprs=_count(row, ".vgpr_count"),
        sgprs=_count(row, ".sgpr_count"),
        vgpr_spills=_count(row, ".vgpr_spill_count") if ".vgpr_spill_count" in row else None,
        sgpr_spills=_count(row, ".sgpr_spill_count") if ".sgpr_spill_count" in row else None,
        lds=_count(row, ".group_segment_fixed_size"),
        scratch=_count(row, ".private_segment_fixed_size"),
        wave=_count(row, ".wavefront_size"),
        max_workgroup=_count(row, ".max_flat_workgroup_size"),
        kernarg=_count(row, ".kernarg_segment_size"),
    )


def _count(row: Mapping[str, Any], key: str) -> int:
    value = row[key]
    if not isinstance(value, int) or value < 0:
        raise TypeError(f"{key} is {value!r}")
    return value


_LITERALS = range(0, 33, 4)
"""How far before its literal the program counter may be that an instruction adds it to, in bytes."""


def undefined(elf: ELFFile) -> str | None:
    """The first undefined symbol and the functions that use it, in words; ``None`` where every symbol is defined."""
    table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return None
    names = [
        symbol.name
        for symbol in table.iter_symbols()
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL" and symbol.name
    ]
    if not names:
        return None
    users = sorted(set(_users(elf, table, names[0])))
    by = f" by {some(users, 3)}" if users else ""
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return f"{names[0]}{more} is used{by} and defined nowhere, so that no GPU would load it"


def _users(elf: ELFFile, table: SymbolTableSection, name: str) -> Iterator[str]:
    """The functions whose code holds the distance to a place that is relocated to the symbol ``name``."""
    slots = [
        relocation["r_offset"]
        for section in elf.iter_sections()
        if isinstance(section, RelocationSection)
        for relocation in section.iter_relocations()
        if table.get_symbol(relocation["r_info_sym"]).name == name
    ]
    for user, address, code in functions(elf, [table]):
        words = np.frombuffer(code[: len(code) // 4 * 4], "<i4").astype(np.int64)
        places = address + 4 * np.arange(len(words))
        if any(np.isin(words + places - slot, _LITERALS).any() for slot in slots):
            yield user


def functions(elf: ELFFile, tables: Iterable[SymbolTableSection] | None = None) -> Iterator[tuple[str, int, bytes]]:
    """Name, address and machine code of each function in the symbol ``tables``; by default in all tables of ``elf``."""
    if tables is None:
        tables = (section for section in elf.iter_sections() if isinstance(section, SymbolTableSection))
    seen: set[int] = set()
    for symbol in (symbol for table in tables for symbol in table.iter_symbols()):
        index, address, size = symbol["st_shndx"], symbol["st_value"], symbol["st_size"]
        if symbol["st_info"]["type"] != "STT_FUNC" or not isinstance(index, int) or not size or address in seen:
            continue
        seen.add(address)
        section = elf.get_section(index)
        start = address - section["sh_addr"]
        yield symbol.name, address, section.data()[start : start + size]
