"""Loading modules: whole ones, damaged ones, others' code objects; counting; globals."""

from __future__ import annotations

import ctypes
import os
import random
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.cpu_runtime.machine import Machine, Remote

INVALID_IMAGE, NO_BINARY_FOR_GPU, NOT_FOUND, INVALID_HANDLE, FILE_NOT_FOUND = 200, 209, 500, 400, 301


def load(machine: Machine, image: bytes) -> tuple[int, str]:
    """From memory that ends at an unreadable page, so that a read too far is a crash here and not elsewhere."""
    pointer = machine.allocate(max(len(image), 1))
    ctypes.memmove(pointer, image, len(image))
    module = ctypes.c_void_p()
    code = machine.library.hipModuleLoadData(ctypes.byref(module), ctypes.c_void_p(pointer))
    message = machine.runtime.message() if code else ""
    if code == 0:
        machine.library.hipModuleUnload(module)
    machine.free(pointer)
    return code, message


def load_truncated(machine: Machine, lengths: list[int]) -> set[int]:
    return {load(machine, machine.code[:length])[0] for length in lengths}


def test_a_truncated_module_is_an_error_at_every_length(machine: Remote, module_file: Path) -> None:
    size = module_file.stat().st_size
    chosen = random.Random(1)
    # An allocation may be longer by what its alignment takes, and hold the very bytes that were cut off.
    lengths = [*range(0, 80), *(chosen.randrange(80, size - 16) for _ in range(150)), *range(size - 56, size - 16)]
    assert machine.do(load_truncated, lengths) == {INVALID_IMAGE}


