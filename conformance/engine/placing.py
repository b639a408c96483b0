"""Where the arguments of a launch lie in the memory that a judge and an executor share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.cases.launch import Buffer, Launch, Scalar, Stream
from conformance.engine.arena import Arena, aligned
from conformance.runtimes.hip.device import CANARY

SCRATCH = "scratch"


@dataclass(frozen=True)
class Places:
    """Where the buffers of a launch lie in an arena: (offset, bytes) each, and the bytes of all with guards."""

    buffers: tuple[tuple[Buffer, int, int], ...]
    total: int


def places_of(launch: Launch, pad: int) -> Places:
    """Room for the buffers of ``launch`` but scratch, with ``pad`` bytes before each and behind the last."""
    at, buffers = pad, []
    for argument in launch.args:
        if isinstance(argument, Buffer) and argument.role != SCRATCH:
            size = argument.data.nbytes
            buffers.append((argument, at, size))
            at += aligned(size) + pad
    return Places(tuple(buffers), max(aligned(at), 1))


def fill(arena: Arena, places: Places, pad: int) -> None:
    """The content of the buffers before the launch, with canaries in what lies between them."""
    assert arena.map is not None
    content = np.frombuffer(arena.map, np.uint8, places.total)
    if pad:
        content[:] = CANARY
    for buffer, offset, size in places.buffers:
        if size:
            content[offset : offset + size] = buffer.data.view(np.uint8)


def scratch_of(launch: Launch) -> list[Buffer]:
    """Buffers whose content is anybody's, before and after: the executor makes them, behind all others."""
    return [argument for argument in launch.args if isinstance(argument, Buffer) and argument.role == SCRATCH]


def slots_of(launch: Launch) -> list[Any]:
    """The arguments in order: of a buffer its number and the bytes before its first element, else the value's bytes."""
    slots: list[Any] = []
    number, behind = 0, sum(isinstance(arg, Buffer) and arg.role != SCRATCH for arg in launch.args)
    for argument in launch.args:
        if isinstance(argument, Buffer) and argument.role == SCRATCH:
            slots.append((behind, 0))
            behind += 1
        elif isinstance(argument, Buffer):
            slots.append((number, argument.start * argument.data.itemsize))
            number += 1
        elif isinstance(argument, Stream):
            slots.append(None)
        else:
            slots.append(argument.value.tobytes().ljust(8, b"\0") if isinstance(argument, Scalar) else bytes(8))
    return slots
