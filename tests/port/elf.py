"""Small AMD code objects made by hand: an ELF header, one note segment, the metadata."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

AMDGPU = 224


def kernel_row(name: str, arguments: Sequence[tuple[int, int, str]], **changes: Any) -> dict[str, Any]:
    """Metadata of a kernel; ``arguments`` are offset, size and value kind, ``changes`` keys without their dot."""
    row: dict[str, Any] = {
        ".name": name,
        ".args": [{".offset": o, ".size": s, ".value_kind": k} for o, s, k in arguments],
        ".vgpr_count": 8,
        ".sgpr_count": 16,
        ".vgpr_spill_count": 0,
        ".sgpr_spill_count": 0,
        ".group_segment_fixed_size": 0,
        ".private_segment_fixed_size": 0,
        ".wavefront_size": 64,
        ".max_flat_workgroup_size": 1024,
        ".kernarg_segment_size": 296,
    }
    return {**row, **{f".{key}": value for key, value in changes.items()}}


def metadata(target: str, kernels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"amdhsa.target": f"amdgcn-amd-amdhsa--{target}", "amdhsa.kernels": list(kernels)}


def code_object(content: Mapping[str, Any] | None, machine: int = AMDGPU, owner: bytes = b"AMDGPU\0") -> bytes:
    """An ELF file for ``machine`` with ``content`` as the note of ``owner``; without a note for ``None``."""
    note = b""
    if content is not None:
        packed = msgpack.packb(content)
        note = struct.pack("<III", len(owner), len(packed), 32) + owner.ljust(-(-len(owner) // 4) * 4, b"\0")
        note += packed.ljust(-(-len(packed) // 4) * 4, b"\0")
    ident = b"\x7fELF" + bytes((2, 1, 1, 64, 3)) + bytes(7)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(note), len(note), 4)
    return header + segment + note


def bundle(entries: Mapping[str, bytes]) -> bytes:
    """An offload bundle of code objects by triple."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    size = len(head) + sum(24 + len(triple) for triple in entries)
    body = b""
    for triple, code in entries.items():
        head += struct.pack("<QQQ", size + len(body), len(code), len(triple)) + triple.encode()
        body += code
    return head + body


def with_functions(content: Mapping[str, Any], functions: Mapping[str, Sequence[int]]) -> bytes:
    """A code object with ``content`` as its note, and functions by name as words of machine code."""
    file = code_object(content)
    text, symbols, names = b"", bytes(24), b"\0"
    for name, words in functions.items():
        body = struct.pack(f"<{len(words)}I", *words)
        symbols += struct.pack("<IBBHQQ", len(names), 2, 0, 1, len(text), len(body))
        names += name.encode() + b"\0"
        text += body
    labels = b"\0.text\0.symtab\0.strtab\0"
    parts, headers, place = [text, symbols, names, labels], bytes(64), len(file)
    for part, (label, kind, link, size) in zip(
        parts, ((1, 1, 0, 0), (7, 2, 3, 24), (15, 3, 0, 0), (15, 3, 0, 0)), strict=True
    ):
        headers += struct.pack("<IIQQQQIIQQ", label, kind, 0, 0, place, len(part), link, 1, 1, size)
        place += len(part)
    counts = struct.pack("<HHH", 64, 5, 4)
    return file[:40] + struct.pack("<Q", place) + file[48:58] + counts + file[64:] + b"".join(parts) + headers
