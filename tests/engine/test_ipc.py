"""Messages between processes, and the memory that they share."""

from __future__ import annotations

import fcntl
import os
import socket

import msgpack
import numpy as np
import pytest

from conformance.engine.ipc import PACKET, Arena, Channel, Closed, Garbled, Late, hang_seconds, pair
from conformance.runtimes import NAMES, runtime_kind


@pytest.fixture
def ends():
    ours, theirs = pair()
    other = Channel(theirs)
    yield ours, other, theirs
    ours.close()
    other.close()


def test_a_message_arrives_as_it_was_sent(ends):
    ours, other, _ = ends
    ours.send({"a": [1, 2.5, "text", b"bytes", None]})
    assert other.receive(5) == ({"a": [1, 2.5, "text", b"bytes", None]}, [])


def test_a_message_larger_than_a_packet_arrives_whole(ends):
    ours, other, _ = ends
    ours.send({"data": b"x" * (3 * PACKET)})
    message, descriptors = other.receive(5)
    assert message == {"data": b"x" * (3 * PACKET)}
    assert descriptors == []


def test_file_descriptors_travel_with_a_message(ends):
    ours, other, _ = ends
    read, write = os.pipe()
    ours.send({"n": 1}, [write])
    os.close(write)
    _, (received,) = other.receive(5)
    os.write(received, b"through")
    os.close(received)
    assert os.read(read, 100) == b"through"
    os.close(read)


def test_the_end_of_the_other_side_and_silence_are_told_apart(ends):
    ours, other, _ = ends
    with pytest.raises(Late):
        ours.receive(0.01)
    other.close()
    with pytest.raises(Closed):
        ours.receive(5)
    with pytest.raises(Closed):
        ours.send({"a": 1})


def test_the_last_words_of_a_side_that_ended_without_reading_are_heard(ends):
    ours, other, _ = ends
    ours.send({"do": "start"})
    other.send({"say": "refused"})
    other.close()
    assert ours.receive(5)[0] == {"say": "refused"}
    with pytest.raises(Closed):
        ours.receive(5)


@pytest.mark.parametrize(
    "packet",
    [
        b"\xc1",
        b"cposix\nsystem\n(S'id'\ntR.",
        msgpack.packb([1, 2]),
        msgpack.packb({"in file": 10}),
        msgpack.packb({"in file": 1 << 60}),
        msgpack.packb({"a": 1}) + b"rest",
        b"\x91" * 5000,
    ],
)
def test_what_is_not_a_message_is_garbled(ends, packet):
    ours, _, theirs = ends
    theirs.send(packet)
    with pytest.raises(Garbled):
        ours.receive(5)


def test_descriptors_of_a_garbled_message_are_closed(ends):
    ours, _, theirs = ends
    before = len(os.listdir("/proc/self/fd"))
    read, write = os.pipe()
    socket.send_fds(theirs, [b"\xc1"], [read, write])
    os.close(read)
    os.close(write)
    with pytest.raises(Garbled):
        ours.receive(5)
    assert len(os.listdir("/proc/self/fd")) == before


def test_both_sides_see_the_same_memory_and_nobody_can_take_it_away():
    ours = Arena()
    ours.grow(1000)
    theirs = Arena(os.dup(ours.descriptor))
    theirs.attach(ours.size)
    np.frombuffer(ours.map, np.uint8)[5] = 77
    assert theirs.map[5] == 77
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(theirs.descriptor, 0)
    ours.grow(ours.size + 1)  # grows under the other's map
    assert theirs.map[5] == 77
    with pytest.raises(ValueError, match="of an arena of"):
        theirs.address(theirs.size - 4, 8)
    assert fcntl.fcntl(ours.descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
    ours.close()
    theirs.close()


def test_a_small_launch_gives_back_the_memory_of_a_large_one():
    arena = Arena()
    arena.grow(100 << 20)
    np.frombuffer(arena.map, np.uint8)[:: 1 << 20] = 77
    arena.grow(1000)
    assert os.fstat(arena.descriptor).st_blocks * 512 <= 4 << 20
    assert arena.map[0] == 77
    assert arena.map[99 << 20] == 0  # still mapped
    arena.grow(100 << 20)
    assert os.fstat(arena.descriptor).st_blocks * 512 == 100 << 20
    arena.close()


def test_a_runtime_that_ends_launches_itself_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock at ten times the CPU time: on a busy machine a process that was stopped before could not say where
    its kernel hangs."""
    monkeypatch.delenv("CANDLE_PARITY_HANG_SECONDS", raising=False)
    for name in NAMES:
        launch = runtime_kind(name).launch_seconds
        assert hang_seconds(launch) > 10 * launch
    assert runtime_kind("isa").launch_seconds > hang_seconds() / 10
    monkeypatch.setenv("CANDLE_PARITY_HANG_SECONDS", "7")
    assert hang_seconds(60.0) == 7
