"""Device memory: where it lies, what it holds, what is refused."""

from __future__ import annotations

import ctypes
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from conformance.runtimes.hip.errors import HipError
from tests.cpu_runtime.machine import Machine, Remote

SIZES = (1, 15, 16, 17, 4095, 4096, 4097, 65536, 65537, 1_000_001, 70 << 20)


@pytest.mark.slow("compiles kernels for the runtime")
@pytest.mark.parametrize("size", SIZES)
def test_memory_ends_at_a_page_and_is_poisoned(machine: Remote, size: int) -> None:
    address, content = machine.do(_allocate_and_read, size)
    assert (address + (size + 15) // 16 * 16) % 4096 == 0
    assert content == b"\xff" * size


def _allocate_and_read(machine: Machine, size: int) -> tuple[int, bytes]:
    pointer = machine.allocate(size)
    content = machine.download(pointer, size)
    ctypes.memset(pointer, 0, size)  # the next owner of this mapping must not see it
    assert machine.free(pointer) == 0
    pointer = machine.allocate(size)
    assert machine.download(pointer, size) == content
    machine.free(pointer)
    return pointer, content


def test_without_guards_memory_starts_at_a_page(machine: Remote) -> None:
    machine.set(guard=0)
    assert machine.do(_allocate_and_read, 100)[0] % 4096 == 0


def test_freed_mappings_are_used_again(machine: Remote) -> None:
    assert machine.do(_distinct_addresses) == 1


def _distinct_addresses(machine: Machine) -> int:
    addresses = set()
    for _ in range(100):
        pointer = machine.allocate(10_000)
        addresses.add(pointer)
        machine.free(pointer)
    return len(addresses)


def test_freed_mappings_of_many_sizes_do_not_pile_up(machine: Remote) -> None:
    assert machine.do(_grown_by_sizes) < 20 << 20


def _grown_by_sizes(machine: Machine) -> int:
    before = _anonymous_bytes()
    for size in range(256 << 10, 2 << 20, 32 << 10):
        machine.free(machine.allocate(size))
    return _anonymous_bytes() - before


def _anonymous_bytes() -> int:
    return int(re.findall(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024


def test_many_allocations_do_not_overlap(machine: Remote) -> None:
    spans = sorted(machine.do(_many_allocations))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def _many_allocations(machine: Machine) -> list[tuple[int, int]]:
    sizes = [size * 97 % 9000 + 1 for size in range(500)]
    pointers = [machine.allocate(size) for size in sizes]
    spans = [(pointer, pointer + size) for pointer, size in zip(pointers, sizes, strict=True)]
    assert [machine.free(pointer) for pointer in pointers] == [0] * 500
    return spans


def test_no_bytes_is_a_null_pointer(machine: Remote) -> None:
    assert machine.do(_allocate_nothing) == (0, None, 0)


def _allocate_nothing(machine: Machine) -> tuple[int, int | None, int]:
    pointer = ctypes.c_void_p(5)
    code = machine.library.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(0))
    return code, pointer.value, machine.library.hipFree(pointer)


def test_more_than_there_is_is_refused(machine: Remote) -> None:
    for size in (1 << 45, 1 << 60, (1 << 64) - 1):
        code, message = machine.do(_allocate_too_much, size)
        assert code == 2
        assert message.startswith(f"allocation of {size} bytes: out of memory")


def _allocate_too_much(machine: Machine, size: int) -> tuple[int, str]:
    code = machine.library.hipMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(size))
    return code, machine.runtime.message()


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("twice", "free of the 64-byte allocation: it has been freed already"),
        ("inside", "free of a pointer: not the start of an allocation"),
        ("host", "free of a pointer: not the start of an allocation"),
    ],
)
def test_a_wrong_free_is_refused(machine: Remote, what: str, says: str) -> None:
    code, message = machine.do(_wrong_free, what)
    assert code == 1
    assert re.fullmatch(says, message)


def _wrong_free(machine: Machine, what: str) -> tuple[int, str]:
    pointer = machine.allocate(64)
    host = ctypes.create_string_buffer(64)
    if what == "twice":
        machine.free(pointer)
    target = {"twice": pointer, "inside": pointer + 16, "host": ctypes.addressof(host)}[what]
    code = machine.library.hipFree(ctypes.c_void_p(target))
    message = machine.runtime.message()
    if what != "twice":
        machine.free(pointer)
    return code, message


HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, ANY = 1, 2, 3, 4


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("too long to the device", "reach 1 bytes past the end of the 64-byte allocation"),
        ("too long from the device", "reach 1 bytes past the end of the 64-byte allocation"),
        ("too long, any direction", "reach 1 bytes past the end of the 64-byte allocation"),
        ("host as device", "the destination, a pointer, is not in a live device allocation"),
        ("freed", "the source has been freed"),
        ("null", "the destination pointer is null"),
        ("set too long", "reach 1 bytes past the end of the 64-byte allocation"),
    ],
)
def test_a_wrong_copy_is_refused(machine: Remote, call: str, says: str) -> None:
    code, message = machine.do(_wrong_copy, call)
    assert code == 1
    assert re.search(says, message), message


def _wrong_copy(machine: Machine, call: str) -> tuple[int, str]:
    device, freed = machine.allocate(64), machine.allocate(64)
    machine.free(freed)
    host = ctypes.addressof(buffer := ctypes.create_string_buffer(100))
    copies = {
        "too long to the device": (device, host, 65, HOST_TO_DEVICE),
        "too long from the device": (host, device, 65, DEVICE_TO_HOST),
        "too long, any direction": (host, device, 65, ANY),
        "host as device": (host, device, 64, DEVICE_TO_DEVICE),
        "freed": (host, freed, 64, DEVICE_TO_HOST),
        "null": (0, host, 64, HOST_TO_DEVICE),
    }
    if call in copies:
        to, source, size, kind = copies[call]
        code = machine.library.hipMemcpy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), kind)
    else:
        code = machine.library.hipMemset(ctypes.c_void_p(device), 0, ctypes.c_size_t(65))
    message = machine.runtime.message()
    del buffer
    machine.free(device)
    return code, message


def test_copies_and_fills_of_every_kind_move_the_bytes(machine: Remote) -> None:
    assert machine.do(_copies_and_fills) == []


def _copies_and_fills(machine: Machine) -> list[str]:
    hip, wrong = machine.hip, []
    data = np.arange(64, dtype=np.uint8)
    out = np.zeros(64, np.uint8)
    a, b = machine.allocate(64), machine.allocate(64)
    kind = hip.hipMemcpyKind
    stream = hip.hipStreamCreate()[1]

    def check(name: str, *results: tuple[object, ...], expected: np.ndarray = data) -> None:
        good = all(int(result[0]) == 0 for result in results) and np.array_equal(out, expected)
        if not good:
            wrong.append(f"{name}: {machine.runtime.message()} {out}")
        out[:] = 0

    to, back, across = kind.hipMemcpyHostToDevice, kind.hipMemcpyDeviceToHost, kind.hipMemcpyDeviceToDevice
    check("plain", hip.hipMemcpy(a, data, 64, to), hip.hipMemcpy(b, a, 64, across), hip.hipMemcpy(out, b, 64, back))
    hip.hipMemset(a, 0, 64)
    check(
        "async",
        hip.hipMemcpyAsync(a, data, 64, to, stream),
        hip.hipMemcpyAsync(out, a, 64, back, stream),
        hip.hipStreamSynchronize(stream),
    )
    hip.hipMemset(a, 0, 64)
    check("typed", hip.hipMemcpyHtoD(a, data, 64), hip.hipMemcpyDtoD(b, a, 64), hip.hipMemcpyDtoH(out, b, 64))
    hip.hipMemset(a, 0, 64)
    check(
        "rows",
        hip.hipMemcpy2D(a, 8, data, 16, 8, 4, to),
        hip.hipMemcpy(out, a, 64, back),
        expected=np.concatenate([data.reshape(4, 16)[:, :8].ravel(), np.zeros(32, np.uint8)]),
    )
    check("set", hip.hipMemset(a, 7, 64), hip.hipMemcpy(out, a, 64, back), expected=np.full(64, 7))
    check("set async", hip.hipMemsetAsync(a, 9, 64, stream), hip.hipMemcpy(out, a, 64, back), expected=np.full(64, 9))
    check(
        "set words",
        hip.hipMemsetD32(a, 0x01020304, 16),
        hip.hipMemcpy(out, a, 64, back),
        expected=np.tile([4, 3, 2, 1], 16),
    )
    hip.hipStreamDestroy(stream)
    for pointer in (a, b):
        machine.free(pointer)
    return wrong


