"""A device that writes down what it is asked, with a clock that only work moves on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.cases.launch import Buffer, Launch, Scalar
from conformance.runtimes.hip.device import Function, FunctionResources
from conformance.runtimes.hip.errors import HipError

Call = tuple[Any, ...]

GIB = 1 << 30


@dataclass
class FakeDevice:
    """Launches of function ``name`` take ``takes[name]`` milliseconds, a fill or copy of a gibibyte one."""

    takes: Mapping[str, float] = field(default_factory=dict)
    memory: int = 64 * GIB
    faulty: str = ""
    threads_per_multiprocessor: int = 2048

    def __post_init__(self) -> None:
        self.clock = 0.0
        self.calls: list[Call] = []
        self.held: dict[int, int] = {}
        self.shapes: list[Call] = []
        self._marks: list[float] = []
        self._next = 1 << 20
        self._pending = False

    def of(self, kind: str) -> list[Call]:
        """The calls of one kind, in order."""
        return [call for call in self.calls if call[0] == kind]

    def seconds(self) -> float:
        """The device's clock in the place of the host's."""
        return self.clock / 1e3

    def event(self) -> int:
        self._marks.append(-1.0)
        return len(self._marks) - 1

    def mark(self, event: int) -> None:
        self.calls.append(("mark", event))
        self._marks[event] = self.clock

    def milliseconds(self, first: int, last: int) -> float:
        return self._marks[last] - self._marks[first]

    def allocate(self, size: int) -> int:
        if sum(self.held.values()) + size > self.memory:
            raise HipError("hipMalloc", 2, "hipErrorOutOfMemory", f"{size} bytes")
        address, self._next = self._next, self._next + size
        self.held[address] = size
        return address

    def free(self, address: int) -> None:
        del self.held[address]
        self.synchronize()

    def upload(self, address: int, data: np.ndarray[Any, Any]) -> None:
        self.calls.append(("upload", address, data.nbytes))

    def copy(self, to: int, source: int, size: int) -> None:
        self.calls.append(("copy", to, source, size))
        self.clock += size / GIB

    def fill(self, address: int, byte: int, size: int) -> None:
        self.calls.append(("fill", address, byte, size))
        self.clock += size / GIB

    def synchronize(self, what: str = "") -> None:
        self.calls.append(("synchronize", what))
        if self._pending:
            raise HipError("hipDeviceSynchronize", 700, "hipErrorIllegalAddress", what)

    def prepare(self, function: Function, launch: Launch, addresses: Mapping[str, int]) -> FakePrepared:
        self.shapes.append((function.name, launch.grid, launch.block))
        return FakePrepared(self, function.name, tuple(addresses.values()))

    def resources(self, function: Function, launch: Launch) -> FunctionResources:
        return FunctionResources(registers=32, local=0, shared=128, blocks=1)

    def launched(self, name: str, addresses: tuple[int, ...]) -> None:
        self.calls.append(("launch", name, addresses))
        self.clock += self.takes[name]
        self._pending = self._pending or name == self.faulty


@dataclass
class FakePrepared:
    device: FakeDevice
    name: str
    addresses: tuple[int, ...]

    def start(self) -> None:
        self.device.launched(self.name, self.addresses)


def a_launch(elements: int = 1024) -> Launch:
    """One operand and one result of ``elements`` floats."""
    return Launch(
        "twice",
        (1, 1, 1),
        (1024, 1, 1),
        0,
        (
            Scalar("n", "int", np.int32(elements)),
            Buffer("inp", "f32", "in", np.zeros(elements, np.float32)),
            Buffer("out", "f32", "out", np.zeros(elements, np.float32)),
        ),
    )
