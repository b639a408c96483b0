"""What goes between processes: messages over a socket, buffers in shared memory, a page of progress; and how long one
waits for another.

A message is msgpack over a Unix socket, one message a packet, never pickle. One that does not fit a packet travels in
an anonymous file whose descriptor goes with the packet.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import select
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from importlib import import_module
from typing import Any

import msgpack

from conformance.environment import HANG_SECONDS, value_of
from conformance.files import own_module
from conformance.processes import Supervisor, parent_word
from conformance.processes.child import KEPT, decoded, tail
from conformance.processes.forked import may_fork, set_malloc

PACKET = 64 * 1024
"""Bytes of a packet at most: well below the smallest default send buffer of Linux."""

LARGEST = 256 << 20
"""Bytes of a message at most."""

_DESCRIPTORS = 64
_CUT = int(socket.MSG_TRUNC | socket.MSG_CTRUNC)


class Closed(Exception):
    """The other end of the connection is gone."""


class Garbled(Exception):
    """What arrived is not a message: not msgpack, not a map, or too large."""


class Late(Exception):
    """Nothing arrived in time, or the other side took nothing."""


class Channel:
    """One end of a connection between two processes. Not thread-safe."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @classmethod
    def adopt(cls, descriptor: int) -> Channel:
        """The channel over ``descriptor``, which was inherited or received. The channel closes it."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """The socket's descriptor, for a selector."""
        return self._socket.fileno()

    def send(self, message: Mapping[str, Any], descriptors: Sequence[int] = (), seconds: float | None = None) -> None:
        """Send ``message``, with copies of ``descriptors``. A dataclass in it travels as a map of its fields.

        Raises ``Closed``, and ``Late`` if the other side takes nothing for ``seconds``.
        """
        data: bytes = msgpack.packb(message, use_bin_type=True, default=_fields)
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
        self._within(seconds)
        try:
            if descriptors:
                socket.send_fds(self._socket, [data], list(descriptors))
            else:
                self._socket.send(data)
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Closed(str(error)) from None

    def _within(self, seconds: float | None) -> None:
        if self._socket.gettimeout() != seconds:  # to set it is a system call
            self._socket.settimeout(seconds)

    def receive(self, seconds: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next message and the file descriptors that came with it, which the caller has to close.

        Raises ``Closed``, ``Garbled``, and ``Late`` if nothing arrives for ``seconds``.
        """
        self._within(seconds)
        try:
            try:
                data, descriptors, flags, _ = socket.recv_fds(self._socket, PACKET, _DESCRIPTORS)
            except ConnectionResetError:  # raised once where the other side has not read all; what it sent comes after
                data, descriptors, flags, _ = socket.recv_fds(self._socket, PACKET, _DESCRIPTORS)
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Closed(str(error)) from None
        try:
            if not data:
                raise Closed("end of file")
            if flags & _CUT:
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
        """Close the socket."""
        self._socket.close()


def pair() -> tuple[Channel, socket.socket]:
    """A channel, and the socket of its other end to hand to a child."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(ours), theirs


class Process:
    """A process of ours that runs ``module``, with a channel to it and a file for what it prints.

    Its arguments are the descriptor of its end of the channel, ``descriptors``, and the word for ``die_with_parent``.
    With ``forked`` it is a copy of this process, if that is safe, and calls the module's function ``serve`` with these.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        module: str,
        descriptors: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        forked: bool = False,
    ) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self.channel, theirs = pair()
        with theirs:
            passed, output = (theirs.fileno(), *descriptors), self._output.fileno()
            numbers = (*passed, parent_word())
            if forked and may_fork():
                chosen = os.environ if environment is None else environment
                serve = partial(import_module(module).serve, *numbers)
                run = partial(_serve, serve, chosen)
                self.child = supervisor.fork(module.rpartition(".")[2], run, passed, output, chosen)
                return
            command = [*own_module(module), *map(str, numbers)]
            self.child = supervisor.start(
                command, pass_fds=passed, stdout=output, stderr=output, environment=environment
            )

    def printed(self) -> str:
        """What the process printed; of a long text the end."""
        return decoded(tail(self._output.fileno(), KEPT))

    def stop(self) -> None:
        """Kill the process and close its channel and file."""
        self.child.kill()
        self.channel.close()
        self._output.close()


def _serve(serve: Callable[[], None], environment: Mapping[str, str]) -> None:
    """In a copy of this process: what a program does with ``environment`` as it starts, then ``serve``."""
    set_malloc(environment)
    serve()


def ready(channels: Iterable[Channel], seconds: float) -> list[Channel]:
    """The channels on which something has arrived, after waiting for at most ``seconds``."""
    poll = select.poll()
    by_number = {channel.fileno(): channel for channel in channels}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]


def _fields(value: object) -> dict[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be in a message")
    return vars(value)


def _unpacked(data: bytes) -> dict[str, Any]:
    try:
        message = msgpack.unpackb(data, raw=False, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:  # TypeError: a map or an array as a key
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


ALIGNMENT = 256
"""Bytes, as a device allocation has it."""

_STEP = 4 << 20
_SEALS = 0x1 | 0x2
"""F_SEAL_SEAL and F_SEAL_SHRINK of Linux: what is sealed stays so, and nothing else can be sealed."""


def aligned(size: int) -> int:
    """``size`` rounded up to the alignment of buffers."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Arena:
    """Memory that a judge and an executor share: an anonymous file that both map. It never shrinks.

    The judge makes it and decides where things lie in it. As the file cannot shrink, no process can find a page gone.
    After a large launch the judge gives memory back to the system; these pages then read as zeros.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """A new one, or the one behind ``descriptor``, which is closed with the arena."""
        if descriptor is None:
            descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        self.descriptor = descriptor
        self.size = 0
        self._backed = 0
        self._map: mmap.mmap | None = None
        self._address = 0

    @property
    def map(self) -> mmap.mmap:
        """The mapping, once ``grow`` or ``attach`` was called."""
        assert self._map is not None
        return self._map

    def grow(self, size: int) -> None:
        """Make the file at least ``size`` bytes long, reserve its memory, and map all of it. Raises ``OSError`` and
        ``ValueError``."""
        length = -(-size // _STEP) * _STEP
        if self._backed < length:
            os.posix_fallocate(self.descriptor, 0, length)  # a full memory is an error here, not a signal later
        elif self._backed > max(4 * _STEP, 4 * length):
            self.map.madvise(mmap.MADV_REMOVE, length, self._backed - length)
        else:
            return
        self._backed = length
        self.attach(length)

    def attach(self, size: int) -> None:
        """Map the first ``size`` bytes of the file. An earlier mapping lives as long as an array looks at it."""
        if size <= self.size:
            return
        self._map = mmap.mmap(self.descriptor, size)
        self.size = size
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def address(self, offset: int, size: int) -> int:
        """The address in this process of ``size`` bytes at ``offset``. Raises ``ValueError`` where they are not in the
        arena."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ValueError(f"{size} bytes at {offset} of an arena of {self.size}")
        return self._address + offset

    def close(self) -> None:
        """Close the file; the mapping goes with the last array that looks at it."""
        self._map = None
        self.size = 0
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


_HEADER = struct.Struct("dI")
_SIZE = 4096


class Progress:
    """A page of shared memory with the time and the name of what a child has begun last.

    The parent makes it by ``Progress()`` and hands the descriptor to the child, which calls ``Progress(descriptor)``.
    """

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            fd = os.memfd_create("candle-parity-progress", 0)
            os.ftruncate(fd, _SIZE)
        self.fd = fd
        self._page = mmap.mmap(fd, _SIZE)

    def begin(self, what: str) -> None:
        """Write the time and the name of what begins now."""
        text = what.encode()[: _SIZE - _HEADER.size]
        self._page[_HEADER.size : _HEADER.size + len(text)] = text
        self._page[: _HEADER.size] = _HEADER.pack(time.monotonic(), len(text))

    def read(self) -> tuple[float, str]:
        """The time (``time.monotonic``) and the name of what was begun last; (0, "") before anything was."""
        began, length = _HEADER.unpack(self._page[: _HEADER.size])
        return began, self._page[_HEADER.size : _HEADER.size + length].decode(errors="replace")

    def close(self) -> None:
        """Close the file and unmap the page."""
        self._page.close()
        os.close(self.fd)


_DEFAULT = 90.0


_OF_LAUNCH = 12
"""A runtime of ours ends a launch by the clock at ten times the CPU time that it allows, and says where."""


def hang_seconds(launch: float = 0.0) -> float:
    """The number of seconds after which a launch, or a judge between two cases, is stopped with its process.

    Our own runtimes end an endless loop earlier, after ``launch`` seconds of CPU time, which on a busy machine can take
    several times as long. A GPU that hangs does not end. ``$CANDLE_PARITY_HANG_SECONDS`` sets another limit. Raises
    ``EnvironmentValueError``.
    """
    seconds: float | None = value_of(HANG_SECONDS)
    return max(_DEFAULT, _OF_LAUNCH * launch) if seconds is None else seconds
