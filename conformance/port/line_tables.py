"""Lines of the sources that an instruction of an AMD code object comes from, by its DWARF (versions 4 and 5)."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from conformance.port.sources import KernelSource

_DAMAGE = (
    *(ELFError, DWARFError, ConstructError, struct.error, UnicodeError),
    *(LookupError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, RecursionError),
)
"""What the reader raises on bytes that are no DWARF."""

_OF_VENDORS = re.compile(r"^/opt/rocm|/include/hip/|/amd_detail/|/c\+\+/|/lib/clang/|(?:^|/)__clang_[^/]*$")
"""Paths of headers that come with a compiler or with ROCm."""

_ADDRESS = re.compile(r"\bat 0x(?P<address>[0-9a-f]+)\b")
"""How the isa runtime's messages name an instruction: by its address in the code object."""

Place = tuple[str, int]
"""A file as the compiler was given it, and a line."""


@dataclass(frozen=True)
class _Inlined:
    """Code of a function that was inlined, and where it is called; those inside of others come later."""

    begin: int
    end: int
    call: Place


@dataclass
class LineTable:
    """Where the instructions of a code object come from; empty without line tables, or with damaged ones."""

    addresses: list[int] = field(default_factory=list)
    places: list[Place | None] = field(default_factory=list)
    inlined: list[_Inlined] = field(default_factory=list)

    def stack(self, address: int) -> list[Place]:
        """The place of the instruction at ``address``, then those of the calls that were inlined around it."""
        at = bisect_right(self.addresses, address) - 1
        place = self.places[at] if at >= 0 else None
        calls = [each.call for each in self.inlined if each.begin <= address < each.end]
        found = ([] if place is None else [place]) + calls[::-1]
        return [(file, line) for file, line in found if line]

    def own(self, address: int, root: Path) -> Place | None:
        """The innermost of these places that is below ``root`` or in no header of a compiler or of ROCm."""
        places = self.stack(address)
        return next((p for p in places if p[0].startswith(f"{root}/") or not _OF_VENDORS.search(p[0])), None)


def read_line_table(elf: bytes) -> LineTable:
    """The line table of the code object ``elf``."""
    try:
        dwarf = ELFFile(BytesIO(elf)).get_dwarf_info(relocate_dwarf_sections=False)
        rows: list[tuple[int, bool, Place | None]] = []
        inlined: list[_Inlined] = []
        for unit in dwarf.iter_CUs() if dwarf.has_debug_info else ():
            program = dwarf.line_program_for_CU(unit)
            if program is None:
                continue
            files = _files(program)
            for entry in program.get_entries():
                if entry.state is not None:
                    ends = bool(entry.state.end_sequence)
                    place = None if ends else (files.get(entry.state.file, ""), entry.state.line)
                    rows.append((entry.state.address, not ends, place))
            inlined += _inlined(dwarf, unit, files)
    except _DAMAGE:
        return LineTable()
    rows.sort(key=lambda row: row[:2])  # where one sequence ends and another begins, the latter counts
    return LineTable([row[0] for row in rows], [row[2] for row in rows], inlined)


def with_places(message: str, table: Callable[[], LineTable], source: KernelSource) -> str:
    """``message`` of a fault in code of ``source``, with ``at FILE:LINE (0x1a1c)`` in place of ``at 0x1a1c`` where the
    line is known. ``table`` is asked for only where an address is named."""

    def placed(found: re.Match[str]) -> str:
        place = table().own(int(found["address"], 16), source.root)
        if place is None:
            return found[0]
        file = place[0] if source.is_code_object else source.label_of(place[0])
        return f"at {file}:{place[1]} (0x{found['address']})"

    return _ADDRESS.sub(placed, message)


def _files(program: Any) -> dict[int, str]:
    """Paths by their number; from 1 on before DWARF 5, whose first folder is that of the compilation."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    folders = [name.decode(errors="replace") for name in header.include_directory]
    folders = folders if first == 0 else ["", *folders]
    found = {}
    for number, entry in enumerate(header.file_entry, first):
        name, folder = entry.name.decode(errors="replace"), folders[entry.dir_index]
        found[number] = name if name.startswith("/") or folder in ("", ".") else f"{folder}/{name}"
    return found


def _inlined(dwarf: Any, unit: Any, files: dict[int, str]) -> Iterator[_Inlined]:
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    for die in unit.iter_DIEs():
        if die.tag != "DW_TAG_inlined_subroutine" or "DW_AT_call_line" not in die.attributes:
            continue
        call = (files.get(die.attributes["DW_AT_call_file"].value, ""), die.attributes["DW_AT_call_line"].value)
        for begin, end in _ranges(dwarf, unit, die.attributes, 0 if base is None else base.value):
            yield _Inlined(begin, end, call)


def _ranges(dwarf: Any, unit: Any, attributes: Any, base: int) -> Iterator[tuple[int, int]]:
    """The addresses of what has ``attributes``."""
    if "DW_AT_ranges" in attributes:
        for entry in dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            else:
                start = 0 if entry.is_absolute else base
                yield start + entry.begin_offset, start + entry.end_offset
    elif "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value
