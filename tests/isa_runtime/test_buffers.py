"""Buffers: what is in range of a resource descriptor, and scratch memory, whose lanes take turns in one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.isa_runtime.code import code_object
from tests.isa_runtime.instructions.memory import WHOLE, transfers
from tests.isa_runtime.instructions.words import ONE, ZERO, Target, v
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_launches import FAILURE, ILLEGAL_ADDRESS, NOT_SUPPORTED

TARGETS = [Target(name) for name in ("gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201")]
SCRATCH_TARGETS = [Target(name) for name in ("gfx906", "gfx908", "gfx90a", "gfx1030")]
"""Of those without registers of the hardware's own for scratch memory."""
LANE = np.arange(32, dtype=np.uint32)
IN, OUT, RESOURCE, SCALAR = 8, 10, 20, 24
"""Scalar registers: the addresses of a buffer and of results, the buffer's resource, an offset."""
OFFSETS, INDEX, DATA, RESULTS = 2, 1, 8, 3
"""Vector registers; an index comes before an offset."""
ADDS_LANE, SWIZZLED = 1 << 23, 1 << 31
Words = NDArray[np.uint32]


def named(target: Target, action: str, words: int) -> str:
    """The instruction that loads or stores so many words."""
    return next(name for name, row in transfers(target, "MUBUF", action) if row is WHOLE[words - 1])


def stored(target: Target, words: int) -> list[int]:
    """Ends the kernel with words of each lane among the results."""
    moved = target.move(words)[1]
    return [
        *target.wait(),
        *target.vop2(RESULTS, ZERO + {1: 2, 4: 4}[words], 0, names=("v_lshlrev_b32",)),
        *target.memory("GLOBAL", moved, data=DATA, address=RESULTS, base=OUT),
        *target.end(),
    ]


def arguments(target: Target, at: int) -> list[int]:
    """Loads the addresses of both arrays."""
    load = "s_load_b128" if target.generation > 10 else "s_load_dwordx4"
    return [*target.scalar_load(load, IN, at), *target.wait(), *target.settle()]


def resource(target: Target, records: int, stride: int = 0, last: int | None = None, swizzled: int = 0) -> list[int]:
    """A buffer that begins where the input does."""
    words = [*target.sop1("s_mov_b32", RESOURCE, IN)]
    words += target.sop2("s_or_b32", RESOURCE + 1, IN + 1, 255, stride << 16 | swizzled)
    words += target.scalar(RESOURCE + 2, records)
    return [*words, *target.scalar(RESOURCE + 3, target.raw if last is None else last)]


def loaded(
    machine: Machine,
    target: Target,
    described: list[int],
    words: int = 1,
    shift: int = 2,
    **address: int,
) -> tuple[int, str, Words]:
    """What each of 32 lanes loads at its number, shifted; from 64 words that are their numbers plus 1."""
    code = [*arguments(target, 0), *described, *target.scalar(SCALAR, 16)]
    code += target.vop2(OFFSETS, ZERO + shift, 0, names=("v_lshlrev_b32",))
    code += [*target.vector(INDEX, v(0)), *target.settle()]
    code += target.buffer(named(target, "load", words), DATA, RESOURCE, **address)
    file = code_object([*code, *stored(target, words)], ("global_buffer",) * 2, target=target.name, wave=target.wave)
    given = np.arange(1, 65, dtype=np.uint32)
    failed, message, after = machine.launch(file, given, np.zeros(32 * words, np.uint32), block=32)
    return failed, message, after[1].reshape(32, words)


