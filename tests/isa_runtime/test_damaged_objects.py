"""Code objects are foreign input: a damaged one is an error in a sentence, and the process lives."""

from __future__ import annotations

import ctypes
import multiprocessing
import struct
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from conformance.port.amd_cache import compile_cached
from conformance.runtimes.cpu.build import build
from conformance.runtimes.isa.build import isa_plan
from conformance.toolchains.amd import HIPCC_KINDS, find_toolchain
from conformance.toolchains.host import NoCompiler
from conformance.toolchains.targets import AmdError, targets_of
from tests.isa_runtime.code import HEAD, TAIL, code_object
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_isa_command import FILL
from tests.isa_runtime.test_launches import INVALID_IMAGE

WHOLE = code_object([*HEAD, *TAIL])
SECTIONS = struct.unpack_from("<Q", WHOLE, 40)[0]
SYMBOLS = struct.unpack_from("<Q", WHOLE, SECTIONS + 2 * 64 + 24)[0]
DESCRIPTOR = 4096


def with_word(offset: int, value: int, size: int = 8) -> bytes:
    return WHOLE[:offset] + value.to_bytes(size, "little") + WHOLE[offset + size :]


def with_note(note: bytes) -> bytes:
    """The object with other metadata, behind its end."""
    content = struct.pack("<III", 7, len(note), 32) + b"AMDGPU\0\0" + note
    file = bytearray(WHOLE[:SECTIONS] + content + WHOLE[SECTIONS:])
    struct.pack_into("<Q", file, 40, SECTIONS + len(content))
    struct.pack_into("<Q", file, 64 + 56 + 8, SECTIONS)
    struct.pack_into("<Q", file, 64 + 56 + 32, len(content))
    return bytes(file)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (with_word(SYMBOLS + 24 + 16, 1 << 40), "has the symbol k.kd outside of it"),
        (with_word(SECTIONS + 64 + 16, 1 << 40), "has code outside of it"),
        (with_word(DESCRIPTOR + 8, 1 << 20, 4), "has kernel k with 1048576 bytes of arguments"),
        (with_word(DESCRIPTOR + 4, 1 << 20, 4), "1048576 of scratch memory; at most 65536 and 131072"),
        (with_note(msgpack.packb({"amdhsa.target": "gfx942"})), "has the target gfx942, not amdgcn-amd-amdhsa--gfx..."),
        (with_note(b"\x81\xa1a" + b"\x91" * 100_000 + b"\xc0"), "has metadata that cannot be read"),
        (WHOLE[:40] + (1 << 60).to_bytes(8, "little") + WHOLE[48:], "is cut short"),
    ],
    ids=["symbol", "code", "arguments", "scratch", "target", "depth", "sections"],
)
def test_what_is_wrong_is_said(machine: Machine, file: bytes, why: str) -> None:
    failed, message, _ = machine.launch(file)
    assert failed == INVALID_IMAGE
    assert why in message


def test_a_refused_object_leaves_no_memory(machine: Machine) -> None:
    file = bytearray(WHOLE.replace(b"k.kd\0", b"j.kd\0"))
    struct.pack_into("<Q", file, 64 + 40, 1 << 30)
    before = machine.mapped()
    for _ in range(3):
        _, message, _ = machine.launch(bytes(file))
        assert "has no descriptor of kernel k" in message
    assert machine.mapped() - before < 1 << 30


def fuzz(connection: Connection, folder: str, whole: bytes, name: bytes) -> None:
    """Load damaged objects, launch what loads, and say how many did."""
    hip: Any = ctypes.CDLL(str(Path(folder, "libamdhip64.so")))
    for key, value in (("timeout_ms", "20"), ("threads", "1")):
        assert hip.hipisaSetOption(key.encode(), value.encode()) == 0
    random = np.random.default_rng(14)
    buffer = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(buffer), ctypes.c_size_t(512)) == 0
    given = (ctypes.c_char * (1 << 16))()
    ctypes.memmove(given, ctypes.byref(buffer), 8)
    slots = (ctypes.c_void_p * 64)(*[ctypes.addressof(given)] * 64)
    content = np.flatnonzero(np.frombuffer(whole, np.uint8))  # most of the rest is padding
    loaded = 0
    for number in range(400):
        file = bytearray(whole)
        for place in random.choice(content, int(random.integers(1, 9))):
            file[place] = int(random.integers(0, 256))
        if number % 4 == 0:
            del file[int(random.integers(1, len(file))) :]
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        image = (ctypes.c_char * len(file)).from_buffer_copy(bytes(file))
        if hip.hipModuleLoadData(ctypes.byref(module), image):
            continue
        if hip.hipModuleGetFunction(ctypes.byref(function), module, name) == 0:
            hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, slots, None)
            loaded += 1
        assert hip.hipModuleUnload(module) == 0
    connection.send(loaded)


def compiled(folder: Path) -> bytes:
    """An object as AMD's compiler makes it, or a skip."""
    source = folder / "fill.hip"
    source.write_text(FILL.replace("WORK", ""))
    (target,) = targets_of("gfx942")
    try:
        return compile_cached(find_toolchain([target], HIPCC_KINDS), source, target).code
    except AmdError as missing:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {missing}")


@pytest.mark.nightly("loads a code object with each byte damaged")
@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "compiled"])
def test_no_damage_kills_the_process(by_hand: bool, tmp_path: Path) -> None:
    try:
        folder = build(isa_plan())
    except NoCompiler as error:
        pytest.skip(str(error))
    whole, name = (WHOLE, b"k") if by_hand else (compiled(tmp_path), b"fill_f32")
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=fuzz, args=(sender, str(folder), whole, name), daemon=True)
    process.start()
    sender.close()
    process.join(120)
    exit_code = process.exitcode
    process.kill()
    assert exit_code == 0
    assert receiver.recv() > 50
