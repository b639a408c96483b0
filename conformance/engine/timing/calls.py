"""What starts a launch that is timed: a kernel's launch, or the call of a launcher, whose buffers lie on the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.cases.launch import Buffer, Launch, Scalar, Stream
from conformance.runtimes.hip.calling import SLOT, PreparedCall
from conformance.runtimes.hip.device import Device, Function, Resources

Start = Callable[[], None]


def start_of(
    device: Device, function: Function, launch: Launch, addresses: Mapping[str, int], asynchronous: bool
) -> Start:
    """What starts ``launch`` with each buffer's allocation at ``addresses[name]``, where ``asynchronous`` on the null
    stream, which is the one timed. Else a launcher's call ends before it returns, and raises ``Misuse`` for what a
    launcher must not do."""
    if not launch.types:
        return device.prepare(function, launch, addresses).start
    slots: list[bytes | None] = []
    for argument in launch.args:
        if isinstance(argument, Buffer):
            address = addresses[argument.name] + argument.start * argument.data.itemsize
            slots.append(address.to_bytes(SLOT, "little"))
        elif isinstance(argument, Stream):
            slots.append(bytes(SLOT) if asynchronous else None)
        else:
            value = argument.value.tobytes() if isinstance(argument, Scalar) else b""
            slots.append(value.ljust(SLOT, b"\0"))
    call = PreparedCall(device, function, launch.types, slots, launch.kernel)
    return call.start if asynchronous else call.run


def resources_of(device: Device, function: Function, launch: Launch) -> Resources:
    """What ``function`` takes; nothing is known of a host function."""
    return Resources(0, 0, 0, 0) if launch.types else device.resources(function, launch)
