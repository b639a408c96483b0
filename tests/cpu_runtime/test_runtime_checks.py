"""Memory and barrier checks that no compiler's check of an index stands for: guards, canaries, places of barriers."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from conformance.toolchains.host import find_toolchain
from tests.cpu_runtime.machine import Machine, Outcome, Remote
from tests.cpu_runtime.test_runtime_blocks import ORDERS
from tests.cpu_runtime.test_runtime_faults import ILLEGAL_ADDRESS, LAUNCH_FAILURE, MISTAKES, integer, ints, line_of

ALL_ORDERS = pytest.mark.parametrize("order", ORDERS)


@pytest.fixture
def clang(machine: Remote) -> Remote:
    """The runtime with kernels that clang compiled; g++ has fewer checks (the README says which)."""
    if find_toolchain(links_standard_library=False).kind == "gcc":
        pytest.skip("g++ compiles the kernels")
    return machine


def failure(machine: Remote, kernel: str, arguments: Sequence[Any], *shape: Any) -> Outcome:
    outcome = machine.run(kernel, arguments, *shape)
    assert outcome.code, f"{kernel} passed: {[array[:8] for array in outcome.arrays]}"
    return outcome


_FIRST, _SECOND = (
    "the 32 bytes of __shared__ put_past_shared::first",
    "the 36 bytes of __shared__ put_past_shared::second",
)
_READ = "the 32 bytes of __shared__ read_past_shared::array"


@pytest.mark.parametrize(
    ("kernel", "index", "threads", "code", "says"),
    [
        ("put_past_shared", 8, 1, ILLEGAL_ADDRESS, f"write, 0 bytes past the end of {_FIRST}"),
        ("put_past_shared", 100, 1, ILLEGAL_ADDRESS, f"write, 368 bytes past the end of {_FIRST}"),
        ("put_past_shared", -1, 1, ILLEGAL_ADDRESS, f"wrote 4 bytes before {_SECOND}"),
        (
            "read_past_shared",
            1,
            8,
            ILLEGAL_ADDRESS,
            f"thread (7,0,0): out-of-bounds read, 0 bytes past the end of {_READ}",
        ),
        ("index_last_member", 8, 1, LAUNCH_FAILURE, "index 8 is out of bounds of an array of type 'float[8]' at kern"),
        ("read_past_local", 8, 1, LAUNCH_FAILURE, "access outside a local array"),
        ("put_past_local", 8, 1, LAUNCH_FAILURE, "wrote past the end of a local array"),
    ],
)
def test_a_little_past_an_array_is_caught(
    clang: Remote, kernel: str, index: int, threads: int, code: int, says: str
) -> None:
    outcome = failure(clang, kernel, [integer(index), ints(64)], (1,), (threads,))
    assert outcome.code == code
    assert outcome.message.startswith(f"kernel {kernel}, block (0,0,0)")
    assert says in outcome.message
    clang.good("nothing", [])


@pytest.mark.parametrize(
    ("index", "shared", "says"),
    [
        (9, 36, "wrote 4 bytes past the end of the block's 36 bytes of dynamic shared memory"),
        (-1, 32, "wrote 4 bytes before the block's 32 bytes of dynamic shared memory"),
        (-16, 128, "wrote 64 bytes before the block's 128 bytes of dynamic shared memory"),
        (-1, 65536, "write, 4 bytes before the block's 65536 bytes of dynamic shared memory"),
    ],
)
@ALL_ORDERS
def test_around_dynamic_shared_memory_nothing_is_written(
    machine: Remote, order: str, index: int, shared: int, says: str
) -> None:
    machine.set(order=order)
    outcome = failure(machine, "write_dynamic_at", [integer(index), ints(1)], (3,), (1,), shared)
    assert outcome.code == ILLEGAL_ADDRESS
    assert says in outcome.message


@pytest.mark.parametrize("index", [-1, -256])
def test_what_is_added_to_memory_before_an_allocation_is_seen_in_the_second_order(machine: Remote, index: int) -> None:
    """In the first one that memory is NaN, which stays what it is."""
    machine.set(order="reverse")
    outcome = failure(machine, "add_at", [np.zeros(24, np.float32), ctypes.c_long(index)])
    assert outcome.code == ILLEGAL_ADDRESS
    assert f"wrote up to {-4 * index} bytes before the 96-byte allocation of argument 0" in outcome.message


@ALL_ORDERS
@pytest.mark.parametrize("poison", [0, 1])
def test_legal_arrays_stay_legal(machine: Remote, order: str, poison: int) -> None:
    machine.set(order=order, poison=poison)
    (out,) = machine.good("legal_arrays", [ints(3 + 96)], (3,), (96,), 16)
    assert out.tolist() == [16384, 2, 5] + [7] * 96


@pytest.mark.parametrize("kernel", ["frame_of_100_kib", "frame_of_1_mib", "frame_of_100_mib"])
@pytest.mark.parametrize("index", [0, 99 << 10])
def test_a_frame_larger_than_the_guard_is_a_stack_overflow(machine: Remote, kernel: str, index: int) -> None:
    outcome = failure(machine, kernel, [integer(index), ints(1)])
    assert outcome.code == ILLEGAL_ADDRESS
    assert "stack overflow: the kernel needs more than the 64 KiB of stack that a thread has" in outcome.message


@ALL_ORDERS
@pytest.mark.parametrize(
    ("kernel", "place", "says"),
    [
        (
            "barriers_of_one_line",
            "EITHER_BARRIER(threadIdx",
            r"barrier divergence: thread \d waits at LINE, thread \d at another __syncthreads\(\) of that",
        ),
        (
            "uneven_turns",  # threads leave a loop with a barrier early
            "turn <= threadIdx.x % 2",
            "thread 1 waits at LINE again, thread 0 passed it and has returned",
        ),
    ],
)
def test_the_threads_and_barriers_of_a_divergence_are_named(
    clang: Remote, order: str, kernel: str, place: str, says: str
) -> None:
    clang.set(order=order)
    outcome = failure(clang, kernel, [ints(8)], (1,), (8,))
    assert outcome.code == LAUNCH_FAILURE
    assert re.search(says.replace("LINE", f"kernels.hip:{line_of(place)}"), outcome.message), outcome.message


@ALL_ORDERS
def test_threads_may_return_between_barriers(machine: Remote, order: str) -> None:
    machine.set(order=order)
    (out,) = machine.good("return_between_barriers", [ints(8)], (1,), (8,))
    assert out.tolist() == [1, 0] * 4


@ALL_ORDERS
@pytest.mark.parametrize("turns", [0, 1, 9])
def test_a_barrier_may_be_passed_any_number_of_times(machine: Remote, order: str, turns: int) -> None:
    machine.set(order=order)
    (out,) = machine.good("barriers_in_turns", [ints(70), integer(turns)], (1,), (70,))
    assert out.tolist() == [turns] * 70


def answers(machine: Remote, wave: int, kernel: str, *values: int) -> dict[str, list[int]]:
    """What a kernel of one wave puts out, by thread order."""
    found = {}
    for order in ORDERS:
        machine.set(order=order, wave=wave)
        arguments = [np.full(64, -7, np.int32), *map(integer, values)]
        found[order] = machine.good(kernel, arguments, (1,), (wave,))[0].tolist()
    return found


@pytest.mark.parametrize("wave", [32, 64])
def test_a_race_within_a_wave_shows_in_the_orders(machine: Remote, wave: int) -> None:
    racing = answers(machine, wave, "neighbour_in_wave")
    assert racing["forward"] != racing["reverse"]
    lanes = [int(lane) ^ 1 for lane in range(wave)]
    assert all(answer[:wave] == lanes for answer in answers(machine, wave, "exchange_by_syncwarp").values())


@pytest.mark.parametrize("wave", [32, 64])
def test_any_two_lanes_go_on_from_a_collective_in_both_orders(machine: Remote, wave: int) -> None:
    for writer, reader in combinations((0, 1, 5, wave // 2, wave - 2, wave - 1), 2):
        for pair in ((writer, reader), (reader, writer)):
            found = answers(machine, wave, "last_lane_writes", *pair)
            assert {found["forward"][0], found["reverse"][0]} == {1, 2}, pair


_MESSAGES = """
from tests.cpu_runtime.machine import Machine
from tests.cpu_runtime.test_runtime_checks import messages
machine = Machine()
machine.reset()
print("\\n".join(messages(machine)))
"""


def messages(machine: Machine) -> list[str]:
    """What the runtime says of every mistake, and of some calls with wrong pointers."""
    said = [
        machine.run(mistake.kernel, mistake.arguments, (1,), (mistake.block,), mistake.shared).message
        for mistake in MISTAKES.values()
    ]
    pointer, other = machine.allocate(64), machine.allocate(48)
    copy = ctypes.c_char * 100
    calls = {
        "free inside": lambda: machine.free(pointer + 8),
        "free twice": lambda: [machine.free(other), machine.free(other)],
        "freed argument": lambda: machine.run("write_at", [other, ctypes.c_long(0)]),
        "a copy too long": lambda: machine.hip.hipMemcpy(pointer, copy(), 100, machine.hip.hipMemcpyKind(1)),
        "far away": lambda: machine.run("write_at", [pointer, ctypes.c_long(-(1 << 45))]),
        "further than addresses go": lambda: machine.run("write_at", [pointer, ctypes.c_long(1 << 50)]),
        "another allocation": lambda: machine.run("write_at", [ctypes.c_void_p(pointer), ctypes.c_long(2_000_000)]),
        "not a module": lambda: machine.library.hipModuleUnload(ctypes.c_void_p(pointer)),
    }
    for call in calls.values():
        call()
        said.append(machine.runtime.message())
    return said


@pytest.mark.slow("launches in processes of its own")
def test_messages_are_the_same_in_every_process_and_hold_no_address(machine: Remote) -> None:
    done = [
        subprocess.run([sys.executable, "-c", _MESSAGES], capture_output=True, text=True, check=False) for _ in range(2)
    ]
    assert done[0].returncode == 0, done[0].stderr
    assert done[0].stdout == done[1].stdout
    assert not re.search(r"0x[0-9a-f]{7,}(?!f)", done[0].stdout.replace("0xffffffff", "")), done[0].stdout
    assert "an address that is not near a device allocation" in done[0].stdout


_OPTIONS = """
import ctypes
from conformance.runtimes.cpu.control import open_cpu_runtime
runtime = open_cpu_runtime(64, 1)
runtime.set_option("guard", 1)
runtime._library.hipcpuOptions.restype = ctypes.c_char_p
print(runtime._library.hipcpuOptions().decode())
"""


def test_the_runtime_tells_which_options_weaken_checks_and_who_set_them(machine: Remote) -> None:
    chosen = {"HIPCPU_POISON": "0", "HIPCPU_GUARD": "0", "HIPCPU_TIMEOUT_MS": "7000"}
    words = [sys.executable, "-c", _OPTIONS]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **chosen})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "wave": {"value": "64", "from": "caller", "weakens": False},
        "threads": {"value": "1", "from": "caller", "weakens": False},
        "timeout_ms": {"value": "7000", "from": "environment", "weakens": False},
        "poison": {"value": "0", "from": "environment", "weakens": True},
        "guard": {"value": "1", "from": "caller", "weakens": False},
        "print_bytes": {"value": "1048576", "from": "default", "weakens": False},
        "order": {"value": "forward", "from": "caller", "weakens": False},
    }


def test_each_option_can_be_asked_for(machine: Remote) -> None:
    machine.set(timeout_ms=0, poison=0, guard=0, print_bytes=12, order="shuffle:3")
    assert machine.do(_option_values) == ["32", "shuffle:3", "2", "0", "0", "0", "12", None]


def _option_values(machine: Machine) -> list[str | None]:
    get = machine.library.hipcpuGetOption
    get.restype = ctypes.c_char_p
    names = ("wave", "order", "threads", "timeout_ms", "poison", "guard", "print_bytes", "lanes")
    return [value.decode() if (value := get(name.encode())) else None for name in names]


_PRINT = """
from tests.cpu_runtime.machine import Machine
from tests.cpu_runtime.test_runtime_faults import integer
machine = Machine()
machine.runtime.set_option("print_bytes", 1000)
for _ in range(3):
    assert machine.run("prints_for_long", [integer(50)], (2,)).code == 0
machine.runtime.set_option("print_bytes", 1000)
assert machine.run("prints_for_long", [integer(2)]).code == 0
"""


def test_what_kernels_print_is_limited(machine: Remote) -> None:
    done = subprocess.run([sys.executable, "-c", _PRINT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    notice = "\n[the output of kernels has reached the option print_bytes; the rest is left out]\n"
    before, _, after = done.stdout.partition(notice)
    assert len(before) == 1000
    assert after == "000000000000000\n000000000000001\n"
