"""Times launches on a device: two trees' kernels in turn, each launch between two events.

What is measured of a launch is the time from the end of the launch before it to its own end, on the device's clock.
The device must not wait for the host meanwhile: ``_Hold`` keeps it busy while launches are queued. Buffers rotate, so
that no launch finds its operands in the cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from conformance.bench.traffic import bytes_moved, operations
from conformance.cases.launch import POISON_BYTE, Buffer, Launch
from conformance.device import Device, Function
from conformance.device.hip import Prepared, Resources, describe

WARM_UP = 3
REPEATS = 30
FEWEST = 3
SECONDS = 0.5
"""Device time that a workload may take per tree beyond the fewest repeats."""

CACHES = 4
"""Buffers rotate until together they are this many times the cache."""

ROTATED = 256 << 20
"""Bytes that rotate where the device does not tell the size of its cache."""

QUEUED = 16
"""Launches between two holds."""

MOST_SETS = 256


@dataclass(frozen=True)
class Timing:
    """One kernel of one tree: milliseconds of each launch in order, and what the function takes."""

    milliseconds: tuple[float, ...]
    registers: int
    local: int
    shared: int
    occupancy: float
    """Threads on a multiprocessor over the most that it holds."""


@dataclass(frozen=True)
class Measurement:
    """One case, timed for each tree in turn; ``bytes`` and ``operations`` are what its launch needs at least."""

    case: str
    size: str
    bytes: int
    operations: int | None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    copy_gbps: float
    """A copy on the device that moves as many bytes, read and written together, in the same rotation."""
    timings: tuple[Timing, ...]


class Bench:
    """Times launches on ``device``. ``asynchronous`` says that the device goes on while the host does."""

    def __init__(self, device: Device, asynchronous: bool) -> None:
        self._device = device
        self._rotated = CACHES * device.cache if device.cache else ROTATED
        self._events = [device.event() for _ in range(QUEUED + 1)]
        self._hold = _Hold(device) if asynchronous else None
        self._copies: dict[int, float] = {}

    def copy_gbps(self, moved: int) -> float:
        """GB/s of a copy that reads and writes ``moved`` bytes together, to the next power of two."""
        half = 1 << max(moved // 2 - 1, 1).bit_length()
        if half not in self._copies:
            sets = self._sets(2 * half)
            with self._allocated([half] * 2 * sets) as addresses:
                starts = [
                    _Start(partial(self._device.copy, a, b, half))
                    for a, b in zip(addresses[::2], addresses[1::2], strict=True)
                ]
                times = self._time([starts], "a copy on the device")[0]
            self._copies[half] = 2 * half / float(np.median(times)) / 1e6
        return self._copies[half]

    def measure(self, case: str, size: str, family: str, launch: Launch, functions: Sequence[Function]) -> Measurement:
        """Time ``launch`` for each function in turn; raises ``HipError`` when one fails or memory is short."""
        moved = bytes_moved(launch)
        copy = self.copy_gbps(moved)
        buffers = [arg for arg in launch.args if isinstance(arg, Buffer)]
        sets = max(self._sets(moved), len(functions) + 1 if moved < self._rotated else 1)
        with self._allocated([buffer.data.nbytes for buffer in buffers] * sets) as addresses:
            places = [addresses[i : i + len(buffers)] for i in range(0, len(addresses), len(buffers))]
            self._fill(buffers, places)
            prepared = [
                [
                    self._device.prepare(function, launch, {b.name: at for b, at in zip(buffers, place, strict=True)})
                    for place in places
                ]
                for function in functions
            ]
            times = self._time(prepared, describe(launch))
        return Measurement(
            case,
            size,
            moved,
            operations(family, launch),
            launch.grid,
            launch.block,
            copy,
            tuple(
                self._timing(own, self._device.resources(function, launch), launch)
                for own, function in zip(times, functions, strict=True)
            ),
        )

    def _timing(self, times: Sequence[float], taken: Resources, launch: Launch) -> Timing:
        threads = taken.blocks * launch.block[0] * launch.block[1] * launch.block[2]
        share = threads / max(self._device.threads_per_multiprocessor, 1)
        return Timing(tuple(times), taken.registers, taken.local, taken.shared, share)

    def _sets(self, moved: int) -> int:
        return min(max(1, -(-self._rotated // max(moved, 1))), MOST_SETS)

    @contextmanager
    def _allocated(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        addresses: list[int] = []
        try:
            for size in sizes:
                addresses.append(self._device.allocate(size))
            yield addresses
        finally:
            for address in addresses:
                self._device.free(address)

    def _fill(self, buffers: Sequence[Buffer], places: Sequence[Sequence[int]]) -> None:
        first, *others = places
        for k, buffer in enumerate(buffers):
            size = buffer.data.nbytes
            if buffer.role == "out":
                self._device.fill(first[k], POISON_BYTE, size)
            else:
                self._device.upload(first[k], buffer.data)
            for place in others:
                self._device.copy(place[k], first[k], size)
        self._device.synchronize("operands")

    def _time(self, trees: Sequence[Sequence[Prepared | _Start]], what: str) -> list[list[float]]:
        """Milliseconds of each launch, per tree."""
        rounds = 0

        def once() -> None:
            """A launch of each tree; every round takes the next sets of buffers."""
            nonlocal rounds
            for k, prepared in enumerate(trees):
                prepared[(rounds * len(trees) + k) % len(prepared)].start()
            rounds += 1

        for _ in range(WARM_UP):
            once()
        self._device.synchronize(what)
        began = time.perf_counter()
        once()
        self._device.synchronize(what)
        seconds = (time.perf_counter() - began) / len(trees)
        repeats = int(min(max(SECONDS / max(seconds, 1e-9), FEWEST), REPEATS))
        times: list[list[float]] = [[] for _ in trees]
        while len(times[0]) < repeats:
            if self._hold is not None:
                self._hold.start()
                once()  # pays for writing back what the hold left in the cache
            count = min(QUEUED // len(trees), repeats - len(times[0]))
            events = iter(self._events)
            marks = [next(events)]
            self._device.mark(marks[0])
            for _ in range(count):
                for k, prepared in enumerate(trees):
                    prepared[(rounds * len(trees) + k) % len(prepared)].start()
                    marks.append(next(events))
                    self._device.mark(marks[-1])
                rounds += 1
            self._device.synchronize(what)
            for n, pair in enumerate(pairwise(marks)):
                times[n % len(trees)].append(self._device.milliseconds(*pair))
        return times


class _Start:
    """Something that the device can be asked to do, as ``Prepared`` is."""

    def __init__(self, start: Callable[[], None]) -> None:
        self.start = start


class _Hold:
    """Keeps the device busy for about a millisecond."""

    SIZE = 256 << 20
    MILLISECONDS = 1.0

    def __init__(self, device: Device) -> None:
        self._device = device
        self._address = device.allocate(self.SIZE)
        first, last = device.event(), device.event()
        device.fill(self._address, 0, self.SIZE)
        device.mark(first)
        device.fill(self._address, 0, self.SIZE)
        device.mark(last)
        device.synchronize()
        self._fills = max(1, round(self.MILLISECONDS / max(device.milliseconds(first, last), 1e-3)))

    def start(self) -> None:
        for _ in range(self._fills):
            self._device.fill(self._address, 0, self.SIZE)
