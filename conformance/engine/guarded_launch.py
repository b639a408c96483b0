"""Launches where the runtime itself guards memory, with an allocation for each buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from conformance.engine.ipc import Arena
from conformance.engine.protocol import RunLaunch
from conformance.runtimes.hip.device import Device, Prepared

if TYPE_CHECKING:
    from conformance.runtimes.cpu.control import WatchedCalls

_STEPS = ("hipMemcpy", "hipModuleLaunchKernel", "hipDeviceSynchronize", "hipMemcpy")
"""What ``hipcpuLaunchOnce`` was about when it had done so much."""


def filled(message: RunLaunch, bases: Sequence[int]) -> list[Any]:
    """The arguments of a launch, with the addresses of buffers that lie at ``bases``; ``None`` stands for the
    stream."""

    def address(number: int, offset: int) -> bytes:
        return (bases[number] + offset).to_bytes(8, "little")

    slots = [slot if slot is None or isinstance(slot, bytes) else address(*slot) for slot in message.slots]
    for number, at, buffer, offset in message.pointers:
        struct = slots[number]
        assert struct is not None
        slots[number] = struct[:at] + address(buffer, offset) + struct[at + 8 :]
    return slots


class GuardedLaunch:
    """The launches of one case where the runtime guards memory itself: each buffer has an allocation, which all
    launches share.

    The runtime copies, launches and copies back in one call. ``launched`` says whether the last call came as far as the
    launch.
    """

    def __init__(self, device: Device, function: Any, arena: Arena, message: RunLaunch) -> None:
        self._device, self._function, self._arena, self._message = device, function, arena, message
        self._taken: list[tuple[int, int]] = []
        self._launch: Callable[[int], tuple[int, int]] | None = None
        self.launched = False

    def run(self, number: int) -> None:
        """Make the launch for order ``number``. Raises ``HipError``."""
        device, total, self.launched = self._device, self._message.total, False
        launch = self._launch = self._launch or self._prepare()
        self._arena.address(total * (number + 1), total)
        code, done = launch(total * (number + 1))
        self.launched = done > 0
        if code:
            call, what = _STEPS[done], self._message.what
            device.check(call, (device.hip.hipError_t(code),), "" if call == "hipMemcpy" else what)

    def _prepare(self) -> Callable[[int], tuple[int, int]]:
        device, buffers = self._device, self._message.buffers
        for _, size in buffers[len(self._taken) :]:
            self._taken.append((device.take(size), size))
        bases = [base for base, _ in self._taken]
        slots = filled(self._message, bases)
        self._prepared = Prepared(device, self._function, self._message.shape, slots, self._message.what)
        host = [self._arena.address(offset, size) for offset, size in buffers]
        sizes = [size for _, size in buffers]
        runtime, function = cast("WatchedCalls", device.runtime), int(self._function.handle)
        return runtime.launch_once(function, self._prepared.shape, self._prepared.params, bases, host, sizes)

    def give_back(self) -> None:
        """Keep the allocations for the next buffers of these sizes."""
        for base, size in self._taken:
            self._device.give_back(base, size)
