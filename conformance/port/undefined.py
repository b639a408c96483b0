"""Symbols that an AMD code object uses and nobody defines: no GPU would load it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

_LITERALS = range(0, 33, 4)
"""How far before its literal the program counter may be that an instruction adds it to, in bytes."""


def undefined(elf: ELFFile) -> str | None:
    """The first undefined symbol and the functions that use it, in words; ``None`` where there is none."""
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
    by = f" by {', '.join(users[:3])}{f' and {len(users) - 3} more' if len(users) > 3 else ''}" if users else ""
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
    for symbol in table.iter_symbols():
        if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(symbol["st_shndx"], int):
            code = _code(elf.get_section(symbol["st_shndx"]), symbol["st_value"], symbol["st_size"])
            places = symbol["st_value"] + 4 * np.arange(len(code))
            if any(np.isin(code + places - slot, _LITERALS).any() for slot in slots):
                yield symbol.name


def _code(section: Any, address: int, size: int) -> Any:
    """The words of a function, as signed numbers."""
    start = address - section["sh_addr"]
    data = section.data()[start : start + size]
    return np.frombuffer(data[: len(data) // 4 * 4], "<i4").astype(np.int64)