def test_every_way_to_allocate_gives_memory_that_kernels_can_use(machine: Remote) -> None:
    assert machine.do(_every_allocator) == {"device": 2, "async": 2, "host": 1, "managed": 3}


def _every_allocator(machine: Machine) -> dict[str, int]:
    """The hipMemoryType of each, after a kernel has written to it."""
    hip, kinds = machine.hip, {}
    ways = {
        "device": (lambda: hip.hipMalloc(64), hip.hipFree),
        "async": (lambda: hip.hipMallocAsync(64, None), lambda p: hip.hipFreeAsync(p, None)),
        "host": (lambda: hip.hipHostMalloc(64, 0), hip.hipHostFree),
        "managed": (lambda: hip.hipMallocManaged(64, 1), hip.hipFree),
    }
    for name, (allocate, free) in ways.items():
        error, pointer = allocate()
        assert int(error) == 0, name
        assert machine.run("write_at", [int(pointer), ctypes.c_long(63)]).code == 0
        assert machine.download(int(pointer), 64)[63] == 1
        attributes = (ctypes.c_int * 8)()
        assert machine.library.hipPointerGetAttributes(attributes, ctypes.c_void_p(int(pointer))) == 0
        kinds[name] = attributes[0]
        assert int(free(pointer)[0]) == 0
    return kinds


def test_the_range_of_a_pointer_can_be_asked_for(machine: Remote) -> None:
    assert machine.do(_address_range)


def _address_range(machine: Machine) -> bool:
    pointer = machine.allocate(100)
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    inside = ctypes.c_void_p(pointer + 30)
    code = machine.library.hipMemGetAddressRange(ctypes.byref(base), ctypes.byref(size), inside)
    machine.free(pointer)
    gone = machine.library.hipMemGetAddressRange(ctypes.byref(base), ctypes.byref(size), inside)
    return (code, base.value, size.value, gone) == (0, pointer, 100, 500)


FAR = (1 << 34) + 8
"""Bytes, of which a machine need not have any."""


def test_address_space_is_reserved_and_holds_only_its_pieces(machine: Remote) -> None:
    grown, content, left = machine.do(_reserve_and_use)
    assert content == b"first" + b"last!"
    assert grown < 1 << 20
    assert left == 0


def _reserve_and_use(machine: Machine) -> tuple[int, bytes, int]:
    before = _anonymous_bytes()
    base = machine.runtime.reserve(FAR, [(0, 5), (FAR - 5, 5)])
    for place, words in ((base, b"first"), (base + FAR - 5, b"last!")):
        ctypes.memmove(place, words, len(words))
    content = machine.download(base, 5) + machine.download(base + FAR - 5, 5)
    grown = _anonymous_bytes() - before
    machine.free(base)
    return grown, content, machine.runtime.live()[0]


@pytest.mark.parametrize(
    ("offset", "says"),
    [
        (1 << 33, "8589934592 bytes into a gap of the 17179869192-byte allocation of argument 0 (int*)"),
        (-(1 << 33), "an address that is not near a device allocation"),
        (FAR + 4096, "4096 bytes past the end of the 17179869192-byte allocation of argument 0 (int*)"),
    ],
)
def test_an_access_to_a_gap_or_far_before_it_is_a_fault(machine: Remote, offset: int, says: str) -> None:
    code, message = machine.do(_write_at, offset)
    assert code
    assert f"out-of-bounds write, {says}" in message


def _write_at(machine: Machine, offset: int) -> tuple[int, str]:
    base = machine.runtime.reserve(FAR, [(0, 8), (FAR - 8, 8)])
    outcome = machine.run("put_at", [base, ctypes.c_long(offset)])
    machine.free(base)
    return outcome.code, outcome.message


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ([], "do not reach from its start to its end"),
        ([(0, 8)], "do not reach from its start to its end"),
        ([(8, 92)], "do not reach from its start to its end"),
        ([(0, 50), (40, 60)], "piece 1 is out of order or past the end"),
        ([(0, 101)], "piece 0 is out of order or past the end"),
    ],
)
def test_pieces_that_make_no_sense_are_refused(machine: Remote, pieces: list[tuple[int, int]], says: str) -> None:
    assert says in machine.do(_refused, pieces)


def _refused(machine: Machine, pieces: list[tuple[int, int]]) -> str:
    try:
        machine.runtime.reserve(100, pieces)
    except HipError as error:
        return str(error)
    return ""