def within(values: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """Words by their number, zeros from ``records`` on."""
    return np.where(values < records, values + 1, 0)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_out_of_range_is_zero(machine: Machine, target: Target) -> None:
    failed, message, found = loaded(machine, target, resource(target, 4 * 20), offsets=OFFSETS, offset=8)
    assert failed == 0, message
    assert found[:, 0].tolist() == within(LANE + 2, 20).tolist()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_word_of_an_access_has_its_own_range(machine: Machine, target: Target) -> None:
    failed, message, found = loaded(machine, target, resource(target, 4 * 22), words=4, offsets=OFFSETS)
    assert failed == 0, message
    assert found.tolist() == within(LANE[:, None] + np.arange(4), 22).tolist()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_records_of_a_structure_have_indices(machine: Machine, target: Target) -> None:
    """On RDNA where the resource says so; the offset is within the record."""
    last = target.raw if target.generation == 9 else target.raw & ~(3 << 28)
    described = resource(target, 12, stride=8, last=last)
    failed, message, found = loaded(machine, target, described, index=INDEX, offset=4)
    assert failed == 0, message
    assert found[:, 0].tolist() == np.where(LANE < 12, 2 * LANE + 2, 0).tolist()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_an_index_and_an_offset_are_in_two_registers(machine: Machine, target: Target) -> None:
    last = target.raw if target.generation == 9 else target.raw & ~(3 << 28) | 1 << 28
    described = resource(target, 64, stride=4, last=last)
    failed, message, found = loaded(machine, target, described, shift=1, index=INDEX, offsets=OFFSETS)
    assert (failed, message) == (0, "")
    even = LANE & ~np.uint32(1)
    assert found[::2, 0].tolist() == (even + even // 2 + 1)[::2].tolist()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_scalar_offset_is_added(machine: Machine, target: Target) -> None:
    failed, message, found = loaded(machine, target, resource(target, 256), offsets=OFFSETS, scalar=SCALAR)
    assert (failed, found[:, 0].tolist()) == (0, (LANE + 5).tolist()), message


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_scalar_offset_counts_for_the_range_on_rdna(machine: Machine, target: Target) -> None:
    """AMD's documents of Vega and of CDNA 3 differ on it."""
    failed, message, found = loaded(machine, target, resource(target, 4 * 32), offsets=OFFSETS, scalar=SCALAR)
    if target.generation == 9:
        assert (failed, "does not know a buffer that a scalar offset leaves" in message) == (NOT_SUPPORTED, True)
    else:
        assert (failed, found[:, 0].tolist()) == (0, within(LANE + 4, 32).tolist()), message


@pytest.mark.parametrize(("offset", "last"), [(2, 21), (0, 22)])
def test_the_range_is_of_every_byte_from_rdna_3_on(machine: Machine, offset: int, last: int) -> None:
    """A word of which but two bytes are in range; before, its first byte decides."""
    for target in TARGETS:
        failed, message, found = loaded(machine, target, resource(target, 4 * 22), offsets=OFFSETS, offset=offset)
        assert failed == 0, message
        whole = last if target.generation > 10 else 22
        assert np.count_nonzero(found) == whole, target.name


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_in_range_must_be_allocated(machine: Machine, target: Target) -> None:
    """A resource that says more than there is."""
    failed, message, _ = loaded(machine, target, resource(target, 1 << 20), offsets=OFFSETS, offset=144)
    assert failed == ILLEGAL_ADDRESS
    assert (
        f"thread (28,0,0), at {4096 + 256 + 4 * place_of_access(target):#x}: {named(target, 'load', 1)} of 4" in message
    )
    assert "0 bytes past the end of the 256-byte allocation of argument 0" in message


def place_of_access(target: Target) -> int:
    """Words before it in ``loaded``."""
    code = [*arguments(target, 0), *resource(target, 1 << 20), *target.scalar(SCALAR, 16)]
    code += target.vop2(OFFSETS, ZERO + 2, 0, names=("v_lshlrev_b32",))
    return len([*code, *target.vector(INDEX, v(0)), *target.settle()])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize(
    ("last", "swizzled", "why"),
    [
        (0, 0, "a buffer without a format"),
        (1 << 30, 0, "a resource that is not a buffer"),
        (None, SWIZZLED | 1 << 30, "a swizzled buffer that is not scratch memory"),
    ],
    ids=["format", "type", "swizzled"],
)
def test_other_resources_are_not_known(
    machine: Machine, target: Target, last: int | None, swizzled: int, why: str
) -> None:
    described = resource(target, 256, last=target.raw if last is None else last, swizzled=swizzled)
    failed, message, _ = loaded(machine, target, described, offsets=OFFSETS)
    assert (failed, why in message) == (NOT_SUPPORTED, True), message


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_stores_and_atomics_out_of_range_are_dropped(machine: Machine, target: Target) -> None:
    """Each lane stores to a buffer of ten words, and adds there; what an addition returns out of range is 0."""
    add = next(name for name in ("buffer_atomic_add", "buffer_atomic_add_u32") if target.has("MUBUF", name))
    code = [*arguments(target, 0), *resource(target, 40), *target.vector(DATA, ZERO + 7), *target.vector(9, ONE)]
    code += [*target.vop2(OFFSETS, ZERO + 2, 0, names=("v_lshlrev_b32",)), *target.settle()]
    code += [*target.buffer(named(target, "store", 1), DATA, RESOURCE, offsets=OFFSETS), *target.wait()]
    code += [*target.buffer(add, 9, RESOURCE, offsets=OFFSETS, returns=True), *target.wait()]
    code += target.vector(DATA, v(9))
    file = code_object([*code, *stored(target, 1)], ("global_buffer",) * 2, target=target.name, wave=target.wave)
    zeros = np.zeros(32, np.uint32)
    failed, message, after = machine.launch(file, zeros, zeros, block=32)
    assert failed == 0, message
    assert after[0].tolist() == np.where(LANE < 10, 8, 0).tolist()
    assert after[1].tolist() == np.where(LANE < 10, 7, 0).tolist()


# As compilers use it for a thread's own memory: the first four registers are the resource of all scratch memory there
# is, to which a kernel adds what a later one says of its wave.

KERNARG, WAVE_OFFSET = 4, 9


def prologue(target: Target, adds: bool = True) -> list[int]:
    words = [*target.sop2("s_add_u32", 0, 0, WAVE_OFFSET), *target.sop2("s_addc_u32", 1, 1, ZERO)] if adds else []
    load = "s_load_b128" if target.generation > 10 else "s_load_dwordx4"
    return [*words, *target.scalar_load(load, IN + 4, KERNARG), *target.wait(), *target.settle()]


def in_scratch(
    machine: Machine, target: Target, words: list[int], scratch: int, block: int = 64
) -> tuple[int, str, Words]:
    """What ``words`` leave in a register of each thread."""
    code = [*words, *target.wait(), *target.vop2(RESULTS, ZERO + 2, 0, names=("v_lshlrev_b32",))]
    store = target.move(1)[1]
    code += [*target.memory("GLOBAL", store, data=DATA, address=RESULTS, base=IN + 4), *target.end()]
    file = code_object(
        code, ("global_buffer",), scratch=scratch, target=target.name, wave=target.wave, scratch_registers=True
    )
    failed, message, after = machine.launch(file, np.zeros(block, np.uint32), block=block)
    return failed, message, after[0]


@pytest.mark.parametrize("target", SCRATCH_TARGETS, ids=lambda target: target.name)
def test_a_lane_finds_what_it_stored_and_no_other(machine: Machine, target: Target) -> None:
    """At an offset of its own, in two waves or more; the scalar offset is of all lanes together."""
    words = [*prologue(target), *target.scalar(SCALAR, 16 * target.wave), *target.vector(DATA, v(0))]
    words += [*target.vop2(OFFSETS, ZERO + 15, 0, names=("v_and_b32",)), *target.settle()]
    words += target.vop2(OFFSETS, ZERO + 2, OFFSETS, names=("v_lshlrev_b32",))
    words += target.buffer(named(target, "store", 1), DATA, 0, offsets=OFFSETS, scalar=SCALAR, offset=4)
    words += [*target.wait(), *target.vector(DATA, ZERO), *target.settle()]
    words += target.vop2(OFFSETS, ZERO + 20, OFFSETS, names=("v_add_nc_u32", "v_add_u32"))
    words += target.buffer(named(target, "load", 1), DATA, 0, offsets=OFFSETS)
    failed, message, found = in_scratch(machine, target, words, 16 + 4 + 64, block=128)
    assert (failed, found.tolist()) == (0, list(range(128))), message


@pytest.mark.parametrize("target", SCRATCH_TARGETS, ids=lambda target: target.name)
def test_scratch_memory_is_one_through_pointers_and_buffers(machine: Machine, target: Target) -> None:
    """A byte that a store to a generic address changes."""
    words = [*prologue(target), *target.vector(DATA, v(0))]
    words += [*target.buffer(named(target, "store", 1), DATA, 0, offset=8), *target.wait()]
    words += [*target.vector(4, ZERO + 9), *target.sop1("s_mov_b64", SCALAR, 237), *target.vector(5, SCALAR + 1)]
    store = "flat_store_b8" if target.generation > 10 else "flat_store_byte"
    words += [*target.settle(), *target.memory("FLAT", store, data=DATA, address=4), *target.wait()]
    words += target.buffer(named(target, "load", 1), DATA, 0, offset=8)
    failed, message, found = in_scratch(machine, target, words, 16)
    assert (failed, found.tolist()) == (0, [lane | lane << 8 for lane in range(64)]), message


@pytest.mark.parametrize("target", SCRATCH_TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize(("offset", "said"), [(16, "offset 16"), (4095, ""), (12, "")])
def test_beyond_a_threads_scratch_memory_is_a_fault(machine: Machine, target: Target, offset: int, said: str) -> None:
    words = [*prologue(target), *target.vector(DATA, ZERO), *target.settle()]
    words += target.buffer(named(target, "load", 1), DATA, 0, offset=offset)
    failed, message, _ = in_scratch(machine, target, words, 16)
    if offset == 12:
        assert failed == 0, message
    elif offset == 4095:  # over two elements
        assert (failed, "over the elements of 4 bytes of a swizzled buffer" in message) == (FAILURE, True)
    else:
        assert failed == ILLEGAL_ADDRESS
        name = named(target, "load", 1)
        assert f"{name} of 4 bytes at {said} of the thread's 16 bytes of scratch memory" in message


@pytest.mark.parametrize("target", SCRATCH_TARGETS, ids=lambda target: target.name)
def test_a_negative_register_and_a_constant_make_an_offset(machine: Machine, target: Target) -> None:
    words = [*prologue(target), *target.vector(DATA, v(0)), *target.vector(OFFSETS, 196), *target.settle()]  # -4
    words += [*target.buffer(named(target, "store", 1), DATA, 0, offsets=OFFSETS, offset=8), *target.wait()]
    words += [*target.vector(DATA, ZERO), *target.settle()]
    words += target.buffer(named(target, "load", 1), DATA, 0, offset=4)
    failed, message, found = in_scratch(machine, target, words, 8)
    assert (failed, found.tolist()) == (0, list(range(64))), message


@pytest.mark.parametrize("target", SCRATCH_TARGETS, ids=lambda target: target.name)
def test_without_the_offset_of_its_wave_a_kernel_is_elsewhere(machine: Machine, target: Target) -> None:
    words = [*prologue(target, adds=False), *target.vector(DATA, ZERO), *target.settle()]
    words += target.buffer(named(target, "store", 1), DATA, 0)
    failed, message, _ = in_scratch(machine, target, words, 16)
    assert failed == ILLEGAL_ADDRESS
    assert "of the thread's 16 bytes of scratch memory" in message
    assert " at offset -" in message


@pytest.mark.parametrize("target", SCRATCH_TARGETS, ids=lambda target: target.name)
def test_several_words_at_once_are_over_an_element(machine: Machine, target: Target) -> None:
    words = [*prologue(target), *target.settle(), *target.buffer(named(target, "load", 4), DATA, 0)]
    failed, message, _ = in_scratch(machine, target, words, 16)
    assert (failed, "over the elements of 4 bytes of a swizzled buffer" in message) == (FAILURE, True)
