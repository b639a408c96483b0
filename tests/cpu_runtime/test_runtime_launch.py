"""Launching: indices, arguments, shapes that are refused."""

from __future__ import annotations

import ctypes
import struct
import threading

import numpy as np
import pytest

from tests.cpu_runtime.machine import Machine, Remote


class Scale(ctypes.Structure):
    _fields_ = (("factor", ctypes.c_float), ("negate", ctypes.c_char))


def scale() -> Scale:
    return Scale(2.5, b"\1")


PACKED = (ctypes.c_ubyte(250), ctypes.c_short(-300), ctypes.c_double(1e300), ctypes.c_byte(-7))


def test_a_kernel_computes(machine: Remote) -> None:
    x = np.arange(100_003, dtype=np.float32)
    arguments = (ctypes.c_float(2), x, np.ones_like(x), ctypes.c_ulong(x.size))
    _, y = machine.good("axpy", arguments, (-(-x.size // 256),), (256,))
    assert np.array_equal(y, 1 + 2 * x)


def test_arguments_of_all_sizes_arrive(machine: Remote) -> None:
    (out,) = machine.do(Machine.run, "packed", [*PACKED, scale(), np.zeros(5)]).arrays
    assert out.tolist() == [250, -300, 1e300, -7, -2.5]


@pytest.mark.parametrize("rounded", [40, 48])
def test_arguments_arrive_from_a_packed_buffer(machine: Remote, rounded: int) -> None:
    assert machine.do(_packed_buffer, rounded) == (0, [250, -300, 1e300, -7, -2.5])


def _packed_buffer(machine: Machine, size: int) -> tuple[int, list[float]]:
    """Natural alignment, as the kernarg segment of a GPU: offsets 0, 2, 8, 16, 20 and 32."""
    out = machine.allocate(40)
    buffer = ctypes.create_string_buffer(
        struct.pack("<BxhxxxxdbxxxfcxxxxxxxQ", 250, -300, 1e300, -7, 2.5, b"\1", out), 48
    )
    length = ctypes.c_size_t(size)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(length), 3)
    function = ctypes.c_void_p(int(machine.function("packed")))
    code = machine.library.hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, extra)
    values = np.frombuffer(machine.download(out, 40)).tolist()
    machine.free(out)
    return code, values


def test_a_kernel_without_parameters_runs(machine: Remote) -> None:
    assert machine.run("nothing", []).code == 0


@pytest.mark.parametrize("kernel", ["indices", "indices_after_barrier"])
@pytest.mark.parametrize("order", ["forward", "reverse", "shuffle:7"])
def test_every_thread_of_every_block_has_its_indices(machine: Remote, kernel: str, order: str) -> None:
    machine.set(order=order)
    grid, block = (3, 2, 4), (5, 3, 2)
    (out,) = machine.good(kernel, [np.zeros(24 * 30, np.uint32)], grid, block)
    bz, by, bx, tz, ty, tx = np.indices((*grid[::-1], *block[::-1]))
    assert np.array_equal(out, (tx | ty << 4 | tz << 8 | bx << 12 | by << 16 | bz << 20).ravel())


@pytest.mark.parametrize(
    ("grid", "block", "shared", "code", "says"),
    [
        ((0,), (1,), 0, 9, "no dimension may be 0"),
        ((1,), (1, 0), 0, 9, "no dimension may be 0"),
        ((1,), (1025,), 0, 9, "at most 1024 threads"),
        ((1,), (32, 33), 0, 9, "at most 1024 threads"),
        ((1, 65537), (1,), 0, 9, "at most 2147483647 x 65536 x 65536"),
        ((2**31 - 1,), (1024,), 0, 9, "fewer than 2^32 threads"),
        ((1,), (1,), 65537, 1, "65537 bytes of dynamic shared memory; at most 65536"),
    ],
)
def test_a_shape_that_hip_refuses_is_refused(
    machine: Remote, grid: tuple[int, ...], block: tuple[int, ...], shared: int, code: int, says: str
) -> None:
    outcome = machine.run("nothing", [], grid, block, shared)
    assert outcome.code == code
    assert says in outcome.message


def test_the_largest_block_runs(machine: Remote) -> None:
    (sums,) = machine.good("block_sums", [np.ones(4096, np.int32), np.zeros(4, np.int32)], (4,), (1024,))[1:]
    assert sums.tolist() == [1024] * 4


def test_missing_arguments_are_refused(machine: Remote) -> None:
    assert machine.do(_launch_without_arguments) == (1, "kernel axpy: it takes 4 arguments and kernelParams is null")


def _launch_without_arguments(machine: Machine) -> tuple[int, str]:
    result = machine.hip.hipModuleLaunchKernel(machine.function("axpy"), 1, 1, 1, 1, 1, 1, 0, None, None, None)
    return int(result[0]), machine.runtime.message()


def test_an_argument_buffer_of_the_wrong_size_is_refused(machine: Remote) -> None:
    code, message = machine.do(_launch_with_a_short_buffer)
    assert code == 1
    assert "the argument buffer in extra has 8 bytes, the parameters take 32" in message


def _launch_with_a_short_buffer(machine: Machine) -> tuple[int, str]:
    values = (ctypes.c_float(1), ctypes.c_float(1))
    result = machine.hip.hipModuleLaunchKernel(machine.function("axpy"), 1, 1, 1, 1, 1, 1, 0, None, None, values)
    return int(result[0]), machine.runtime.message()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_os_threads_does_not_change_the_result(machine: Remote, threads: int) -> None:
    machine.set(threads=threads)
    values = np.arange(2000 * 256, dtype=np.int32) % 1000
    sums = machine.good("block_sums", [values, np.zeros(2000, np.int32)], (2000,), (256,))[1]
    assert np.array_equal(sums, values.reshape(2000, 256).sum(axis=1))


def test_threads_that_launch_at_once_have_their_own_results_and_errors(machine: Remote) -> None:
    assert machine.do(_launch_from_threads) == []


def _launch_from_threads(machine: Machine) -> list[str]:
    problems = []

    def work(number: int) -> None:
        for turn in range(50):
            values = np.full(64, number * 100 + turn, np.int32)
            sums = machine.run("block_sums", [values, np.zeros(1, np.int32)], (1,), (64,)).arrays[1]
            if sums[0] != 64 * values[0]:
                problems.append(f"{number} {turn}: {sums[0]}")
            machine.free(number + 1)
            if not machine.runtime.message().startswith(f"free of {number + 1:#x}: "):
                problems.append(machine.runtime.message())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems
