"""Threads of a block: barriers, shared memory, the order in which they run."""

from __future__ import annotations

import ctypes
import os
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cpu_runtime.machine import Machine, Remote

ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [1, 2, 64, 1024])
def test_a_tree_of_barriers_sums_a_block(machine: Remote, order: str, size: int) -> None:
    machine.set(order=order)
    values = np.arange(6 * size, dtype=np.int32)
    sums = machine.good("block_sums", [values, np.zeros(6, np.int32)], (6,), (size,))[1]
    assert np.array_equal(sums, values.reshape(6, size).sum(axis=1))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("leaving", [1, 3])
def test_threads_that_return_before_a_barrier_run_once_and_are_not_waited_for(
    machine: Remote, order: str, leaving: int
) -> None:
    machine.set(order=order)
    arguments = (np.zeros(300, np.int32), np.full(300, -1, np.int32), ctypes.c_int(leaving))
    entries, out = machine.good("some_return_before_the_barrier", arguments, (3,), (100,))
    assert (entries == 1).all()
    threads = np.arange(100)
    staying = threads[threads % 4 >= leaving]
    expected = np.full(100, -1)
    expected[staying] = np.roll(staying, -1)
    assert np.array_equal(out.reshape(3, 100), np.tile(expected, (3, 1)))


@pytest.mark.parametrize("order", ORDERS)
def test_threads_before_the_first_barrier_have_finished(machine: Remote, order: str) -> None:
    machine.set(order=order)
    (out,) = machine.good("late_first_barrier", [np.zeros(70, np.int32)], (1,), (70,))
    assert out.tolist() == [100 + t if t < 5 else 7 + t for t in range(70)]


def test_dynamic_shared_memory_is_shared_by_a_block(machine: Remote) -> None:
    (out,) = machine.good("reverse_dynamic", [np.arange(100, dtype=np.int32)], (1,), (100,), 400)
    assert np.array_equal(out, np.arange(100)[::-1])


def test_shared_memory_is_poisoned_before_every_block(machine: Remote) -> None:
    (out,) = machine.good("read_unwritten_shared", [np.zeros(2 * 50, np.uint32)], (50,), (1,), 256)
    assert (out == 0xFFFFFFFF).all()


def test_every_order_has_a_poison_of_its_own(machine: Remote) -> None:
    found = []
    for order in ("forward", "reverse", "shuffle:1", "shuffle:2"):
        machine.set(order=order)
        (out,) = machine.good("read_unwritten_shared", [np.zeros(2 * 50, np.uint32)], (50,), (1,), 256)
        assert len(set(out.tolist())) == 1, order
        found.append(hex(out[0]))
    assert found == ["0xffffffff", "0x0", "0x7b7b7b7b", "0xfbfbfbfb"]


def test_shared_memory_begins_with_other_bytes_where_that_is_asked_for(machine: Remote) -> None:
    found = []
    for order in ("forward", "reverse", "shuffle:1", "shuffle:2"):
        machine.set(order=f"{order}+shared")
        (out,) = machine.good("read_unwritten_shared", [np.zeros(2, np.uint32)], (1,), (1,), 256)
        found.append(hex(out[0]))
    assert found == ["0x7b7b7b7b", "0xfbfbfbfb", "0xfbfbfbfb", "0x7b7b7b7b"]


def test_fast_functions_are_the_exact_ones_where_that_is_asked_for(machine: Remote) -> None:
    x, subnormal = np.float32(80.5), np.float32(1e-39)
    found = {}
    for order in ("forward", "forward+exact"):
        machine.set(order=order)
        values = [machine.good("fast_functions", [np.array([one, 0, 0], np.float32)])[0] for one in (x, subnormal)]
        found[order] = (float(values[0][1]), float(values[1][2]))
    exact = float(np.float32(np.exp(np.float64(x))))
    assert abs(found["forward"][0] / exact - 1) > 1e-6
    assert found["forward"][1] == 0
    assert found["forward+exact"] == (pytest.approx(exact, rel=2e-7), float(np.sqrt(subnormal)))


