"""Whether a launcher puts its work on the stream that it was given, where that can be seen of a device from outside."""

from __future__ import annotations

import ctypes

from conformance.engine.arena import Arena
from conformance.runtimes.hip.calling import Misuse, PreparedCall
from conformance.runtimes.hip.device import Device


def check_stream(device: Device, call: PreparedCall, what: str, base: int, arena: Arena, total: int) -> bool:
    """Call the launcher ``what`` again while its stream is held; whether that could be told at all.

    ``base`` is where its buffers lie, of ``total`` bytes with what is between them, and the first bytes of ``arena``
    are their content before a call. Raises ``Misuse`` where they change before the stream goes on, and ``HipError``.
    """
    before = ctypes.string_at(arena.address(0, total), total)
    now = ctypes.create_string_buffer(total)

    def changed() -> bool:
        device.read(ctypes.addressof(now), base, total)
        return now.raw != before

    device.write(base, arena.address(0, total), total)
    strays = call.strays(changed)
    if strays:
        raise Misuse(f"{what} puts work on another stream: it is done before the stream that it was given goes on")
    return strays is not None
