"""An executor as a judge sees it: code objects to load, launches to run, raw buffers that come back.

Nothing that comes from an executor is believed further than it can be checked: an answer to another request, of another
shape or that does not come is an executor lost, never a verdict.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from conformance.cases.launch import Buffer, Bytes, Launch, Scalar, Spread, Stream
from conformance.engine.coding import Expected, Message, Received, receive, send
from conformance.engine.ipc import Arena, Channel, Closed, Garbled, Late, Progress, aligned
from conformance.engine.protocol import (
    LAUNCHED,
    CallFound,
    CodeLoaded,
    Failed,
    FindCall,
    FindFunction,
    FunctionFound,
    KernelRow,
    LaunchEnds,
    LoadCode,
    Loss,
    Misused,
    RunLaunch,
    ShareArena,
    Slot,
    ToExecutor,
)
from conformance.runtimes.hip.calling import Misuse
from conformance.runtimes.hip.device import CANARY, describe
from conformance.spec.entry import Build

SLOTS = 2
"""Launches on their way at a time: one runs while the one before is judged."""

LONGEST = 10
"""An executor that shows progress is waited for, but not longer than this many times the patience."""

_LOOK = 1.0


class Lost(Exception):
    """The executor is of no use any more: it ended, did not answer in time, or its answer was not one."""

    def __init__(self, kind: Loss, why: str) -> None:
        super().__init__(why)
        self.kind = kind


_Answer = TypeVar("_Answer", CodeLoaded, FunctionFound, CallFound)


@dataclass(frozen=True)
class RemoteFunction:
    """A function of a code object that an executor has loaded, by its number.

    Where known, it has the most threads of a block that it was compiled for, and the bytes of its static ``__shared__``
    variables.
    """

    name: str
    number: int
    most_threads: int | None = None
    shared: int | None = None


@dataclass
class Submitted:
    """A launch that was sent to an executor: its number, its arena, and what is known of it so far."""

    id: int
    slot: int
    places: BufferPlaces
    orders: tuple[str, ...]
    limit: str = ""
    answer: LaunchEnds | None = None
    lost: Lost | None = None
    first: tuple[dict[str, NDArray[Any]], dict[str, str]] | None = None


class Executor:
    """A judge's link to one executor.

    ``pad`` is the number of guard bytes around each buffer; 0 where the runtime guards memory itself. ``patience`` is
    how many seconds an answer may take while the executor's page of progress does not change.
    """

    def __init__(self, channel: Channel, page: Progress, pad: int, patience: float) -> None:
        self._channel = channel
        self._page = page
        self._pad = pad
        self.patience = patience
        self._arenas = [Arena() for _ in range(SLOTS)]
        self._sent = 0
        self._slot = 0
        self._waiting: list[Submitted] = []
        for number, arena in enumerate(self._arenas):
            self._send(ShareArena(number), [arena.descriptor])

    def load(self, code: bytes, label: str, build: Build = "kernels") -> tuple[int, Sequence[KernelRow] | None]:
        """Load ``code``; returns the module's number, and its kernels if the runtime reports them.

        Raises ``HipError`` where the device refuses it, and ``Lost``.
        """
        self.drain()
        arena = self._arenas[0]
        arena.grow(len(code))
        arena.map[: len(code)] = code
        answer = self._ask(LoadCode(0, arena.size, len(code), label, build), CodeLoaded)
        return answer.module, answer.kernels

    def function(self, module: int, name: str) -> RemoteFunction | None:
        """The kernel or host function ``name`` of a loaded module; ``None`` where it has none of that name.

        Raises ``HipError`` and ``Lost``.
        """
        self.drain()
        answer = self._ask(FindFunction(module, name), FunctionFound)
        return None if answer.function is None else RemoteFunction(name, answer.function, shared=answer.shared)

    def library(self, name: str) -> tuple[RemoteFunction | None, str]:
        """The call ``name`` of the vendor's library, or ``None``; and the library's name, or why there is none."""
        self.drain()
        answer = self._ask(FindCall(name), CallFound)
        return None if answer.function is None else RemoteFunction(name, answer.function), answer.about

    def submit(
        self,
        function: RemoteFunction,
        launch: Launch,
        orders: tuple[str, ...],
        must_fault: bool = False,
        over: Submitted | None = None,
    ) -> Submitted:
        """Have ``launch`` run in each of ``orders``, up to the first that faults, unless it ``must_fault``.

        ``over`` is an earlier launch that was judged, whose buffers may be overwritten. At most two launches can be on
        their way. A lost executor is only reported when the result is asked for, so that the launch before is not
        blamed.
        """
        assert len(self._waiting) < SLOTS
        if over is None:
            self._slot = (self._slot + 1) % SLOTS
        slot = self._slot if over is None else over.slot
        places = places_of(launch, self._pad)
        arena = self._arenas[slot]
        arena.grow(places.total * (1 + len(orders)))
        fill(arena, places, self._pad)
        spread = launch.spread
        message = RunLaunch(
            arena=slot,
            mapped=arena.size,
            function=function.number,
            shape=(*launch.grid, *launch.block, launch.shared),
            slots=slots_of(launch, places),
            pointers=pointers_of(launch, places),
            types=launch.types,
            scratch=tuple(buffer.data.nbytes for buffer in places.scratch),
            names=tuple(buffer.name for buffer in (*(row[0] for row in places.buffers), *places.scratch)),
            buffers=tuple((offset, size) for _, offset, size in places.buffers),
            pieces=tuple(() if spread is None else _pieces(spread, buffer) for buffer, _, _ in places.buffers),
            total=places.total,
            orders=orders,
            must_fault=must_fault,
            what=describe(launch),
        )
        submitted = Submitted(0, slot, places, orders, _block_limit(function, launch))
        try:
            submitted.id = self._send(message)
        except Lost as lost:
            submitted.lost = lost
        self._waiting.append(submitted)
        return submitted

    def result(self, submitted: Submitted, order: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """The content of every buffer after the launch in ``order``, and the buffers whose guards were overwritten,
        with details.

        If every byte is as in the first order, the very same object is returned again. The arrays are one-dimensional
        views of shared memory; they are valid until the second next launch is submitted. Raises the ``HipError`` with
        which the launch ended, ``Misuse`` for a launcher, and ``Lost``.
        """
        while submitted.answer is None:
            self._receive(self._waiting[0])
        answer, number = submitted.answer, submitted.orders.index(order)
        if number >= len(submitted.orders) - answer.untold and submitted.first is not None:
            return submitted.first
        if number >= len(answer.ends):
            raise Lost("garbled", "its answer about a launch is incomplete")
        end = answer.ends[number]
        if isinstance(end, Misused):
            raise Misuse(end.misuse)
        if end is not None:
            raise end.error().with_detail(submitted.limit)
        if submitted.first is None:
            submitted.first = self._buffers(submitted, number)
        elif not self._equal(submitted, number):
            return self._buffers(submitted, number)
        return submitted.first

    def drain(self) -> None:
        """Wait for the launches that are on their way, and ignore their results. Raises ``Lost``."""
        while self._waiting:
            self._receive(self._waiting[0])

    def close(self) -> None:
        """Close the link and the arenas."""
        self._channel.close()
        self._page.close()
        for arena in self._arenas:
            arena.close()

    def _buffers(self, submitted: Submitted, number: int) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        shared = self._arenas[submitted.slot].map
        total = submitted.places.total
        content = np.frombuffer(shared, np.uint8, total, total * (number + 1))
        damaged: dict[str, str] = {}
        buffers: dict[str, NDArray[Any]] = {}
        for buffer, offset, size in submitted.places.buffers:
            if self._pad:
                before = int(np.count_nonzero(content[offset - self._pad : offset] != CANARY))
                after = int(np.count_nonzero(content[offset + size : offset + size + self._pad] != CANARY))
                if before or after:
                    damaged[buffer.name] = f"{before} bytes before and {after} bytes after the buffer were overwritten"
            left = content[offset : offset + size].view(buffer.data.dtype)
            given = submitted.places.given.get(buffer.name)
            unchanged = given is not None and np.array_equal(left, given.data)
            buffers[buffer.name] = buffer.data if unchanged else left
        return buffers, damaged

    def _equal(self, submitted: Submitted, number: int) -> bool:
        """Whether the launch in order ``number`` left every byte as the first one did, guards included."""
        shared = self._arenas[submitted.slot].map
        first, second = submitted.places.total, submitted.places.total * (number + 1)
        return all(
            shared[first + at : first + at + size] == shared[second + at : second + at + size]
            for _, at, size in ([(None, 0, first)] if self._pad else submitted.places.buffers)
        )

    def _ask(self, message: ToExecutor, kind: type[_Answer]) -> _Answer:
        """The answer to ``message``; raises ``HipError`` for one that is an error, and ``Lost``."""
        answer = self._answer(self._send(message), Expected[_Answer | Failed](kind, Failed))
        if isinstance(answer, Failed):
            raise answer.error.error()
        return answer

    def _send(self, message: ToExecutor | ShareArena, descriptors: Sequence[int] = ()) -> int:
        self._sent += 1
        try:
            send(self._channel, message, self._sent, descriptors, self.patience)
        except Closed:
            raise Lost("ended", "its process ended") from None
        except Late:
            raise Lost("silent", f"it accepted no request for {self.patience:g} s") from None
        return self._sent

    def _receive(self, submitted: Submitted) -> None:
        self._waiting.remove(submitted)
        if submitted.lost is not None:
            raise submitted.lost
        answer = self._answer(submitted.id, LAUNCHED)
        if isinstance(answer, Failed):
            raise Lost("garbled", f"its answer about a launch is {answer.error.name}")
        submitted.answer = answer

    def _answer(self, number: int, expected: Expected[Message]) -> Message:
        """The answer to request ``number``, as ``expected``; raises ``Lost``."""
        try:
            message, answered, _ = self._wait(expected)
        except Closed:
            raise Lost("ended", "its process ended") from None
        except Garbled as error:
            raise Lost("garbled", f"it sent something that is not an answer ({error})") from None
        if answered != number:
            raise Lost("garbled", "it answered another request")
        return message

    def _wait(self, expected: Expected[Message]) -> Received[Message]:
        started = time.monotonic()
        while True:
            try:
                return receive(self._channel, expected, _LOOK)
            except Late:
                now, (began, _) = time.monotonic(), self._page.read()
                quiet = now - max(started, min(began, now))
                if quiet > self.patience or now - started > LONGEST * self.patience:
                    raise Lost("silent", f"no answer within {self.patience:g} s; its process was stopped") from None


def _block_limit(function: RemoteFunction, launch: Launch) -> str:
    """What the code object says against the launch, for an error of it."""
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if function.most_threads is None or threads <= function.most_threads:
        return ""
    return (
        f"its code object allows blocks of at most {function.most_threads} threads (max_flat_workgroup_size), "
        f"{'the port' if launch.own_geometry else 'Candle'} launches {threads}"
    )


@dataclass(frozen=True)
class BufferPlaces:
    """Where the buffers of a launch lie in an arena: offset and size of each, in bytes, and the size of all with their
    guards.

    ``scratch`` are buffers that the executor makes, after all others; their content does not matter. ``given`` is what
    a kernel gets in place of a buffer that describes a launch with gaps in its buffers.
    """

    buffers: tuple[tuple[Buffer, int, int], ...]
    scratch: tuple[Buffer, ...]
    total: int
    given: Mapping[str, Buffer]

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each buffer by name. Scratch has the last numbers."""
        kept = (*(buffer for buffer, _, _ in self.buffers), *self.scratch)
        return {buffer.name: number for number, buffer in enumerate(kept)}


