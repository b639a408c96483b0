"""What a judge believes of an executor's answers: none but the right shape to the right request."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.engine.coding import receive
from conformance.engine.ipc import Arena, Channel, Progress, pair
from conformance.engine.protocol import TO_EXECUTOR, LoadCode, RunLaunch, ShareArena
from conformance.engine.remote_executor import Executor, Lost, RemoteFunction
from conformance.runtimes.hip.errors import HipError

LAUNCH = Launch(
    "k",
    (1, 1, 1),
    (32, 1, 1),
    0,
    (
        Scalar("n", "size_t", np.uint64(3)),
        Buffer("inp", "f32", "in", np.array([9, 1, 2], np.float32), start=1),
        Buffer("out", "f32", "out", np.array([7, 7, 7], np.float32)),
    ),
)
KERNEL = RemoteFunction("k", 0)
ORDERS = ("forward", "reverse")


@pytest.fixture
def talk():
    """``talk(answer, pad)``: an executor whose other end answers each request with what ``answer`` makes of it: the map
    of an answer, to which the number of the request is added where it has none, or the bytes of a packet."""
    cleanup: list[Callable[[], None]] = []

    def start(answer: Callable[[Any, int, dict[int, Arena]], dict[str, Any] | bytes | None], pad: int = 0):
        ours, theirs = pair()
        other = Channel(theirs)

        def serve() -> None:
            arenas: dict[int, Arena] = {}
            while True:
                try:
                    message, number, descriptors = receive(other, TO_EXECUTOR, descriptors=True)
                except Exception:
                    return
                if isinstance(message, ShareArena):
                    arenas[message.arena] = Arena(descriptors[0])
                    continue
                if isinstance(message, RunLaunch | LoadCode):
                    arenas[message.arena].attach(message.mapped)
                said = answer(message, number, arenas)
                if isinstance(said, bytes):
                    theirs.send(said)
                elif said is not None:
                    other.send({"id": number, **said})

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        executor = Executor(ours, Progress(), pad, patience=0.3)
        cleanup.append(executor.close)
        return executor

    yield start
    for done in cleanup:
        done()


def launched(*ends: object, **others: object) -> dict[str, Any]:
    """The answer about a launch whose orders ended so, as a map, with ``others`` of its fields."""
    return {"kind": "LaunchEnds", "data": {"ends": ends, "untold": 0, "leak": None, "misaligned": "", **others}}


def copies(add: dict[str, float]):
    """Answers a launch: the buffers as they came, ``add`` more in the output, by order."""

    def answer(message: RunLaunch, number: int, arenas: dict[int, Arena]) -> dict[str, Any]:
        shared, total = arenas[message.arena].map, message.total
        for place, order in enumerate(message.orders):
            out = total * (place + 1)
            shared[out : out + total] = shared[:total]
            at, size = message.buffers[1]
            np.frombuffer(shared, np.float32, size // 4, out + at)[:] += add[order]
        return launched(*[None] * len(message.orders))

    return answer


def test_each_order_has_its_own_buffers(talk):
    executor = talk(copies({"forward": 1, "reverse": 2}))
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)
    first, damaged = executor.result(launch, "forward")
    second, _ = executor.result(launch, "reverse")
    assert first["out"].tolist() == [8, 8, 8]
    assert second["out"].tolist() == [9, 9, 9]
    assert first["inp"].tolist() == [9, 1, 2]
    assert damaged == {}


def test_an_order_that_leaves_the_same_bytes_gives_the_same_answer(talk):
    executor = talk(copies({"forward": 1, "reverse": 1}))
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)
    assert executor.result(launch, "forward")[0] is executor.result(launch, "reverse")[0]


def test_a_second_launch_is_on_its_way_while_the_first_is_looked_at(talk):
    executor = talk(copies({"forward": 1}))
    one = executor.submit(KERNEL, LAUNCH, ("forward",))
    two = executor.submit(KERNEL, LAUNCH, ("forward",))
    first, _ = executor.result(one, "forward")
    second, _ = executor.result(two, "forward")
    second["out"][:] = 55
    assert first["out"].tolist() == [8, 8, 8]


def test_guard_bytes_tell_writes_outside_of_a_buffer(talk):
    def answer(message, number, arenas):
        said = copies({"forward": 0})(message, number, arenas)
        at, size = message.buffers[1]
        shared, out = arenas[message.arena].map, message.total
        shared[out + at - 4 : out + at] = b"abcd"
        shared[out + at + size : out + at + size + 2] = b"ef"
        return said

    executor = talk(answer, pad=256)
    buffers, damaged = executor.result(executor.submit(KERNEL, LAUNCH, ("forward",)), "forward")
    assert damaged == {"out": "4 bytes before and 2 bytes after the buffer were overwritten"}
    assert buffers["out"].tolist() == [7, 7, 7]


ERROR = {"call": "hipModuleLaunchKernel", "code": 700, "name": "X", "what": "k", "detail": "", "before_launch": False}


def test_an_error_of_the_device_is_raised_for_its_order(talk):
    executor = talk(lambda message, number, arenas: launched(None, {**ERROR, "detail": "thread 7"}))
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)
    executor.result(launch, "forward")
    with pytest.raises(HipError, match="thread 7") as caught:
        executor.result(launch, "reverse")
    assert caught.value.is_fault


@pytest.mark.parametrize(("most", "told"), [(16, True), (32, False), (None, False)])
def test_an_error_names_the_limit_of_the_code_object_that_the_launch_is_beyond(talk, most, told):
    executor = talk(lambda message, number, arenas: launched({**ERROR, "code": 9}))
    launch = executor.submit(RemoteFunction("k", 0, most), LAUNCH, ("forward",))
    with pytest.raises(HipError) as caught:
        executor.result(launch, "forward")
    assert ("blocks of at most 16 threads" in str(caught.value)) == told


def test_an_error_about_a_request_that_is_no_launch_is_raised(talk):
    executor = talk(lambda message, number, arenas: {"kind": "Failed", "data": {"error": ERROR}})
    with pytest.raises(HipError, match="hipModuleLaunchKernel"):
        executor.function(0, "k")


GARBLED = {
    "no number": lambda number: {**launched(None, None), "id": None},
    "the next number": lambda number: {**launched(None, None), "id": number + 1},
    "the number before": lambda number: {**launched(None, None), "id": number - 1},
    "a number as text": lambda number: {**launched(None, None), "id": str(number)},
    "a number as truth": lambda number: {**launched(None, None), "id": True},
    "no kind": lambda number: {"data": launched(None, None)["data"]},
    "a kind that is none": lambda number: {**launched(None, None), "kind": ["LaunchEnds"]},
    "an outcome": lambda number: {"kind": "Outcome", "data": {"name": "k", "status": "pass"}},
    "an answer to something else": lambda number: {"kind": "CodeLoaded", "data": {"module": 0, "kernels": None}},
    "a request": lambda number: {"kind": "FindCall", "data": {"name": "k"}},
    "a failure of no order": lambda number: {"kind": "Failed", "data": {"error": ERROR}},
    "an order too few": lambda number: launched(None),
    "an order too few, said to be the same": lambda number: launched(untold=1),
    "no orders": lambda number: {"kind": "LaunchEnds", "data": {"untold": 0, "leak": None, "misaligned": ""}},
    "a field more": lambda number: launched(None, None, status="pass"),
    "an order that is something else": lambda number: launched({"status": "pass"}, None),
    "an order that is a truth": lambda number: launched(False, None),
    "orders that are no list": lambda number: launched() | {"data": {**launched()["data"], "ends": {}}},
    "an error with a field of another type": lambda number: launched({**ERROR, "code": "700"}, None),
    "a text without end": lambda number: launched(None, None, misaligned="x" * 5000),
    "fewer than none": lambda number: launched(None, None, untold=-1),
    "a leak of other counts": lambda number: launched(None, None, leak=[1, 2]),
    "a pickle": lambda number: b"\x80\x04\x95 a pickle",
    "a map as a name": lambda number: b"\x81\x80\x01",
}
"""Answers to a launch that are none, by what is wrong with them."""


@pytest.mark.parametrize("wrong", GARBLED)
def test_an_answer_that_is_none_loses_the_executor_and_is_no_verdict(talk, wrong):
    executor = talk(lambda message, number, arenas: GARBLED[wrong](number))
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)

    def both():
        return [executor.result(launch, order) for order in ORDERS]

    with pytest.raises(Lost) as caught:
        both()
    assert caught.value.kind == "garbled"


def test_an_answer_with_descriptors_is_none_and_they_are_closed(talk):
    ours, theirs = pair()
    executor = Executor(ours, Progress(), 0, patience=5)
    other = Channel(theirs)
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)
    read, write = os.pipe()
    other.send({"id": launch.id, **launched(None, None)}, [write])
    os.close(write)
    with pytest.raises(Lost, match="file descriptors") as caught:
        executor.result(launch, "forward")
    assert caught.value.kind == "garbled"
    assert os.read(read, 1) == b""  # nobody has the other end any more
    os.close(read)
    executor.close()
    other.close()


def test_an_answer_that_does_not_come_loses_the_executor(talk):
    executor = talk(lambda message, number, arenas: None)
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)
    with pytest.raises(Lost) as caught:
        executor.result(launch, "forward")
    assert caught.value.kind == "silent"


def test_an_executor_that_ended_is_told_when_its_answer_is_asked_for(talk):
    ours, theirs = pair()
    executor = Executor(ours, Progress(), 0, patience=5)
    theirs.close()
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)  # the launch before must not be blamed
    with pytest.raises(Lost) as caught:
        executor.result(launch, "forward")
    assert caught.value.kind == "ended"
    executor.close()
