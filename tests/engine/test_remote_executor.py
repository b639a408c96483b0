"""What a judge believes of an executor's answers: none but the right shape to the right request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.engine.ipc import Arena, Channel, Progress, pair
from conformance.engine.remote_executor import Executor, Function, Lost
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
KERNEL = Function("k", 0)
ORDERS = ("forward", "reverse")


@pytest.fixture
def talk():
    """``talk(answer, pad)``: an executor whose other end answers each request with what ``answer`` makes of it."""
    cleanup: list[Callable[[], None]] = []

    def start(answer: Callable[[dict[str, Any], dict[int, Arena]], dict[str, Any] | bytes | None], pad: int = 0):
        ours, theirs = pair()
        other = Channel(theirs)

        def serve() -> None:
            arenas: dict[int, Arena] = {}
            while True:
                try:
                    message, descriptors = other.receive()
                except Exception:
                    return
                if message["do"] == "arena":
                    arenas[message["arena"]] = Arena(descriptors[0])
                    continue
                if "mapped" in message:
                    arenas[message["arena"]].attach(message["mapped"])
                said = answer(message, arenas)
                if isinstance(said, bytes):
                    theirs.send(said)
                elif said is not None:
                    other.send(said)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        executor = Executor(ours, Progress(), pad, patience=0.3)
        cleanup.append(executor.close)
        return executor

    yield start
    for done in cleanup:
        done()


def copies(add: dict[str, float]):
    """Answers a launch: the buffers as they came, ``add`` more in the output, by order."""

    def answer(message: dict[str, Any], arenas: dict[int, Arena]) -> dict[str, Any]:
        shared, total = arenas[message["arena"]].map, message["total"]
        for number, order in enumerate(message["orders"]):
            out = total * (number + 1)
            shared[out : out + total] = shared[:total]
            at, size = message["buffers"][1]
            np.frombuffer(shared, np.float32, size // 4, out + at)[:] += add[order]
        return {"id": message["id"], "orders": [None] * len(message["orders"])}

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
    def answer(message, arenas):
        said = copies({"forward": 0})(message, arenas)
        at, size = message["buffers"][1]
        shared, out = arenas[message["arena"]].map, message["total"]
        shared[out + at - 4 : out + at] = b"abcd"
        shared[out + at + size : out + at + size + 2] = b"ef"
        return said

    executor = talk(answer, pad=256)
    buffers, damaged = executor.result(executor.submit(KERNEL, LAUNCH, ("forward",)), "forward")
    assert damaged == {"out": "4 bytes before and 2 bytes after the buffer were overwritten"}
    assert buffers["out"].tolist() == [7, 7, 7]


def test_an_error_of_the_device_is_raised_for_its_order(talk):
    error = {"call": "hipModuleLaunchKernel", "code": 700, "name": "hipErrorX", "what": "k", "detail": "thread 7"}
    executor = talk(lambda message, arenas: {"id": message["id"], "orders": [None, error]})
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)
    executor.result(launch, "forward")
    with pytest.raises(HipError, match="thread 7") as caught:
        executor.result(launch, "reverse")
    assert caught.value.is_fault


@pytest.mark.parametrize(("most", "told"), [(16, True), (32, False), (None, False)])
def test_an_error_names_the_limit_of_the_code_object_that_the_launch_is_beyond(talk, most, told):
    error = {"call": "hipModuleLaunchKernel", "code": 9, "name": "hipErrorX", "what": "k", "detail": ""}
    executor = talk(lambda message, arenas: {"id": message["id"], "orders": [{**error, "before_launch": False}]})
    launch = executor.submit(Function("k", 0, most), LAUNCH, ("forward",))
    with pytest.raises(HipError) as caught:
        executor.result(launch, "forward")
    assert ("blocks of at most 16 threads" in str(caught.value)) == told


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda message: {"id": message["id"] + 1, "orders": [None, None]}, "garbled"),
        (lambda message: {"id": message["id"] - 1, "orders": [None, None]}, "garbled"),
        (lambda message: {"id": str(message["id"]), "orders": [None, None]}, "garbled"),
        (lambda message: {"id": message["id"], "orders": [None]}, "garbled"),
        (lambda message: {"id": message["id"], "orders": [{"status": "pass"}, None]}, "garbled"),
        (lambda message: {"kind": "Outcome", "data": {"kernel": "k", "status": "pass"}}, "garbled"),
        (lambda message: b"\x80\x04\x95 a pickle", "garbled"),
        (lambda message: None, "silent"),
    ],
)
def test_an_answer_that_is_none_loses_the_executor_and_is_no_verdict(talk, answer, kind):
    executor = talk(lambda message, arenas: answer(message))
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)

    def both():
        return [executor.result(launch, order) for order in ORDERS]

    with pytest.raises(Lost) as caught:
        both()
    assert caught.value.kind == kind


def test_an_executor_that_ended_is_told_when_its_answer_is_asked_for(talk):
    ours, theirs = pair()
    executor = Executor(ours, Progress(), 0, patience=5)
    theirs.close()
    launch = executor.submit(KERNEL, LAUNCH, ORDERS)  # the launch before must not be blamed
    with pytest.raises(Lost) as caught:
        executor.result(launch, "forward")
    assert caught.value.kind == "ended"
    executor.close()