def places_of(launch: Launch, pad: int) -> BufferPlaces:
    """The places of the buffers of ``launch``, with ``pad`` guard bytes before each and after the last."""
    every = launch.buffers
    at, buffers = pad, []
    for buffer in every.values():
        if buffer.role != "scratch":
            buffers.append((buffer, at, buffer.data.nbytes))
            at += aligned(buffer.data.nbytes) + pad
    scratch = tuple(buffer for buffer in every.values() if buffer.role == "scratch")
    spread = {} if launch.spread is None else launch.spread.given
    given = {name: argument for name, argument in spread.items() if isinstance(argument, Buffer)}
    return BufferPlaces(tuple(buffers), scratch, max(aligned(at), 1), given)


def fill(arena: Arena, places: BufferPlaces, pad: int) -> None:
    """Write the content of the buffers before the launch into ``arena``, and canaries between them."""
    content = np.frombuffer(arena.map, np.uint8, places.total)
    if pad:
        content[:] = CANARY
    for buffer, offset, size in places.buffers:
        if size:
            content[offset : offset + size] = places.given.get(buffer.name, buffer).data.view(np.uint8)


def _pieces(spread: Spread, buffer: Buffer) -> tuple[tuple[int, int, int], ...]:
    """The pieces of ``buffer``, in bytes: where each is in its content, how long, and where in its allocation; empty
    for one without gaps."""
    size = buffer.data.itemsize
    return tuple((one.at * size, one.count * size, one.place * size) for one in spread.pieces.get(buffer.name, ()))


