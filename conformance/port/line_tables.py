"""Lines of the sources that an instruction of an AMD code object comes from, by its DWARF (versions 4 and 5)."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import DWARFError
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from conformance.port.code_objects import DAMAGE
from conformance.port.sources import KernelSource

_DAMAGE = (*DAMAGE, DWARFError, AssertionError, RecursionError)
"""What the reader raises on bytes that are not DWARF."""

_OF_VENDORS = re.compile(r"^/opt/rocm|/include/hip/|/amd_detail/|/c\+\+/|/lib/clang/|(?:^|/)__clang_[^/]*$")
"""Paths of headers that come with a compiler or with ROCm."""

_ADDRESS = re.compile(r"\bat 0x(?P<address>[0-9a-f]+)\b")
"""How the isa runtime's messages name an instruction: by its address in the code object."""

Place = tuple[str, int]
"""A file as the compiler was given it, and a line."""


@dataclass(frozen=True)
class _Body:
    """Code of the function ``name``, and where it is called if it was inlined; those inside of others come later."""

    begin: int
    end: int
    name: str
    call: Place | None


class Frame(NamedTuple):
    """A function, by its name with template arguments, and the place in it. The line is 0 where it is unknown."""

    function: str
    file: str
    line: int


@dataclass
class LineTable:
    """Where the instructions of a code object come from. Empty for one without line tables, or with damaged ones."""

    addresses: list[int] = field(default_factory=list)
    places: list[Place | None] = field(default_factory=list)
    bodies: list[_Body] = field(default_factory=list)

    def frames(self, address: int) -> list[Frame]:
        """The function whose code is at ``address``, then the functions into which it was inlined, each with the place
        in it.

        The last one is the function that the linker knows.
        """
        at = bisect_right(self.addresses, address) - 1
        place = self.places[at] if at >= 0 else None
        begins, inside = self._segments
        segment = bisect_right(begins, address) - 1
        found = []
        for number in reversed(inside[segment] if segment >= 0 else ()):
            body = self.bodies[number]
            found.append(Frame(body.name, *(place or ("", 0))))
            place = body.call
        return found if found or place is None else [Frame("", *place)]

    def stack(self, address: int) -> list[Place]:
        """The place of the instruction at ``address``, then those of the calls around it that were inlined."""
        return [(frame.file, frame.line) for frame in self.frames(address) if frame.line]

    def own(self, address: int, root: Path | None = None) -> Place | None:
        """The innermost of these places that is below ``root``; without ``root``, that is in no header of a compiler or
        of ROCm.

        Compilers name files below ``root`` relative to the folder above it.
        """
        places = self.stack(address)
        own = () if root is None else (f"{root}/", f"{root.name}/")
        return next((p for p in places if p[0].startswith(own) or not _OF_VENDORS.search(p[0])), None)

    @cached_property
    def _segments(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """Addresses in order, and the bodies around those from each of them to the next."""
        ends = [(address, number) for number, body in enumerate(self.bodies) for address in {body.begin, body.end}]
        begins: list[int] = []
        inside: list[tuple[int, ...]] = []
        around: list[int] = []
        for address, group in groupby(sorted(ends), key=itemgetter(0)):
            for _, number in group:
                body = self.bodies[number]
                if body.begin == address < body.end:
                    insort(around, number)
                elif body.end == address and number in around:
                    around.remove(number)
            begins.append(address)
            inside.append(tuple(around))
        return begins, inside


def read_line_table(elf: bytes) -> LineTable:
    """The line table of the code object whose bytes are ``elf``."""
    try:
        dwarf = ELFFile(BytesIO(elf)).get_dwarf_info(relocate_dwarf_sections=False)
        rows: list[tuple[int, bool, Place | None]] = []
        bodies: list[_Body] = []
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
            bodies += _bodies(dwarf, unit, files)
    except _DAMAGE:
        return LineTable()
    rows.sort(key=lambda row: row[:2])  # where one sequence ends and another begins, the latter counts
    return LineTable([row[0] for row in rows], [row[2] for row in rows], bodies)


def with_places(message: str, table: Callable[[], LineTable], source: KernelSource) -> str:
    """``message`` about a fault in code of ``source``, with ``at FILE:LINE (0x1a1c)`` in place of ``at 0x1a1c``.

    Addresses whose line is unknown stay. ``table`` is only called where the message has an address.
    """

    def placed(match: re.Match[str]) -> str:
        place = table().own(int(match["address"], 16), source.root)
        if place is None:
            return match[0]
        file = place[0] if source.is_code_object else source.label_of(place[0])
        return f"at {file}:{place[1]} (0x{match['address']})"

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


def _bodies(dwarf: Any, unit: Any, files: dict[int, str]) -> Iterator[_Body]:
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    names: dict[int, str] = {}
    bodies = []
    for die in unit.iter_DIEs():
        if die.tag not in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
            continue
        attributes = die.attributes
        if "DW_AT_name" in attributes:
            names[die.offset - unit.cu_offset] = attributes["DW_AT_name"].value.decode(errors="replace")
        if "DW_AT_low_pc" in attributes or "DW_AT_ranges" in attributes:
            bodies.append((die.offset - unit.cu_offset, attributes))
    for own, attributes in bodies:
        origin = attributes.get("DW_AT_abstract_origin")
        name = names.get(own if origin is None else origin.value, "")
        call = None
        if "DW_AT_call_line" in attributes:
            call = (files.get(attributes["DW_AT_call_file"].value, ""), attributes["DW_AT_call_line"].value)
        for begin, end in _ranges(dwarf, unit, attributes, 0 if base is None else base.value):
            yield _Body(begin, end, name, call)


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
