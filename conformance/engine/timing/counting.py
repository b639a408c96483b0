"""What a launch does, where the runtime counts that: instructions and memory, and no times."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.cases.launch import POISON_BYTE, Buffer, Launch
from conformance.engine.timing.measure import ALIGNMENT
from conformance.engine.timing.traffic import bytes_moved
from conformance.runtimes.hip.device import Device, Function
from conformance.runtimes.kind import LaunchCounts, RuntimeKind


@dataclass(frozen=True)
class Counted:
    """One case, launched once; ``bytes`` is what its launch needs to move at least.

    ``elements`` are those of its largest buffer.
    """

    case: str
    size: str
    bytes: int
    elements: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counts: LaunchCounts


def count(
    device: Device, kind: RuntimeKind, case: str, size: str, family: str, function: Function, launch: Launch
) -> Counted:
    """Launch once, on operands that lie as allocations do on a GPU; raises ``HipError`` when that fails."""
    assert kind.count is not None
    buffers = [argument for argument in launch.args if isinstance(argument, Buffer)]
    places: dict[str, int] = {}
    try:
        for buffer in buffers:
            # Whole multiples, so that an allocation which ends at a guard page begins aligned as well.
            places[buffer.name] = device.allocate(-(-max(buffer.data.nbytes, 1) // ALIGNMENT) * ALIGNMENT)
            if buffer.role == "out":
                device.fill(places[buffer.name], POISON_BYTE, buffer.data.nbytes)
            else:
                device.upload(places[buffer.name], buffer.data)
        prepared = device.prepare(function, launch, places)

        def launched() -> None:
            prepared.start()
            device.synchronize(prepared.what)

        counts = kind.count(device.runtime, launched)
    finally:
        for place in places.values():
            device.free(place)
    elements = max((len(buffer.data) for buffer in buffers), default=1)
    return Counted(case, size, bytes_moved(family, launch), max(elements, 1), launch.grid, launch.block, counts)