def test_a_truncated_module_is_told_from_a_whole_one_in_longer_memory(machine: Remote, module_file: Path) -> None:
    code = module_file.read_bytes()
    cut, message = machine.do(load, code[: len(code) // 2] + bytes(len(code)))
    assert cut == INVALID_IMAGE
    assert "truncated" in message
    assert "compile it again" in message


def test_a_module_with_any_byte_changed_is_refused(machine: Remote, module_file: Path) -> None:
    code = module_file.read_bytes()
    chosen = random.Random(2)
    for position in [*range(16, 64), *(chosen.randrange(64, len(code)) for _ in range(60))]:
        damaged = bytearray(code)
        damaged[position] ^= 0x5A
        assert machine.do(load, bytes(damaged))[0] != 0, f"byte {position}"


def amd_object() -> bytes:
    """The first bytes of a code object for a GPU: EM_AMDGPU is 224."""
    ident = b"\x7fELF\2\1\1\x40\3".ljust(16, b"\0")
    return ident + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 64, 0, 0x53F, 64, 56, 0, 64, 0, 0) + bytes(4096)


@pytest.mark.parametrize(
    ("image", "code", "says"),
    [
        (amd_object(), NO_BINARY_FOR_GPU, "AMD GPU code"),
        (b"__CLANG_OFFLOAD_BUNDLE__".ljust(4096, b"\0"), NO_BINARY_FOR_GPU, "offload bundle"),
        (b"CCOB".ljust(4096, b"\0"), NO_BINARY_FOR_GPU, "offload bundle"),
        (b"not a module".ljust(4096), INVALID_IMAGE, "not a 64-bit ELF file"),
        (b"\x7fELF\1".ljust(4096, b"\0"), INVALID_IMAGE, "not a 64-bit ELF file"),
    ],
)
def test_what_is_no_module_of_ours_is_refused(machine: Remote, image: bytes, code: int, says: str) -> None:
    found, message = machine.do(load, image)
    assert found == code
    assert says in message


def test_a_shared_object_without_a_seal_is_refused(machine: Remote, module_file: Path) -> None:
    code, message = machine.do(load, module_file.read_bytes()[:-24] + bytes(24))
    assert code == INVALID_IMAGE
    assert "no seal" in message


def test_loading_what_is_loaded_works_and_is_counted(machine: Remote) -> None:
    assert machine.do(_load_twice) == [(1, 1), (2, 2), (3, 2)]


def _load_twice(machine: Machine) -> list[tuple[int, int]]:
    """Modules loaded and duplicates among them, after the test module again, again, and other content."""
    start, counts = _loads(machine), []
    other = bytearray(machine.code)
    struct.pack_into("<I", other, 48, 1)  # e_flags, which x86-64 does not use
    for image in (machine.code, machine.code, seal(bytes(other[:-24]))):
        code, module = machine.load(image)
        assert code == 0, machine.runtime.message()
        counts.append(_loads(machine))
        assert int(machine.hip.hipModuleUnload(module)[0]) == 0
    return [(total - start[0], duplicates - start[1]) for total, duplicates in counts]


def _loads(machine: Machine) -> tuple[int, int]:
    """Modules loaded in this process, and how many of these were loaded already at the time."""
    total, duplicates = ctypes.c_ulong(), ctypes.c_ulong()
    machine.library.hipcpuModuleLoads(ctypes.byref(total), ctypes.byref(duplicates))
    return total.value, duplicates.value


def seal(image: bytes) -> bytes:
    """``seal.h`` once more: 64-bit FNV-1a over words, folded after each."""
    value = 14695981039346656037
    for (word,) in struct.iter_unpack("<Q", image):
        value = (value ^ word) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
        value ^= value >> 32
    return image + struct.pack("<8sQQ", b"SIMTSEAL", len(image), value)


def test_what_the_seal_holds_is_checked_further(machine: Remote, module_file: Path) -> None:
    """Headers that point outside of the image, in an image that is otherwise whole."""
    code = module_file.read_bytes()[:-24]
    assert seal(code) == module_file.read_bytes()
    program_headers, section_headers = struct.unpack_from("<QQ", code, 32)
    for place, form, what in (
        (program_headers + 8, "<Q", "segment"),
        (program_headers + 32, "<Q", "segment"),
        (section_headers + 64 + 24, "<Q", "section"),
        (section_headers + 64 + 32, "<Q", "section"),
        (32, "<Q", "program header table"),
        (54, "<H", "program header table"),
    ):
        damaged = bytearray(code)
        struct.pack_into(form, damaged, place, 0xFFF8)
        struct.pack_into(form, damaged, place, 0x7FFFFFFFFFF8 if form == "<Q" else 0xFFF8)
        found, message = machine.do(load, seal(bytes(damaged)))
        assert (found, f"a {what} lies outside the image" in message) == (INVALID_IMAGE, True), message


def test_a_module_says_what_kernels_it_has(machine: Remote) -> None:
    kernels = {kernel["name"]: kernel for kernel in machine.do(_kernels)}
    assert len(kernels) > 30
    axpy = kernels["axpy"]
    assert [row["type"] for row in axpy["params"]] == ["float", "float const*", "float*", "unsigned long"]
    packed = kernels["packed"]["params"]
    types = ["unsigned char", "short", "double", "signed char", "Scale", "double*"]
    assert [row["type"] for row in packed] == types
    assert [(row["size"], row["align"]) for row in packed] == [(1, 1), (2, 2), (8, 8), (1, 1), (8, 4), (8, 8)]
    assert kernels["nothing"]["params"] == []


def _kernels(machine: Machine) -> object:
    return machine.runtime.module_kernels(int(machine.module))


def test_a_global_can_be_found_copied_and_not_overrun(machine: Remote) -> None:
    values, code, message = machine.do(_global)
    assert values == [1, 2, 3, 4]
    assert code == 1
    assert "reach 4 bytes past the end of the 16-byte allocation" in message


def _global(machine: Machine) -> tuple[list[float], int, str]:
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    module = ctypes.c_void_p(int(machine.module))
    assert machine.library.hipModuleGetGlobal(ctypes.byref(address), ctypes.byref(size), module, b"table") == 0
    assert size.value == 16
    values = np.frombuffer(machine.download(address.value, 16), np.float32).tolist()
    host = ctypes.create_string_buffer(20)
    code = machine.library.hipMemcpy(host, address, ctypes.c_size_t(20), 2)
    return values, code, machine.runtime.message()


def test_names_that_are_not_there_are_named(machine: Remote) -> None:
    answers = machine.do(_missing_names)
    assert [code for code, _ in answers] == [NOT_FOUND, NOT_FOUND, NOT_FOUND, FILE_NOT_FOUND]
    for (_, message), name in zip(answers, ("'nobody'", "'nobody'", "'axpy'", "/nowhere/k.so"), strict=True):
        assert name in message


def _missing_names(machine: Machine) -> list[tuple[int, str]]:
    module = ctypes.c_void_p(int(machine.module))
    out, size = ctypes.c_void_p(), ctypes.c_size_t()
    calls = (
        lambda: machine.library.hipModuleGetFunction(ctypes.byref(out), module, b"nobody"),
        lambda: machine.library.hipModuleGetGlobal(ctypes.byref(out), ctypes.byref(size), module, b"nobody"),
        lambda: machine.library.hipModuleGetGlobal(ctypes.byref(out), ctypes.byref(size), module, b"axpy"),
        lambda: machine.library.hipModuleLoad(ctypes.byref(out), b"/nowhere/k.so"),
    )
    return [(call(), machine.runtime.message()) for call in calls]


def test_a_module_loads_from_a_file(machine: Remote, module_file: Path) -> None:
    assert machine.do(_load_file, str(module_file).encode()) == 0


def _load_file(machine: Machine, path: bytes) -> int:
    module = ctypes.c_void_p()
    code: int = machine.library.hipModuleLoad(ctypes.byref(module), path)
    return code or machine.library.hipModuleUnload(module)


def test_handles_of_an_unloaded_module_are_refused(machine: Remote) -> None:
    for code, message in machine.do(_stale_handles):
        assert code == INVALID_HANDLE
        assert re.search("is not a (function of a )?loaded module", message)


def _stale_handles(machine: Machine) -> list[tuple[int, str]]:
    hip, library = machine.hip, machine.library
    module = machine.load(machine.code)[1]
    function = ctypes.c_void_p(int(hip.hipModuleGetFunction(module, b"nothing")[1]))
    handle = ctypes.c_void_p(int(module))
    hip.hipModuleUnload(module)
    calls = (
        lambda: library.hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None),
        lambda: library.hipModuleUnload(handle),
        lambda: library.hipModuleGetFunction(ctypes.byref(ctypes.c_void_p()), handle, b"nothing"),
    )
    return [(call(), machine.runtime.message()) for call in calls]


@pytest.mark.parametrize(
    ("content", "code"), [(None, FILE_NOT_FOUND), (b"", INVALID_IMAGE), (b"\x7fELF", INVALID_IMAGE)]
)
def test_a_file_that_is_no_module_is_refused(machine: Remote, tmp_path: Path, content: bytes | None, code: int) -> None:
    """A folder in place of the file, an empty file, a short one."""
    path = tmp_path / "module.so"
    path.mkdir() if content is None else path.write_bytes(content)
    assert machine.do(_load_file, str(path).encode()) == code


def test_loading_and_unloading_does_not_add_up(machine: Remote) -> None:
    assert machine.do(_load_many) == 0


def _load_many(machine: Machine) -> int:
    """Open files after 100 loads, more than before."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        code, module = machine.load(machine.code)
        assert code == 0, machine.runtime.message()
        assert int(machine.hip.hipModuleUnload(module)[0]) == 0
    return len(os.listdir("/proc/self/fd")) - before