@pytest.mark.parametrize("threads", [2, 32, 1000])
def test_a_compare_and_swap_without_a_retry_is_seen_in_shuffled_orders(machine: Remote, threads: int) -> None:
    wrong = []
    for order in ORDERS:
        machine.set(order=order)
        out = machine.good("sums_by_swaps", [np.zeros(1, np.uint32), ctypes.c_int(0)], (1,), (threads,))[0]
        exchanged = machine.good("sums_by_exchange", [np.zeros(1, np.uint32)], (1,), (threads,))[0]
        wrong.append((bool(out[0] != threads), bool(exchanged[0] != threads)))
        out = machine.good("sums_by_swaps", [np.zeros(1, np.uint32), ctypes.c_int(1)], (3,), (threads,))[0]
        assert out[0] == 3 * threads, order
    assert wrong == [(order.startswith("shuffle"),) * 2 for order in ORDERS]


@pytest.mark.parametrize("threads", [2, 32, 1000])
def test_an_addition_that_is_not_atomic_is_seen_in_shuffled_orders(machine: Remote, threads: int) -> None:
    wrong = []
    for order in ORDERS:
        machine.set(order=order)
        (out,) = machine.good("sums_by_addition", [np.zeros(2 + threads, np.uint32)], (1,), (threads,))
        wrong.append((bool(out[0] != threads), bool(out[1] != threads)))
        assert (out[2:] == 1).all(), order
    assert wrong == [(order.startswith("shuffle"),) * 2 for order in ORDERS]


@pytest.mark.parametrize("order", ORDERS)
def test_votes_of_a_block_count_every_thread(machine: Remote, order: str) -> None:
    machine.set(order=order)
    (out,) = machine.good("votes", [np.zeros(300, np.int32)], (1,), (300,))
    assert (out == 201).all()


def _order_matters(machine: Machine) -> bool:
    return machine.runtime.order_matters()


OUT = np.zeros(64, np.uint32)
INTERACTING = {
    "a barrier": ("late_first_barrier", [OUT], 0),
    "a collective": ("ballots", [np.zeros(64, np.uint64)], 0),
    "an atomic operation": ("order_of_threads", [OUT, OUT], 0),
    "an atomic operation of single threads": ("order_of_blocks", [OUT, OUT], 0),
    "a compare-and-swap": ("sums_by_swaps", [OUT, ctypes.c_int(0)], 0),
    "an addition that is not atomic": ("sums_by_addition", [np.zeros(66, np.uint32)], 0),
    "shared memory": ("broadcast_without_barrier", [OUT], 0),
    "dynamic shared memory": ("indices", [np.zeros(4096, np.uint32)], 4),
}


@pytest.mark.parametrize("kind", INTERACTING)
def test_other_orders_matter_where_threads_interact(machine: Remote, kind: str) -> None:
    kernel, arguments, shared = INTERACTING[kind]
    machine.set(order="reverse")
    threads = 1 if kind.endswith("single threads") else 32
    machine.good(kernel, arguments, (2,), (threads,), shared)
    assert machine.do(_order_matters)


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        ("indices", [np.zeros(4096, np.uint32)]),
        ("counts_in_a_local_array", [np.arange(16, dtype=np.uint32), OUT]),
    ],
)
def test_other_orders_do_not_matter_where_no_thread_has_to_do_with_another(
    machine: Remote, kernel: str, arguments: list[NDArray[np.uint32]]
) -> None:
    for order in ORDERS:
        machine.set(order=order)
        machine.good(kernel, arguments, (2,), (32,))
        assert machine.do(_order_matters) == (order != "reverse")


def test_poison_can_be_turned_off(machine: Remote) -> None:
    machine.set(poison=0, threads=1)
    (out,) = machine.good("read_unwritten_shared", [np.zeros(2 * 50, np.uint32)], (50,), (1,), 256)
    assert (out[2:] == 5).all(), "the second block finds what the first one left"


@pytest.mark.parametrize(("order", "seen"), [("forward", True), ("reverse", True), ("shuffle:3", True)])
def test_a_missing_barrier_gives_a_wrong_result(machine: Remote, order: str, seen: bool) -> None:
    machine.set(order=order)
    values = np.arange(256, dtype=np.int32)
    out = machine.good("a_barrier_is_missing", [values, np.zeros_like(values)], (1,), (256,))[1]
    assert (not np.array_equal(out, values[::-1])) == seen