def slots_of(launch: Launch, places: BufferPlaces) -> tuple[Slot, ...]:
    """The arguments of ``launch`` in order. A buffer is its number, and the bytes before the element that the kernel
    gets; any other argument is the bytes of its value. ``None`` is the stream."""
    numbers, slots = places.numbers, list[Slot]()
    real = {} if launch.spread is None else launch.spread.given
    for argument in (real.get(argument.name, argument) for argument in launch.passed or launch.args):
        if isinstance(argument, Buffer):
            slots.append((numbers[argument.name], argument.start * argument.data.itemsize))
        elif isinstance(argument, Bytes):
            slots.append(argument.data.ljust(-(-len(argument.data) // 8) * 8, b"\0"))
        elif isinstance(argument, Stream):
            slots.append(None)
        else:
            slots.append(argument.value.tobytes().ljust(8, b"\0") if isinstance(argument, Scalar) else bytes(8))
    return tuple(slots)


def pointers_of(launch: Launch, places: BufferPlaces) -> tuple[tuple[int, int, int, int], ...]:
    """The pointers inside of structs: number of the argument, offset of the pointer in it, number of the buffer, and
    offset of the element that it points to. Offsets are in bytes."""
    structs = ((number, one) for number, one in enumerate(launch.passed or ()) if isinstance(one, Bytes))
    return tuple(
        (number, at, places.numbers[name], offset) for number, one in structs for at, name, offset in one.pointers
    )
