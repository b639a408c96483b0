"""What a kernel does wrong becomes an error code and a message with kernel, block, thread and cause; nothing dies."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.cpu_runtime.machine import SOURCE, Machine, Remote

INVALID_VALUE, ILLEGAL_ADDRESS, TIMED_OUT, ASSERT, LAUNCH_FAILURE = 1, 700, 702, 710, 719


def line_of(text: str, occurrence: int = 0) -> int:
    """The line of ``kernels.hip`` on which ``text`` stands for the n-th time."""
    lines = [number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    return lines[occurrence]


def ints(count: int) -> np.ndarray:
    return np.zeros(count, np.int32)


def integer(value: int) -> ctypes.c_int:
    return ctypes.c_int(value)


@dataclass(frozen=True)
class Mistake:
    kernel: str
    arguments: Sequence[Any]
    block: int
    code: int
    thread: str
    says: str
    shared: int = 0


_BARRIERS = line_of("GLOBAL different_barriers")
MISTAKES = {
    "write past the end": Mistake(
        "write_at",
        [np.zeros(96, np.uint8), ctypes.c_long(100)],
        1,
        ILLEGAL_ADDRESS,
        "(0,0,0)",
        r"out-of-bounds write, 4 bytes past the end of the 96-byte allocation of argument 0 \(char\*\)$",
    ),
    "write far past the end": Mistake(
        "write_at",
        [np.zeros(96, np.uint8), ctypes.c_long(500_000)],
        1,
        ILLEGAL_ADDRESS,
        "(0,0,0)",
        "499904 bytes past the end of the 96-byte allocation",
    ),
    "write before the start": Mistake(
        "write_at",
        [np.zeros(4096, np.uint8), ctypes.c_long(-8)],
        5,
        ILLEGAL_ADDRESS,
        "(4,0,0)",
        "8 bytes before the 4096-byte allocation",
    ),
    "read past the end": Mistake(
        "read_at",
        [ints(16), ctypes.c_long(17), ints(1)],
        1,
        ILLEGAL_ADDRESS,
        "(0,0,0)",
        r"read, 4 bytes past the end of the 64-byte allocation of argument 0 \(int const\*\)",
    ),
    "null pointer, read for nothing": Mistake(
        "reads_null_info", [0, np.zeros(1, np.uint32)], 1, LAUNCH_FAILURE, "(0,0,0)", "trap instruction"
    ),
    "null pointer": Mistake(
        "write_at", [0, ctypes.c_long(8)], 1, ILLEGAL_ADDRESS, "(0,0,0)", "write, at 0x8: a null pointer"
    ),
    "dynamic shared memory": Mistake(
        "write_dynamic_at",
        [integer(34), ints(1)],
        1,
        ILLEGAL_ADDRESS,
        "(0,0,0)",
        "write, 8 bytes past the end of the block's 128 bytes of dynamic shared memory",
        128,
    ),
    "no dynamic shared memory": Mistake(
        "write_dynamic_at",
        [integer(0), ints(1)],
        1,
        ILLEGAL_ADDRESS,
        "(0,0,0)",
        "the block's 0 bytes of dynamic shared",
    ),
    "index of an array": Mistake(
        "index_local_array",
        [integer(8), ints(8)],
        1,
        LAUNCH_FAILURE,
        "(0,0,0)",
        rf"index 8 is out of bounds of an array of type 'int ?\[8\]' at kernels.hip:{line_of('array[index] = 4', 1)}$",
    ),
    "index of a shared array": Mistake(
        "index_shared_array", [integer(-1)], 1, LAUNCH_FAILURE, "(0,0,0)", r"index -1 is out of bounds of an array"
    ),
    "endless recursion": Mistake(
        "recurse",
        [integer(1_000_000), ints(2)],
        1,
        ILLEGAL_ADDRESS,
        "(0,0,0)",
        "stack overflow: the kernel needs more than the 64 KiB of stack",
    ),
    "division by zero": Mistake(
        "divide", [integer(1), integer(0), ints(1)], 1, LAUNCH_FAILURE, "(0,0,0)", "integer division by zero"
    ),
    "assertion": Mistake(
        "fails_an_assertion",
        [integer(20), ints(64)],
        64,
        ASSERT,
        "(20,0,0)",
        rf"assert.*threadIdx.x < limit.* at kernels.hip:{line_of('assert((int)')}",
    ),
    "trap": Mistake(
        "traps", [ints(64)], 64, LAUNCH_FAILURE, "(3,0,0)", f"__trap.. at kernels.hip:{line_of('__trap()')}"
    ),
    "abort": Mistake("aborts", [], 1, LAUNCH_FAILURE, "(0,0,0)", r"abort\(\)$"),
    "different barriers": Mistake(
        "different_barriers",
        [ints(32)],
        32,
        LAUNCH_FAILURE,
        "(0,0,0)",
        rf"barrier divergence: thread 0 waits at kernels.hip:{_BARRIERS + 2}, thread 16 at kernels.hip:{_BARRIERS + 4}",
    ),
    "not in the mask": Mistake(
        "lane_not_in_its_mask",
        [ints(32)],
        32,
        LAUNCH_FAILURE,
        "(1,0,0)",
        rf"lane 1 calls a collective at kernels.hip:{line_of('GLOBAL lane_not_in_its_mask')} with mask 0x1",
    ),
    "lanes are missing": Mistake(
        "lanes_are_missing",
        [ints(32)],
        32,
        LAUNCH_FAILURE,
        "(0,0,0)",
        r"lanes 0xff of wave 0 wait at kernels.hip:\d+ with mask 0xffff, lane 8 waits at the barrier at kernels",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("wave", [32, 64])
def test_a_mistake_is_named_and_survived(machine: Remote, mistake: Mistake, wave: int) -> None:
    machine.set(wave=wave)
    outcome = machine.run(mistake.kernel, mistake.arguments, (1,), (mistake.block,), mistake.shared)
    assert outcome.code == mistake.code, outcome.message
    assert outcome.message.startswith(f"kernel {mistake.kernel}, block (0,0,0), thread {mistake.thread}: ")
    assert re.search(mistake.says, outcome.message), outcome.message
    still_works(machine)


def still_works(machine: Remote) -> None:
    sums = machine.good("block_sums", [np.ones(256, np.int32), ints(4)], (4,), (64,))[1]
    assert sums.tolist() == [64] * 4


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffle:4"])
def test_the_block_of_a_fault_is_named(machine: Remote, order: str) -> None:
    machine.set(order=order)
    outcome = machine.run("write_at", [np.zeros(16, np.uint8), ctypes.c_long(16)], (50, 1), (7,))
    assert outcome.code == ILLEGAL_ADDRESS
    assert outcome.message.startswith("kernel write_at, block (49,0,0), thread (6,0,0): "), outcome.message


@pytest.mark.parametrize("kernel", ["loops_for_ever", "waits_for_a_later_thread"])
@pytest.mark.parametrize("blocks", [1, 4])
@pytest.mark.slow("waits for a kernel that does not end")
def test_a_kernel_that_does_not_end_is_stopped(machine: Remote, kernel: str, blocks: int) -> None:
    machine.set(timeout_ms=100)
    outcome = machine.run(kernel, [ints(1)], (blocks,), (2,))
    assert outcome.code == TIMED_OUT
    assert re.match(
        rf"kernel {kernel}, block \(\d,0,0\), thread \(0,0,0\): still running after 100 ms", outcome.message
    )
    still_works(machine)


def test_the_time_in_which_a_kernel_does_not_compute_is_not_counted(machine: Remote) -> None:
    """As when other processes have the cores: 300 ms by the clock, next to none of them on a core."""
    machine.set(timeout_ms=100)
    machine.good("sleeps", [ctypes.c_long(300)])


def test_a_kernel_that_sleeps_is_stopped_all_the_same(machine: Remote) -> None:
    machine.set(timeout_ms=10)
    outcome = machine.run("sleeps", [ctypes.c_long(60_000)])
    assert (outcome.code, "still running after 10 ms" in outcome.message) == (TIMED_OUT, True)
    still_works(machine)


@pytest.mark.parametrize("written", [("before", -1), ("past the end of", 13), ("past the end of", 15)])
def test_a_write_where_no_page_guards_is_found_after_the_launch(machine: Remote, written: tuple[str, int]) -> None:
    where, offset = written
    outcome = machine.run("write_at", [np.zeros(13, np.uint8), ctypes.c_long(offset)])
    count = -offset if offset < 0 else offset - 12
    assert outcome.code == ILLEGAL_ADDRESS
    assert re.search(
        rf"wrote (up to )?{count} bytes {where} the 13-byte allocation of argument 0 \(char\*\)", outcome.message
    )
    still_works(machine)


def test_all_ones_written_past_the_end_are_found_too(machine: Remote) -> None:
    assert "wrote 3 bytes past the end" in machine.do(_fill_past_the_end)


def _fill_past_the_end(machine: Machine) -> str:
    pointer = machine.allocate(13)
    ctypes.memset(pointer, 0xFF, 16)
    assert machine.free(pointer) == ILLEGAL_ADDRESS
    return machine.runtime.message()


def test_damage_to_memory_that_is_no_argument_is_found(machine: Remote) -> None:
    code, message = machine.do(_damage_a_neighbour)
    assert code == ILLEGAL_ADDRESS
    assert re.search("it or an earlier one wrote 1 bytes past the end of a 7-byte allocation", message)


def _damage_a_neighbour(machine: Machine) -> tuple[int, str]:
    pointers = [machine.allocate(7) for _ in range(40)]
    ctypes.memset(pointers[20] + 7, 0, 1)
    outcomes = [machine.run("nothing", []) for _ in range(5)]
    failed = [outcome for outcome in outcomes if outcome.code]
    assert [machine.free(pointer) for pointer in pointers] == [0] * 40, "repaired, and reported once"
    assert len(failed) == 1
    return failed[0].code, failed[0].message


def test_what_a_stopped_kernel_wrote_is_not_blamed_on_the_next(machine: Remote) -> None:
    assert machine.do(_write_trap_and_go_on) == [LAUNCH_FAILURE, 0, 0]


def _write_trap_and_go_on(machine: Machine) -> list[int]:
    pointer = machine.allocate(60)
    first = machine.run("write_and_trap", [pointer, ctypes.c_long(-1)]).code
    return [first, machine.run("write_at", [pointer, ctypes.c_long(0)]).code, machine.free(pointer)]


def test_a_32_bit_mask_does_not_name_the_upper_lanes_of_a_wave_of_64(machine: Remote) -> None:
    (out,) = machine.good("low_half_in_mask", [ints(64)], (1,), (64,))
    assert out.tolist() == [0] * 32 + [32] * 32
    machine.set(wave=64)
    outcome = machine.run("low_half_in_mask", [ints(64)], (1,), (64,))
    assert outcome.code == LAUNCH_FAILURE
    assert re.search(r"thread \(32,0,0\): lane 32 calls a collective at .* with mask 0xffffffff", outcome.message)


@pytest.mark.parametrize(
    ("kernel", "wave", "threads", "lanes"),
    [
        ("lanes_that_a_mask_names", 64, 32, "0xffffffff"),
        ("lanes_that_a_mask_names", 32, 16, "0xffff"),
        ("lane_that_a_mask_names_returns", 32, 32, "0xfffffffe"),
    ],
)
def test_a_mask_that_names_absent_lanes_stops_the_kernel_as_hips_header_does(
    machine: Remote, kernel: str, wave: int, threads: int, lanes: str
) -> None:
    machine.set(wave=wave)
    outcome = machine.run(kernel, [ints(64)], (1,), (threads,))
    assert outcome.code == LAUNCH_FAILURE
    assert f"wave 0 has lanes {lanes}, the mask at kernels.hip:" in outcome.message


def test_a_mask_of_all_bits_names_the_lanes_of_a_whole_wave(machine: Remote) -> None:
    for wave in (32, 64):
        machine.set(wave=wave)
        (out,) = machine.good("lanes_that_a_mask_names", [ints(64)], (1,), (64,))
        assert out.tolist() == [lane ^ 1 for lane in range(64)]


def test_faults_do_not_add_up(machine: Remote) -> None:
    assert machine.do(_many_faults) == {ILLEGAL_ADDRESS}
    still_works(machine)


def _many_faults(machine: Machine) -> set[int]:
    return {machine.run("write_at", [0, ctypes.c_long(8)], (64,), (64,)).code for _ in range(200)}


def test_an_argument_in_freed_memory_is_refused(machine: Remote) -> None:
    code, message = machine.do(_launch_on_freed_memory)
    assert code == ILLEGAL_ADDRESS
    assert re.match(r"kernel write_at: argument 0 \(char\*\) points to freed memory$", message)


def _launch_on_freed_memory(machine: Machine) -> tuple[int, str]:
    pointer = machine.allocate(64)
    machine.free(pointer)
    outcome = machine.run("write_at", [pointer, ctypes.c_long(0)])
    return outcome.code, outcome.message


def test_each_error_has_its_own_text(machine: Remote) -> None:
    first = machine.run("divide", [integer(1), integer(0), ints(1)]).message
    second = machine.run("nothing", [], (0,))
    assert second.message != first
    assert machine.do(_error_texts) == ("an illegal memory access was encountered", second.message)


def _error_texts(machine: Machine) -> tuple[str, str]:
    """The text of a code that is not the last error's, and of the last error's."""
    machine.library.hipGetErrorString.restype = ctypes.c_char_p
    return tuple(machine.library.hipGetErrorString(code).decode() for code in (ILLEGAL_ADDRESS, 9))


def test_the_last_error_is_kept_until_it_is_taken(machine: Remote) -> None:
    assert machine.do(_last_errors) == [1, 1, 0]


def _last_errors(machine: Machine) -> list[int]:
    machine.library.hipGetLastError()
    machine.library.hipMalloc(None, 4)
    machine.library.hipGetDeviceCount(ctypes.byref(ctypes.c_int()))
    calls = (machine.library.hipPeekAtLastError, machine.library.hipGetLastError, machine.library.hipGetLastError)
    return [call() for call in calls]


_FAULT_OUTSIDE = """
import ctypes, faulthandler, os, sys
from tests.cpu_runtime.machine import Machine
if sys.argv[1] == "before": faulthandler.enable()
machine = Machine()
assert machine.run("nothing", []).code == 0
if sys.argv[1] == "after": faulthandler.enable()
for _ in range(2):
    outcome = machine.run("write_at", [0, ctypes.c_long(8)])
    assert outcome.code == 700, outcome
sys.stderr.write("kernel faults are over\\n"); sys.stderr.flush()
ctypes.string_at(0)
"""


@pytest.mark.slow("starts processes that fault")
@pytest.mark.parametrize("enabled", ["before", "after", "never"])
def test_a_fault_outside_kernels_goes_to_whoever_handled_it_before(machine: Remote, enabled: str) -> None:
    words = [sys.executable, "-c", _FAULT_OUTSIDE, enabled]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -11, done.stderr
    before, _, after = done.stderr.partition("kernel faults are over\n")
    assert before == ""
    assert ("Segmentation fault" in after) == (enabled != "never")
    assert after.count("Fatal Python error") == (enabled != "never")
