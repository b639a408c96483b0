"""The table of kernels in a code object of the cpu runtime, read from its bytes: nothing of it is loaded or run."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_ROW = struct.Struct("<QQIIQQQQQ")
"""``simt_kernel`` of simt/abi.h: name, file, line, nargs, run, sizes, aligns, types, most_threads."""

_RELATIVE = 8  # R_X86_64_RELATIVE
_RELA = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_LONGEST = 65536
_MOST = 100_000


@dataclass(frozen=True)
class HostKernel:
    """A kernel of the table: its definition's file and line, its parameters' types in words and sizes in bytes, and the
    threads of its largest block (0: the source does not limit them)."""

    name: str
    file: str
    line: int
    params: tuple[tuple[str, int], ...]
    most_threads: int = 0


def host_kernels(code: bytes) -> tuple[HostKernel, ...]:
    """The kernels that ``code`` defines, in the table's order; raises ``ValueError`` when it holds no such table."""
    try:
        image = _Image(code)
        count = struct.unpack("<I", image.at(image.symbol("simt_kernel_count"), 4))[0]
        if count > _MOST:
            raise ValueError(f"a table of {count} kernels")
        first = image.symbol("simt_kernels")
        return tuple(image.kernel(first + index * _ROW.size) for index in range(count))
    except (ELFError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"no table of kernels can be read ({error})") from None


class _Image:
    """A shared object as the loader would see it at address 0."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        elf = ELFFile(io.BytesIO(code))
        self._segments = [(row["p_vaddr"], row["p_filesz"], row["p_offset"]) for row in elf.iter_segments("PT_LOAD")]
        names, symbols = elf.get_section_by_name(".dynstr"), elf.get_section_by_name(".dynsym")
        if names is None or symbols is None:
            raise ValueError("no symbols")
        self._names: bytes = names.data()
        self._symbols = np.frombuffer(code, _SYMBOL, symbols["sh_size"] // _SYMBOL.itemsize, symbols["sh_offset"])
        self._pointers: dict[int, int] = {}
        for section in elf.iter_sections("SHT_RELA"):
            rows = np.frombuffer(code, _RELA, section["sh_size"] // _RELA.itemsize, section["sh_offset"])
            relative = rows[(rows["info"] & 0xFFFFFFFF) == _RELATIVE]
            self._pointers.update(zip(relative["offset"].tolist(), relative["addend"].tolist(), strict=True))

    def symbol(self, name: str) -> int:
        """The address of the global symbol ``name``."""
        text = name.encode() + b"\0"
        defined = self._symbols[self._symbols["section"] != 0]
        for at, value in zip(defined["name"].tolist(), defined["value"].tolist(), strict=True):
            if self._names.startswith(text, at):
                return int(value)
        raise ValueError(f"no symbol {name}")

    def at(self, address: int, size: int) -> bytes:
        for start, length, offset in self._segments:
            if start <= address and address + size <= start + length:
                return self._code[offset + address - start : offset + address - start + size]
        raise ValueError(f"nothing is stored at {address:#x}")

    def pointer(self, address: int) -> int:
        """The address that the loader will store at ``address``."""
        if address not in self._pointers:
            raise ValueError(f"no pointer at {address:#x}")
        return self._pointers[address]

    def text(self, address: int) -> str:
        for start, length, offset in self._segments:
            if start <= address < start + length:
                begin = offset + address - start
                end = self._code.find(b"\0", begin, min(offset + length, begin + _LONGEST))
                if end >= 0:
                    return self._code[begin:end].decode()
        raise ValueError(f"no text at {address:#x}")

    def kernel(self, address: int) -> HostKernel:
        _, _, line, count, _, _, _, _, most = _ROW.unpack(self.at(address, _ROW.size))
        if count > _LONGEST:
            raise ValueError(f"a kernel of {count} parameters")
        name, file = self.text(self.pointer(address)), self.text(self.pointer(address + 8))
        sizes: tuple[int, ...] = ()
        types: list[str] = []
        if count:
            sizes = struct.unpack(f"<{count}I", self.at(self.pointer(address + 32), 4 * count))
            first = self.pointer(address + 48)
            types = [self.text(self.pointer(first + 8 * index)) for index in range(count)]
        return HostKernel(name, file, line, tuple(zip(types, sizes, strict=True)), most)