@pytest.mark.parametrize(("order", "seen"), [("forward", False), ("reverse", True), ("shuffle:3", True)])
def test_another_order_shows_what_forward_hides(machine: Remote, order: str, seen: bool) -> None:
    machine.set(order=order)
    (out,) = machine.good("broadcast_without_barrier", [np.zeros(256, np.int32)], (1,), (256,))
    assert (not (out == 42).all()) == seen


@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("kernel", ["no_barrier_after_load", "no_barrier_in_loop"])
def test_a_reduction_without_one_of_its_barriers_is_seen_in_three_orders_of_four(
    machine: Remote, kernel: str, size: int
) -> None:
    values = np.arange(size, dtype=np.float32)
    wrong = []
    for order in ORDERS:
        machine.set(order=order)
        total = machine.good(kernel, [values, np.zeros(1, np.float32)], (1,), (size,))[1]
        wrong.append(bool(total[0] != values.sum()))
    assert wrong == [True, False, True, True]


@pytest.mark.parametrize(("barrier", "stacks"), [(0, 1), (1, 200)])
def test_threads_share_a_stack_until_they_meet_a_barrier(machine: Remote, barrier: int, stacks: int) -> None:
    (places,) = machine.good("stack_of", [np.zeros(200, np.uint64), ctypes.c_int(barrier)], (1,), (200,))
    assert len(set(places.tolist())) == stacks


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_blocks_run_on_several_cores_at_once(machine: Remote) -> None:
    (arrived,) = machine.good("last_blocks_meet", [np.zeros(1, np.int32)], (16,), (1,))
    assert arrived[0] == 2


def order_of(machine: Remote, kernel: str, order: str, count: int) -> list[int]:
    machine.set(order=order, threads=1)
    arguments = (np.zeros(1, np.uint32), np.zeros(count, np.uint32))
    shape = ((1,), (count,)) if kernel == "order_of_threads" else ((count,), (1,))
    result: list[int] = machine.good(kernel, arguments, *shape)[1].tolist()
    return result


@pytest.mark.parametrize("kernel", ["order_of_threads", "order_of_blocks"])
@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_orders_are_what_they_are_called(machine: Remote, kernel: str, count: int) -> None:
    everyone = list(range(count))
    assert order_of(machine, kernel, "forward", count) == everyone
    assert order_of(machine, kernel, "reverse", count) == everyone[::-1]
    shuffled = order_of(machine, kernel, "shuffle:5", count)
    assert sorted(shuffled) == everyone
    assert order_of(machine, kernel, "shuffle:5", count) == shuffled
    if count > 7:
        assert shuffled not in (everyone, everyone[::-1])
        assert order_of(machine, kernel, "shuffle:6", count) != shuffled


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("order", "sideways"),
        ("order", "shuffle:"),
        ("order", "shuffle:-1"),
        ("order", "forward+x"),
        ("wave", 48),
        ("threads", 0),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_and_named(machine: Remote, key: str, value: object) -> None:
    with pytest.raises(AssertionError, match=re.escape(f"option {key}: '{value}' is not")):
        machine.set(**{key: value})


def test_an_unknown_option_is_refused_with_those_there_are(machine: Remote) -> None:
    with pytest.raises(AssertionError, match="use wave, order, threads, timeout_ms, poison, guard or print_bytes"):
        machine.set(lanes=3)


def test_an_order_set_in_both_ways_is_the_last_one(machine: Remote) -> None:
    assert machine.do(_orders) == ["reverse", "forward", "reverse"]


def _orders(machine: Machine) -> list[str]:
    machine.library.hipcpuGetOption.restype = ctypes.c_char_p
    seen = []
    for choose in (
        lambda: machine.runtime.set_order("reverse"),
        lambda: machine.runtime.set_option("order", "forward"),
        lambda: machine.runtime.set_order("reverse"),
    ):
        choose()
        seen.append(machine.library.hipcpuGetOption(b"order").decode())
    return seen
