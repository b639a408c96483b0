"""Scratch of a launcher on a device that does not guard memory: an allocation between guard bytes."""

from __future__ import annotations

import ctypes

from conformance.runtimes.hip.device import CANARY, CANARY_BYTES, Device

_GARBAGE = (0xFF, 0x7B, 0xFB)
"""What scratch is filled with, in turns: NaN and -1, then large numbers of either sign, in every type. Nothing of it
vanishes in a sum, and not all of it in a maximum."""


def garbage(number: int) -> int:
    """What every byte of scratch holds before launch ``number`` of a case."""
    return _GARBAGE[number % len(_GARBAGE)]


class Scratch:
    """``size`` bytes of garbage at ``address``, for launch ``number`` of a case.

    Raises ``HipError`` where the device has no room.
    """

    def __init__(self, device: Device, size: int, number: int) -> None:
        self._device, self._size = device, size
        self._base = device.take(size + 2 * CANARY_BYTES)
        self.address = self._base + CANARY_BYTES
        device.fill(self._base, CANARY, size + 2 * CANARY_BYTES)
        device.fill(self.address, garbage(number), size)

    def damage(self) -> str:
        """How many of the guard bytes were overwritten, in words; empty where none was."""
        before, after = self._overwritten(self._base), self._overwritten(self.address + self._size)
        return f"{before} bytes before and {after} bytes behind it" if before or after else ""

    def give_back(self) -> None:
        """Keep the allocation for the next of its size."""
        self._device.give_back(self._base, self._size + 2 * CANARY_BYTES)

    def _overwritten(self, address: int) -> int:
        guard = ctypes.create_string_buffer(CANARY_BYTES)
        self._device.read(ctypes.addressof(guard), address, CANARY_BYTES)
        return CANARY_BYTES - guard.raw.count(CANARY)
