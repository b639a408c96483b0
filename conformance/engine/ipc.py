"""Messages between processes: msgpack over a Unix socket, one message a packet, never pickle.

A message that does not fit a packet travels in an anonymous file whose descriptor goes with the packet.
"""

from __future__ import annotations

import array
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

PACKET = 64 * 1024
"""Bytes of a packet at most: well below the smallest default send buffer of Linux."""

LARGEST = 256 << 20
"""Bytes of a message at most."""

_DESCRIPTORS = 64


class Closed(Exception):
    """The other end is gone."""


class Garbled(Exception):
    """What came is not a message: not msgpack, not a map, too large."""


class Late(Exception):
    """Nothing came in time."""


class Channel:
    """One end of a connection. Not thread-safe."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @classmethod
    def adopt(cls, descriptor: int) -> Channel:
        """The channel over an inherited or received file descriptor, which the channel closes."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Mapping[str, Any], descriptors: Sequence[int] = (), seconds: float | None = None) -> None:
        """Send ``message``, and copies of ``descriptors`` with it.

        Raises ``Closed``, and ``Late`` when the other side takes nothing for ``seconds``.
        """
        data: bytes = msgpack.packb(message, use_bin_type=True)
        if len(data) <= PACKET:
            self._send(data, descriptors, seconds)
            return
        file = os.memfd_create("message", os.MFD_CLOEXEC)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            self._send(msgpack.packb({"in file": len(data)}), (file, *descriptors), seconds)
        finally:
            os.close(file)

    def _send(self, data: bytes, descriptors: Sequence[int], seconds: float | None) -> None:
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self._socket.settimeout(seconds)
        try:
            self._socket.sendmsg([data], attached)
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Closed(str(error)) from None

    def receive(self, seconds: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next message and the descriptors that came with it, which are the caller's to close.

        Raises ``Closed``, ``Garbled``, and ``Late`` when nothing comes for ``seconds``.
        """
        self._socket.settimeout(seconds)
        try:
            try:
                data, attached, flags, _ = self._socket.recvmsg(PACKET, socket.CMSG_SPACE(_DESCRIPTORS * 4))
            except ConnectionResetError:  # raised once where the other side has not read all; what it sent comes after
                data, attached, flags, _ = self._socket.recvmsg(PACKET, socket.CMSG_SPACE(_DESCRIPTORS * 4))
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Closed(str(error)) from None
        descriptors = [number for level, kind, content in attached for number in _numbers(level, kind, content)]
        try:
            if not data:
                raise Closed("end of file")
            if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                raise Garbled("a packet is too large")
            message = _unpacked(data)
            if "in file" in message:
                message = _unpacked(_content(message["in file"], descriptors))
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        return message, descriptors

    def close(self) -> None:
        self._socket.close()


def pair() -> tuple[Channel, socket.socket]:
    """A channel and the socket of its other end, for a child process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(ours), theirs


def ready(channels: Sequence[Channel], seconds: float) -> list[Channel]:
    """The channels on which something has come, after at most ``seconds``."""
    found: list[Channel] = []
    poll = select.poll()
    by_number = {channel.fileno(): channel for channel in channels}
    for number in by_number:
        poll.register(number, select.POLLIN)
    deadline = time.monotonic() + seconds
    while not found:
        left = deadline - time.monotonic()
        if left < 0:
            break
        found = [by_number[number] for number, _ in poll.poll(left * 1000)]
    return found


def _numbers(level: int, kind: int, content: bytes) -> list[int]:
    if (level, kind) != (socket.SOL_SOCKET, socket.SCM_RIGHTS):
        return []
    numbers = array.array("i")
    numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
    return list(numbers)


def _unpacked(data: bytes) -> dict[str, Any]:
    try:
        message = msgpack.unpackb(data, raw=False, strict_map_key=False)
    except (ValueError, msgpack.UnpackException) as error:
        raise Garbled(f"a packet is not msgpack ({error})") from None
    if not isinstance(message, dict):
        raise Garbled("a packet is not a map")
    return message


def _content(size: object, descriptors: list[int]) -> bytes:
    if not isinstance(size, int) or not 0 <= size <= LARGEST or not descriptors:
        raise Garbled("a message is too large, or its file is missing")
    file = descriptors.pop(0)
    try:
        data = os.pread(file, size, 0)
    except OSError as error:
        raise Garbled(f"a message cannot be read ({error.strerror})") from None
    finally:
        os.close(file)
    if len(data) != size:
        raise Garbled("a message is cut short")
    return data
